import { setMember } from '../json.ts'
import type { Json, JsonObject, JsonObjectDraft } from '../json.ts'
import type { ObjectSchema, Schema } from '../schema/schema.ts'
import { writesNull, zeroOf } from '../schema/zero.ts'

const known = new WeakMap<ObjectSchema, JsonObject>()

/**
 * Returns an object that has only what every object of the kind has: structs and members that are
 * always written. A new object is compared with it, so these themselves have no owner.
 *
 * @param schema of an immutable kind: the result is kept as long as the schema
 */
export function emptyObject(schema: ObjectSchema): JsonObject {
  let empty = known.get(schema)
  if (empty === undefined) {
    empty = made(schema)
    known.set(schema, empty)
  }
  return empty
}

function made(struct: ObjectSchema): JsonObject {
  const draft: JsonObjectDraft = {}
  for (const [name, schema] of Object.entries(struct.properties)) {
    const value = emptyMember(schema, isRequired(struct, name))
    if (value !== undefined) setMember(draft, name, value)
  }
  return draft
}

/** Custom kinds, which have no protobuf messages, begin without any members. */
function isRequired({ protobuf, required }: ObjectSchema, name: string): boolean {
  return protobuf !== undefined && required?.includes(name) === true
}

function emptyMember(schema: Schema, required: boolean): Json | undefined {
  if (writesNull(schema)) return null
  if (schema.type === 'object') {
    return schema.zeroMatters === true || schema.instead !== undefined ? undefined : made(schema)
  }
  if (required && (schema.type === 'list' || schema.type === 'map')) return null
  return schema.always === true ? zeroOf(schema) : undefined
}
