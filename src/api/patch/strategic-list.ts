import { jsonText } from '../codec/json-text.ts'
import type { Json, JsonObject } from '../json.ts'
import { isJsonObject, memberOf } from '../json.ts'
import type { ListSchema, Schema } from '../schema/schema.ts'
import { malformedPatch } from './patch-errors.ts'

/** Merges list elements, and counts the copied values. */
export type ListMerging = {
  readonly mergeObject: (schema: Schema | null, original: JsonObject, patch: JsonObject) => JsonObject
  /** @throws ApiError RequestEntityTooLarge */
  readonly spend: (copied: number) => void
}

/**
 * Merges a list into another: scalars are united, objects with the same value of the merge key are
 * merged. Elements of the patch get the order that they have there; the others keep their order.
 *
 * @throws ApiError BadRequest: the elements are of several types, are objects without a merge key
 *   or lack it, or a directive is invalid; RequestEntityTooLarge: too much to copy
 */
export function mergeList(
  schema: ListSchema,
  original: readonly Json[],
  patch: readonly Json[],
  merging: ListMerging,
): readonly Json[] {
  if (patch.length === 0) return original
  merging.spend(original.length + patch.length)
  if (!patch.some(isJsonObject)) return orderBy(united(original, patch), patch, original, null)
  const key = schema.patchMergeKey
  if (key === undefined) throw malformedPatch('cannot merge lists without merge key')
  const plain: JsonObject[] = []
  const deleted = new Set<string>()
  let replaced = false
  for (const item of patch) {
    if (!isJsonObject(item)) throw malformedPatch('elements of a merged list must be of one type')
    const directive = memberOf(item, '$patch')
    if (directive === undefined) plain.push(item)
    else if (directive === 'replace') replaced = true
    else if (directive === 'delete') deleted.add(jsonText(keyOf(item, key)))
    else throw malformedPatch(`unknown patch type ${jsonText(directive)} in a list`)
  }
  if (replaced) return plain.map((item) => merging.mergeObject(schema.items, {}, item))
  const base = without(original, deleted, key)
  const merged = mergeByKey(schema.items, base, plain, key, merging)
  return orderBy(merged, plain, base, key)
}

/** Removes scalars from a list. */
export function deleteScalars(list: readonly Json[], gone: readonly Json[]): readonly Json[] {
  const identities = new Set(gone.map((item) => jsonText(item)))
  return list.filter((item) => !identities.has(jsonText(item)))
}

/**
 * Sorts the elements that `order` names into its order. Others keep their relative position from
 * `before`; those that were not in it come last.
 *
 * @param key member that identifies an element; null: the element itself does
 */
export function orderBy(
  list: readonly Json[],
  order: readonly Json[],
  before: readonly Json[],
  key: string | null,
): readonly Json[] {
  const wanted = ranks(order, key)
  const earlier = ranks(before, key)
  const ranked = list.map((item): Ranked => {
    const id = identity(item, key)
    return { item, wanted: wanted.get(id) ?? null, earlier: earlier.get(id) ?? null }
  })
  const named = ranked.filter((one) => one.wanted !== null)
  const others = ranked.filter((one) => one.wanted === null)
  named.sort((a, b) => inOrder(a.wanted) - inOrder(b.wanted))
  others.sort((a, b) => inOrder(a.earlier) - inOrder(b.earlier))
  const result: Json[] = []
  let next = 0
  for (const { item, earlier: place } of named) {
    while (place !== null && next < others.length) {
      const other = others[next] as Ranked
      if (inOrder(other.earlier) >= place) break
      result.push(other.item)
      next++
    }
    result.push(item)
  }
  return [...result, ...others.slice(next).map(({ item }) => item)]
}

/** An element with its index in the wanted order and in the previous list; null: not in it. */
type Ranked = { readonly item: Json; readonly wanted: number | null; readonly earlier: number | null }

function inOrder(place: number | null): number {
  return place ?? Number.MAX_SAFE_INTEGER
}

function mergeByKey(
  schema: Schema,
  original: readonly Json[],
  patch: readonly JsonObject[],
  key: string,
  { mergeObject }: ListMerging,
): readonly Json[] {
  const result = [...original]
  const places = ranks(original, key)
  for (const item of patch) {
    const id = jsonText(keyOf(item, key))
    const place = places.get(id)
    const current = place === undefined ? undefined : result[place]
    if (place !== undefined && isJsonObject(current)) {
      result[place] = mergeObject(schema, current, item)
    } else {
      places.set(id, result.length)
      result.push(mergeObject(schema, {}, item))
    }
  }
  return result
}

/** @param deleted merge keys as JSON texts */
function without(list: readonly Json[], deleted: ReadonlySet<string>, key: string): readonly Json[] {
  if (deleted.size === 0) return list
  return list.filter((item) => {
    const value = isJsonObject(item) ? memberOf(item, key) : undefined
    return value === undefined || !deleted.has(jsonText(value))
  })
}

function keyOf(item: JsonObject, key: string): Json {
  const value = memberOf(item, key)
  if (value === undefined) throw malformedPatch(`map does not contain declared merge key: ${key}`)
  return value
}

function united(original: readonly Json[], patch: readonly Json[]): readonly Json[] {
  const seen = new Map<string, Json>()
  for (const item of [...original, ...patch]) {
    const id = jsonText(item)
    if (!seen.has(id)) seen.set(id, item)
  }
  return [...seen.values()]
}

function identity(item: Json, key: string | null): string {
  return jsonText(key !== null && isJsonObject(item) ? (memberOf(item, key) ?? null) : item)
}

/** Returns the first index of each element. */
function ranks(list: readonly Json[], key: string | null): Map<string, number> {
  const places = new Map<string, number>()
  list.forEach((item, at) => {
    const id = identity(item, key)
    if (!places.has(id)) places.set(id, at)
  })
  return places
}
