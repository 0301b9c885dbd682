import { duplicate, invalid, required, spellField } from '../errors/field-error.ts'
import { Findings } from '../errors/findings.ts'
import { parseGroupVersion } from '../metadata/group-version.ts'
import type { Json, JsonObject, JsonObjectDraft } from '../json.ts'
import { isJsonList, isJsonObject, memberOf, setMember } from '../json.ts'
import { checkDns1035Label, checkPathSegment } from '../metadata/name-rules.ts'
import { validateMetaOnCreate } from '../metadata/object-meta.ts'
import type { ObjectMeta } from '../metadata/object.ts'
import { conformAt } from '../schema/conform.ts'
import type { Path } from '../schema/path.ts'
import { fieldAt, listIndex, mapKey, member, spellPath } from '../schema/path.ts'
import { objectMetaSchema } from '../schema/shared.ts'
import type { StepBudget } from '../step-budget.ts'
import type { Structural } from './structural.ts'
import { sortedText } from './sorted-text.ts'

type Check = {
  readonly findings: Findings
  /** Receives the errors of lists. */
  readonly lists: Findings
  readonly work: StepBudget
}

/**
 * Checks rules that involve more than a single value: embedded objects are valid objects, elements
 * of sets are distinct, and those of maps have distinct keys.
 *
 * @source apiextensions `pkg/apiserver/schema/{listtype,objectmeta}`
 */
export function checkShapes(node: Structural, value: Json, at: Path | null, check: Check): void {
  if (!node.holdsShapes) return
  check.work.spend(1, at)
  if (check.findings.isFull || check.lists.isFull) return
  if (isJsonObject(value)) {
    if (node.embedded) {
      check.work.spend(STEPS_FOR_EMBEDDED + STEPS_A_VALUE * valuesIn(memberOf(value, 'metadata')), at)
      checkEmbedded(value, at, check.findings)
    }
    checkMembers(node, value, at, check)
    return
  }
  if (!isJsonList(value)) return
  if (node.listType === 'set') checkSet(value, at, check)
  else if (node.listType === 'map') checkMap(node, value, at, check)
  const { items } = node
  if (items !== null) value.forEach((item, index) => checkShapes(items, item, listIndex(at, index), check))
}

function checkMembers(
  { properties, additional }: Structural,
  object: JsonObject,
  at: Path | null,
  check: Check,
): void {
  const names = Object.keys(object)
  check.work.spend(names.length, at)
  for (const name of names) {
    const own = properties.get(name)
    const value = object[name] as Json
    if (own !== undefined) checkShapes(own, value, member(at, name), check)
    else if (typeof additional === 'object' && additional !== null) {
      checkShapes(additional, value, mapKey(at, name), check)
    }
  }
}

const STEPS_AN_ELEMENT = 3

/** @param keys identify the elements */
function checkSet(keys: readonly Json[], at: Path | null, { lists, work }: Check): void {
  const seen = new Map<string, number>()
  keys.forEach((key, index) => {
    work.spend(STEPS_AN_ELEMENT, at)
    const text = sortedText(key, (steps) => work.spend(steps, at))
    const times = seen.get(text) ?? 0
    seen.set(text, times + 1)
    // A value is reported once, however often it is repeated.
    if (times === 1) lists.add(duplicate(listIndex(at, index), key))
  })
}

function checkMap({ listMapKeys }: Structural, list: readonly Json[], at: Path | null, check: Check): void {
  const keys: JsonObject[] = []
  for (const [index, item] of list.entries()) {
    if (item !== null && !isJsonObject(item)) {
      const words = 'must be an object for an array of list-type map'
      check.lists.add(invalid(listIndex(at, index), item, words))
      return
    }
    check.work.spend(listMapKeys.length, at)
    const key: JsonObjectDraft = {}
    for (const name of listMapKeys) {
      const value = item === null ? undefined : memberOf(item, name)
      if (value !== undefined) setMember(key, name, value)
    }
    keys.push(key)
  }
  checkSet(keys, at, check)
}

/** The metadata of an embedded object is checked as that of any object, which costs more. */
const STEPS_FOR_EMBEDDED = 10
const STEPS_A_VALUE = 4

function valuesIn(value: Json | undefined): number {
  if (isJsonList(value)) return value.reduce<number>((sum, item) => sum + valuesIn(item), 1)
  if (!isJsonObject(value)) return 1
  return Object.keys(value).reduce((sum, name) => sum + valuesIn(value[name]), 1)
}

/** Checks the members that every object has. @param at its path; null: the root */
export function checkEmbedded(object: JsonObject, at: Path | null, findings: Findings): void {
  for (const name of ['apiVersion', 'kind'] as const) {
    const value = memberOf(object, name)
    const field = fieldAt(at, name)
    if (value === undefined || value === '') findings.add(required(field))
    else if (typeof value !== 'string') findings.add(invalid(field, value, 'must be a string'))
    else findings.add(name === 'kind' ? checkKind(value, field) : checkVersion(value, field))
  }
  const meta = memberOf(object, 'metadata')
  if (meta === undefined) return
  const conformed = isJsonObject(meta) ? conformAt(objectMetaSchema, meta, member(at, 'metadata')) : null
  if (conformed?.kind !== 'ok') {
    findings.add(invalid(fieldAt(at, 'metadata'), meta, conformed?.words ?? 'must be an object'))
    return
  }
  // Metadata that passed `conform` has the type `ObjectMeta`.
  const typed = conformed.value as ObjectMeta
  const named = typed.name ? typed : { ...typed, name: 'unnamed' }
  const rules = { namespaced: Boolean(typed.namespace), validateName: checkPathSegment }
  const inside = new Findings()
  validateMetaOnCreate(named, rules, inside)
  for (const one of inside.list) {
    const field = at === null ? one.field : `${spellPath(at)}.${spellField(one.field)}`
    findings.add({ ...one, field })
  }
}

function checkVersion(version: string, field: string): ReturnType<typeof invalid> | null {
  return parseGroupVersion(version) === null
    ? invalid(field, version, `unexpected GroupVersion string: ${version}`)
    : null
}

function checkKind(kind: string, field: string): ReturnType<typeof invalid> | null {
  const wrong = checkDns1035Label(kind.toLowerCase())
  const words = `may have mixed case, but should otherwise match: ${wrong.join(',')}`
  return wrong.length === 0 ? null : invalid(field, kind, words)
}
