import { isJsonObject, memberOf, objectMember, objectsMember } from '../json.ts'
import type { JsonObject } from '../json.ts'
import type { Path } from '../schema/path.ts'
import { listIndex, mapKey, member } from '../schema/path.ts'

/** A schema inside of another one, as a definition spells it. */
export type SchemaChild = {
  readonly relation: 'property' | 'additionalProperties' | 'items' | Junctor
  /** Of a property; else empty. */
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
