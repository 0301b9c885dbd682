import { isJsonList, isJsonObject, memberOf } from '../json.ts'
import type { Json, JsonObject } from '../json.ts'
import { parseJsonPatch } from '../patch/json-patch.ts'
import type { JsonPatchOperation } from '../patch/json-patch.ts'
import { FieldSetDraft, intersection } from './field-set.ts'
import type { FieldSet } from './field-set.ts'
import { fieldsOf } from './fields-of.ts'
import { elementsOf, elementType } from './list-elements.ts'
import { resolved } from './merge-type.ts'
import type { MergeType } from './merge-type.ts'
import { fieldStep } from './step.ts'

/**
 * Returns the paths of a patched object that a merge patch or a strategic merge patch sets, even to
 * the value that they had. Directives and removed members are not paths of the object.
 */
export function fieldsOfMergePatch(type: MergeType, patch: JsonObject, object: JsonObject): FieldSet {
  return intersection(fieldsOf(type, patch), fieldsOf(type, object))
}

/** Returns the paths of a patched object that a JSON patch sets, even to the values they had. */
export function fieldsOfJsonPatch(type: MergeType, patch: Json, object: JsonObject): FieldSet {
  const draft = new FieldSetDraft()
  for (const pointer of outermost(parseJsonPatch(patch))) addFieldsAt(type, object, pointer, draft)
  return draft.finish()
}

/**
 * Returns the pointers to the values that operations set, without pointers into such a value:
 * thousands of operations may set one large value, or parts of it.
 */
function outermost(operations: readonly JsonPatchOperation[]): Iterable<readonly string[]> {
  const set = operations.filter(({ op }) => op !== 'test' && op !== 'remove')
  const pointers = set.map(({ path }) => path.steps).sort((a, b) => a.length - b.length)
  const found: PointerNode = { below: new Map(), isSet: false }
  return pointers.filter((pointer) => {
    let node = found
    for (const token of pointer) {
      if (node.isSet) return false
      const next = node.below.get(token) ?? { below: new Map(), isSet: false }
      node.below.set(token, next)
      node = next
    }
    if (node.isSet) return false
    node.isSet = true
    return true
  })
}

type PointerNode = { readonly below: Map<string, PointerNode>; isSet: boolean }

/**
 * Adds the path of a pointer and the paths below it. A pointer into a value that has one owner as a
 * whole counts as a pointer to that value. Indexes are those of the patched object.
 */
function addFieldsAt(type: MergeType, object: Json, pointer: readonly string[], draft: FieldSetDraft): void {
  if (pointer.length === 0) addAll(fieldsOf(type, object), draft)
  let at: Inside = { step: '', type, value: object }
  let node = draft
  for (const [index, token] of pointer.entries()) {
    const inside = stepInto(at, token)
    if (inside === null) return
    at = inside
    if (index === pointer.length - 1 || resolved(at.type, at.value).kind === 'leaf') {
      node.add(at.step)
      addAll(fieldsOf(at.type, at.value), node.below(at.step))
      return
    }
    node = node.below(at.step)
  }
}

type Inside = { readonly step: string; readonly type: MergeType; readonly value: Json }

/** @returns null: there is no such member or element any more */
function stepInto({ type, value }: Inside, token: string): Inside | null {
  const of = resolved(type, value)
  if (of.kind === 'leaf') return null
  if (of.kind === 'struct') {
    const member = isJsonObject(value) ? memberOf(value, token) : undefined
    if (member === undefined) return null
    return { step: fieldStep(token), type: of.member(token) ?? of.other, value: member }
  }
  if (!isJsonList(value)) return null
  const element = elementsOf(of, value).at(token === '-' ? -1 : Number(token))
  if (element === undefined || element.step === null) return null
  return { step: element.step, type: elementType(of), value: element.value }
}

function addAll({ members, children }: FieldSet, draft: FieldSetDraft): void {
  for (const step of members) draft.add(step)
  for (const [step, below] of children) addAll(below, draft.below(step))
}
