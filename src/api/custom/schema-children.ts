import { isJsonList, isJsonObject, memberOf, objectMember, objectsMember, setMember } from '../json.ts'
import type { Json, JsonObject, JsonObjectDraft } from '../json.ts'
import type { Path } from '../schema/path.ts'
import { listIndex, mapKey, member } from '../schema/path.ts'

/** A schema that is nested in another one, as JSON. */
export type SchemaChild = {
  readonly relation: 'property' | 'additionalProperties' | 'items' | Junctor
  /** Name of the property; empty for other relations. */
  readonly name: string
  readonly json: JsonObject
  readonly at: Path
}

export type Junctor = (typeof LISTS)[number] | 'not'

const LISTS = ['allOf', 'anyOf', 'oneOf'] as const

export function* childrenOf(json: JsonObject, at: Path): Iterable<SchemaChild> {
  for (const [name, of] of Object.entries(objectMember(json, 'properties'))) {
    if (!isJsonObject(of)) continue
    yield { relation: 'property', name, json: of, at: mapKey(member(at, 'properties'), name) }
  }
  for (const relation of ['additionalProperties', 'items', 'not'] as const) {
    const of = memberOf(json, relation)
    if (isJsonObject(of)) yield { relation, name: '', json: of, at: member(at, relation) }
  }
  for (const relation of LISTS) {
    for (const [index, of] of objectsMember(json, relation).entries()) {
      yield { relation, name: '', json: of, at: listIndex(member(at, relation), index) }
    }
  }
}

/**
 * Returns the schema with each direct child changed and all else as it was written; the identical
 * one if no child changes.
 */
export function withChildren(json: JsonObject, change: (child: JsonObject) => JsonObject): JsonObject {
  const one = (of: Json): Json => (isJsonObject(of) ? change(of) : of)
  return mapMembers(json, (value, word) => changed(word, value, one))
}

function changed(word: string, value: Json, one: (of: Json) => Json): Json {
  switch (word) {
    case 'items':
    case 'additionalProperties':
    case 'not':
      return one(value)
    case 'allOf':
    case 'anyOf':
    case 'oneOf': {
      if (!isJsonList(value)) return value
      const list = value.map(one)
      return list.every((of, at) => of === value[at]) ? value : list
    }
    case 'properties':
      return isJsonObject(value) ? mapMembers(value, one) : value
    default:
      return value
  }
}

function mapMembers(object: JsonObject, map: (value: Json, name: string) => Json): JsonObject {
  const result: JsonObjectDraft = {}
  let isSame = true
  for (const [name, value] of Object.entries(object)) {
    const mapped = map(value, name)
    if (mapped !== value) isSame = false
    setMember(result, name, mapped)
  }
  return isSame ? object : result
}
