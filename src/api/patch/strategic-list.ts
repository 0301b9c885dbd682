import { jsonText } from '../codec/json-text.ts'
import type { Json, JsonObject } from '../json.ts'
import { equalJson, isJsonObject, memberOf } from '../json.ts'
import type { ListSchema, Schema } from '../schema/schema.ts'
import { malformedPatch } from './patch-errors.ts'

type MergeObject = (schema: Schema | null, original: JsonObject, patch: JsonObject) => JsonObject

/**
 * Merges a list into another: scalars are united, objects with the same value of the merge key are merged.
 * Elements of the patch stand in its order, others keep theirs.
 *
 * @throws ApiError BadRequest: an element lacks the merge key, or its directive means nothing
 */
export function mergeList(
  schema: ListSchema,
  original: readonly Json[],
  patch: readonly Json[],
  mergeObject: MergeObject,
): readonly Json[] {
  if (patch.length === 0) return original
  if (!patch.some(isJsonObject)) return orderBy(united(original, patch), patch, original, null)
  const key = schema.patchMergeKey
  if (key === undefined) throw malformedPatch('cannot merge lists without merge key')
  const plain: JsonObject[] = []
  let base = original
  let replaced = false
  for (const item of patch) {
    if (!isJsonObject(item)) throw malformedPatch('elements of a merged list must be of one type')
    const directive = memberOf(item, '$patch')
    if (directive === undefined) plain.push(item)
    else if (directive === 'replace') replaced = true
    else if (directive === 'delete') base = without(base, keyOf(item, key), key)
    else throw malformedPatch(`unknown patch type ${jsonText(directive)} in a list`)
  }
  if (replaced) return plain.map((item) => mergeObject(schema.items, {}, item))
  const merged = mergeByKey(schema.items, base, plain, key, mergeObject)
  return orderBy(merged, plain, base, key)
}

/** Takes scalars out of a list. */
export function deleteScalars(list: readonly Json[], gone: readonly Json[]): readonly Json[] {
  const identities = new Set(gone.map((item) => jsonText(item)))
  return list.filter((item) => !identities.has(jsonText(item)))
}

/**
 * Puts elements that `order` names into its order; others keep the place that `before` gave them relative to
 * those, and come after them where it gave none.
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
  const named = list.filter((item) => wanted.has(identity(item, key)))
  const others = list.filter((item) => !wanted.has(identity(item, key)))
  named.sort((a, b) => rank(wanted, a, key) - rank(wanted, b, key))
  others.sort((a, b) => rank(earlier, a, key) - rank(earlier, b, key))
  const result: Json[] = []
  let next = 0
  for (const item of named) {
    const place = earlier.get(identity(item, key))
    while (place !== undefined && next < others.length) {
      const other = others[next] as Json
      if (rank(earlier, other, key) >= place) break
      result.push(other)
      next++
    }
    result.push(item)
  }
  return [...result, ...others.slice(next)]
}

function mergeByKey(
  schema: Schema,
  original: readonly Json[],
  patch: readonly JsonObject[],
  key: string,
  mergeObject: MergeObject,
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

function without(list: readonly Json[], value: Json, key: string): readonly Json[] {
  return list.filter((item) => !(isJsonObject(item) && equalJson(memberOf(item, key), value)))
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

/** First place of each element. */
function ranks(list: readonly Json[], key: string | null): Map<string, number> {
  const places = new Map<string, number>()
  list.forEach((item, at) => {
    const id = identity(item, key)
    if (!places.has(id)) places.set(id, at)
  })
  return places
}

function rank(places: ReadonlyMap<string, number>, item: Json, key: string | null): number {
  return places.get(identity(item, key)) ?? Number.MAX_SAFE_INTEGER
}
