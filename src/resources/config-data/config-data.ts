import type { Findings } from '../../api/errors/findings.ts'
import { fieldForbidden, invalid, keyPath } from '../../api/errors/field-error.ts'
import { equalJson, isJsonObject, memberOf, textMember } from '../../api/json.ts'
import type { JsonObject, JsonObjectDraft } from '../../api/json.ts'
import { checkConfigKey } from '../../api/metadata/name-rules.ts'
import type { AnyObject, Column } from '../../registry/kinds/definition.ts'

/**
 * Parts shared by ConfigMap and Secret: maps with keys that are valid file names, and `immutable`.
 */

/** Limit on the values of one object together, in bytes. */
export const dataBytesMax = 1024 * 1024

/** Returns a map member; empty if absent. */
export function mapOf(object: AnyObject, member: string): JsonObject {
  const value = memberOf(object, member)
  return isJsonObject(value) ? value : {}
}

/** The column with the number of keys in the data maps. */
export function dataColumn(members: readonly string[]): Column {
  return {
    name: 'Data',
    type: 'string',
    description: 'Number of keys of the object.',
    cell: (object) => members.reduce((sum, member) => sum + Object.keys(mapOf(object, member)).length, 0),
  }
}

/** Returns the entries of a map whose values are strings by its schema. */
export function textsOf(map: JsonObject): readonly (readonly [key: string, text: string])[] {
  return Object.keys(map).map((key) => [key, textMember(map, key)] as const)
}

/** Removes empty maps, which are equivalent to absent ones. */
export function withoutEmptyMaps(object: AnyObject, members: readonly string[]): AnyObject {
  const empty = members.filter((member) => {
    const value = memberOf(object, member)
    return isJsonObject(value) && Object.keys(value).length === 0
  })
  if (empty.length === 0) return object
  const draft: JsonObjectDraft = { ...object }
  for (const member of empty) delete draft[member]
  return { ...draft, apiVersion: object.apiVersion, kind: object.kind, metadata: object.metadata }
}

export function checkKeys(member: string, map: JsonObject, found: Findings): void {
  for (const key of Object.keys(map)) {
    for (const words of checkConfigKey(key)) found.add(invalid(keyPath(member, key), key, words))
  }
}

/**
 * An immutable object stays immutable, and its data cannot change.
 *
 * @source spec 2.2, 2.3
 */
export function checkImmutable(
  object: AnyObject,
  current: AnyObject,
  members: readonly string[],
  found: Findings,
): void {
  if (memberOf(current, 'immutable') !== true) return
  const words = 'field is immutable when `immutable` is set'
  if (memberOf(object, 'immutable') !== true) found.add(fieldForbidden('immutable', words))
  for (const member of members) {
    if (!equalJson(mapOf(object, member), mapOf(current, member))) found.add(fieldForbidden(member, words))
  }
}
