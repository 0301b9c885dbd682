import { tooLarge } from '../errors/standard-errors.ts'
import { jsonText } from '../codec/json-text.ts'
import type { Json, JsonObject, JsonObjectDraft } from '../json.ts'
import { isJsonList, isJsonObject, memberOf, setMember } from '../json.ts'
import { bodyLimits } from '../limits.ts'
import type { ListSchema, ObjectSchema, Schema } from '../schema/schema.ts'
import { malformedPatch } from './patch-errors.ts'
import { deleteScalars, mergeList, orderBy } from './strategic-list.ts'
import type { ListMerging } from './strategic-list.ts'

/**
 * Applies a strategic merge patch: like a merge patch, but lists whose schema has the strategy
 * `merge` are merged element by element, and members that begin with `$` direct the merge.
 *
 * | directive | meaning |
 * | --- | --- |
 * | `$patch: replace` | the patch replaces the object or the list |
 * | `$patch: delete` | the object becomes empty, or the list element is removed |
 * | `$patch: merge` | the default |
 * | `$retainKeys` | members that may stay |
 * | `$setElementOrder/<list>` | order of a list's elements afterwards |
 * | `$deleteFromPrimitiveList/<list>` | scalars to take out |
 *
 * @param schema of the whole object; members it lacks merge like a merge patch
 * @throws ApiError BadRequest: an invalid directive, or list elements that cannot be merged;
 *   RequestEntityTooLarge: too much to copy
 * @source apimachinery `pkg/util/strategicpatch/patch.go`
 */
export function strategicMerge(schema: ObjectSchema, original: JsonObject, patch: JsonObject): JsonObject {
  let left = COPIED_MAX
  const merging: ListMerging = {
    mergeObject: (of, before, given) => mergeObject(of, before, given, merging),
    spend: (copied) => {
      left -= copied
      if (left < 0)
        throw tooLarge(`a strategic merge patch copies at most ${COPIED_MAX} members and elements`)
    },
  }
  return mergeObject(schema, original, patch, merging)
}

/**
 * Members and elements that one patch may copy. Each member of the object and of the patch is
 * copied once, but a patch may name an element of a list repeatedly, each time with more members.
 * List elements, which are also compared, take a microsecond each.
 */
const COPIED_MAX = 4 * bodyLimits.valuesMax

const DIRECTIVE = '$patch'
const RETAIN_KEYS = '$retainKeys'
const SET_ORDER = '$setElementOrder/'
const DELETE_SCALARS = '$deleteFromPrimitiveList/'

/** @param schema null: the object has no schema */
function mergeObject(
  schema: Schema | null,
  original: JsonObject,
  patch: JsonObject,
  merging: ListMerging,
): JsonObject {
  const directive = memberOf(patch, DIRECTIVE)
  if (directive === 'replace') return withoutDirectives(patch)
  if (directive === 'delete') return {}
  if (directive !== undefined && directive !== 'merge') {
    throw malformedPatch(`unknown patch type ${jsonText(directive)}`)
  }
  merging.spend(Object.keys(original).length)
  const draft: JsonObjectDraft = { ...original }
  retainKeys(draft, patch)
  const ordered = new Map<string, readonly Json[]>()
  for (const name of Object.keys(patch)) {
    const value = patch[name] as Json
    if (name === DIRECTIVE || name === RETAIN_KEYS) continue
    if (name.startsWith(SET_ORDER)) {
      ordered.set(name.slice(SET_ORDER.length), listOf(value, name))
    } else if (name.startsWith(DELETE_SCALARS)) {
      const member = name.slice(DELETE_SCALARS.length)
      const list = memberOf(draft, member)
      if (isJsonList(list)) setMember(draft, member, deleteScalars(list, listOf(value, name)))
    } else if (value === null) {
      delete draft[name]
    } else {
      setMember(draft, name, mergeValue(schemaOf(schema, name), memberOf(draft, name), value, merging))
    }
  }
  for (const [name, order] of ordered) {
    const list = memberOf(draft, name)
    const before = memberOf(original, name)
    const key = mergeKeyOf(schemaOf(schema, name))
    if (isJsonList(list)) {
      checkOrder(patch, name, order, key)
      setMember(draft, name, orderBy(list, order, isJsonList(before) ? before : [], key))
    }
  }
  return draft
}

/**
 * Merges the value of a patch into the original one. A missing original, or one of another type,
 * counts as empty.
 */
function mergeValue(
  schema: Schema | null,
  original: Json | undefined,
  patch: Json,
  merging: ListMerging,
): Json {
  if (isJsonObject(patch)) {
    if (schema?.type === 'object' && schema.patchStrategy === 'replace') return withoutDirectives(patch)
    return mergeObject(schema, isJsonObject(original) ? original : {}, patch, merging)
  }
  if (!isJsonList(patch)) return patch
  const list = schema?.type === 'list' ? schema : null
  if (list === null || !mergesList(list)) return patch.map(stripped)
  return mergeList(list, isJsonList(original) ? original : [], patch, merging)
}

function mergesList(schema: ListSchema): boolean {
  return schema.patchStrategy === 'merge' || schema.patchStrategy === 'merge,retainKeys'
}

function mergeKeyOf(schema: Schema | null): string | null {
  return schema?.type === 'list' ? (schema.patchMergeKey ?? null) : null
}

function schemaOf(schema: Schema | null, name: string): Schema | null {
  if (schema?.type === 'map') return schema.values
  if (schema?.type !== 'object' || !Object.hasOwn(schema.properties, name)) return null
  return schema.properties[name] ?? null
}

/** Removes members that `$retainKeys` does not list; those that the patch sets must be listed. */
function retainKeys(draft: JsonObjectDraft, patch: JsonObject): void {
  const keys = memberOf(patch, RETAIN_KEYS)
  if (keys === undefined) return
  const kept = new Set(listOf(keys, RETAIN_KEYS))
  for (const name of Object.keys(patch)) {
    if (name.startsWith('$') || patch[name] === null || kept.has(name)) continue
    throw malformedPatch(`the $retainKeys list of a strategic merge patch lacks ${JSON.stringify(name)}`)
  }
  for (const name of Object.keys(draft)) {
    if (!kept.has(name)) delete draft[name]
  }
}

/**
 * Checks that every element that the patch puts into a list is also in the list of its order; else
 * its position would be undefined.
 */
function checkOrder(patch: JsonObject, name: string, order: readonly Json[], key: string | null): void {
  const list = memberOf(patch, name)
  if (!isJsonList(list)) return
  const known = new Set(order.map((item) => identityOf(item, key)))
  for (const item of list) {
    if (isJsonObject(item) && memberOf(item, DIRECTIVE) !== undefined) continue
    if (!known.has(identityOf(item, key))) {
      throw malformedPatch(`the order in patch list ${name} doesn't match its ${SET_ORDER} list`)
    }
  }
}

function identityOf(item: Json, key: string | null): string {
  return jsonText(key !== null && isJsonObject(item) ? (memberOf(item, key) ?? null) : item)
}

function listOf(value: Json, name: string): readonly Json[] {
  if (!isJsonList(value)) throw malformedPatch(`${name} of a strategic merge patch must be a list`)
  return value
}

function stripped(value: Json): Json {
  if (isJsonList(value)) return value.map(stripped)
  return isJsonObject(value) ? withoutDirectives(value) : value
}

/** Removes directives and nulls, which are never stored. */
function withoutDirectives(object: JsonObject): JsonObject {
  const draft: JsonObjectDraft = {}
  for (const name of Object.keys(object)) {
    const directs =
      name === DIRECTIVE ||
      name === RETAIN_KEYS ||
      name.startsWith(SET_ORDER) ||
      name.startsWith(DELETE_SCALARS)
    const value = object[name] as Json
    if (!directs && value !== null) setMember(draft, name, stripped(value))
  }
  return draft
}
