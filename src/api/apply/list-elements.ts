import { isJsonList, isJsonObject, memberOf, setMember } from '../json.ts'
import type { Json, JsonObject, JsonObjectDraft } from '../json.ts'
import { leaf } from './merge-type.ts'
import type { ListKey, MergeType } from './merge-type.ts'
import { keyStep, valueStep } from './step.ts'

/** A list whose elements have identities. */
export type AssociativeType = Extract<MergeType, { kind: 'set' | 'keyed' }>

/** An element and its step; null: it lacks a key, so nothing identifies it. */
export type Element = { readonly step: string | null; readonly value: Json }

/** Elements by their list, cached because several steps of one apply use them. */
const known = new WeakMap<
  readonly Json[],
  { readonly type: AssociativeType; readonly elements: readonly Element[] }
>()

/** @param list not changed after the call; any other value counts as an empty list */
export function elementsOf(type: AssociativeType, list: Json | undefined): readonly Element[] {
  if (!isJsonList(list)) return []
  const before = known.get(list)
  if (before?.type === type) return before.elements
  const elements = list.map((value) => ({ step: stepOf(type, value), value }))
  known.set(list, { type, elements })
  return elements
}

function stepOf(type: AssociativeType, value: Json): string | null {
  if (type.kind === 'set') return valueStep(value)
  if (!isJsonObject(value)) return null
  const keys = keysOf(type.keys, value)
  return keys === null ? null : keyStep(keys)
}

function keysOf(names: readonly ListKey[], value: JsonObject): JsonObject | null {
  const draft: JsonObjectDraft = {}
  for (const { name, default: otherwise } of names) {
    const key = memberOf(value, name) ?? otherwise
    if (key === undefined || (typeof key === 'object' && key !== null)) return null
    setMember(draft, name, key)
  }
  return names.length === 0 ? null : draft
}

/** Returns the first key that an element lacks. */
export function missingKey(names: readonly ListKey[], value: Json): string {
  const missing = names.find(({ name, default: otherwise }) => {
    const key = isJsonObject(value) ? (memberOf(value, name) ?? otherwise) : undefined
    return key === undefined || typeof key === 'object'
  })
  return missing?.name ?? ''
}

/** Returns the elements by step; of equal steps the first counts. */
export function byStep(elements: readonly Element[]): ReadonlyMap<string, Json> {
  const found = new Map<string, Json>()
  for (const { step, value } of elements) if (step !== null && !found.has(step)) found.set(step, value)
  return found
}

/** Returns the type of the elements. */
export function elementType(type: AssociativeType): MergeType {
  return type.kind === 'set' ? leaf : type.items
}
