import { badRequest } from '../errors/standard-errors.ts'
import { isJsonList, isJsonObject } from '../json.ts'
import type { Json } from '../json.ts'
import { emptySet, FieldSetDraft } from './field-set.ts'
import type { FieldSet } from './field-set.ts'
import { elementType, elementsOf, missingKey } from './list-elements.ts'
import type { AssociativeType } from './list-elements.ts'
import { resolved } from './merge-type.ts'
import type { MergeType } from './merge-type.ts'
import { fieldStep, spellSteps } from './step.ts'

/**
 * Returns the paths of a value that can have owners.
 *
 * @source structured-merge-diff `typed/tofieldset.go`
 */
export function fieldsOf(type: MergeType, value: Json): FieldSet {
  const draft = new FieldSetDraft()
  return collect(type, value, draft) ? emptySet : draft.finish()
}

/** Adds the paths below a value. @returns whether the value is a leaf */
function collect(type: MergeType, value: Json, draft: FieldSetDraft): boolean {
  const of = resolved(type, value)
  if (of.kind === 'leaf') return true
  if (of.kind === 'struct') {
    if (!isJsonObject(value)) return false
    for (const name of Object.keys(value)) {
      const inside = value[name] as Json
      const declared = of.member(name)
      const step = fieldStep(name)
      const memberType = declared ?? of.other
      const isLeaf = memberType.kind === 'leaf' || collect(memberType, inside, draft.below(step))
      if (isLeaf || declared === null || isVoid(inside)) draft.add(step)
    }
    return false
  }
  for (const { step, value: element } of elementsOf(of, value)) {
    if (step === null) continue
    collect(elementType(of), element, draft.below(step))
    draft.add(step)
  }
  return false
}

/** Null or an empty object: it has no paths below, so it has an owner itself. */
function isVoid(value: Json): boolean {
  if (value === null) return true
  if (!isJsonObject(value)) return false
  for (const _ in value) return false
  return true
}

/**
 * Rejects list elements of an applied object that lack a key, or have the key of another element.
 *
 * @throws ApiError `BadRequest`
 */
export function checkElements(type: MergeType, value: Json, at: readonly string[] = []): void {
  const of = resolved(type, value)
  if (of.kind === 'leaf') return
  if (of.kind === 'struct') {
    if (!isJsonObject(value)) return
    for (const name of Object.keys(value)) {
      checkElements(of.member(name) ?? of.other, value[name] as Json, [...at, fieldStep(name)])
    }
    return
  }
  if (isJsonList(value)) checkList(of, value, at)
}

function checkList(type: AssociativeType, list: readonly Json[], at: readonly string[]): void {
  const seen = new Set<string>()
  elementsOf(type, list).forEach(({ step, value }, index) => {
    if (step === null) {
      const key = type.kind === 'keyed' ? missingKey(type.keys, value) : ''
      const words = `element ${index} of a list with keys lacks the key ${JSON.stringify(key)}`
      throw badRequest(`${spellSteps(at)}: ${words}`)
    }
    if (seen.has(step)) throw badRequest(`${spellSteps(at)}: duplicate entries for key ${spellSteps([step])}`)
    seen.add(step)
    checkElements(elementType(type), value, [...at, step])
  })
}
