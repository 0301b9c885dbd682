import type { Json, JsonObject, JsonObjectDraft } from '../json.ts'
import { isJsonList, isJsonObject, setMember } from '../json.ts'
import type { ObjectSchema, Schema } from './schema.ts'
import { writesNull, zeroOf } from './zero.ts'

/**
 * Adds members that are absent and have a default or are `always` present, also inside of structs
 * that are present. Other absent structs are not created.
 *
 * @param object as `conform` leaves it
 * @returns the identical object if nothing was missing
 */
export function applyDefaults(schema: ObjectSchema, object: JsonObject): JsonObject {
  let draft: JsonObjectDraft | null = null
  for (const name in schema.properties) {
    const type = schema.properties[name] as Schema
    const value = Object.hasOwn(object, name) ? object[name] : undefined
    const next = value === undefined ? missingValue(type) : defaultInside(type, value)
    if (next === undefined || next === value) continue
    draft ??= { ...object }
    setMember(draft, name, next)
  }
  return draft ?? object
}

function missingValue(schema: Schema): Json | undefined {
  if (schema.default !== undefined) return defaultInside(schema, schema.default)
  if (schema.always !== true) return undefined
  if (writesNull(schema)) return null
  return schema.type === 'object' ? applyDefaults(schema, {}) : zeroOf(schema)
}

function defaultInside(schema: Schema, value: Json): Json {
  if (schema.type === 'object') return isJsonObject(value) ? applyDefaults(schema, value) : value
  if (schema.type === 'map' && isJsonObject(value) && canDefault(schema.values)) {
    let draft: JsonObjectDraft | null = null
    for (const key of Object.keys(value)) {
      const next = defaultInside(schema.values, value[key] as Json)
      if (next === value[key]) continue
      draft ??= { ...value }
      setMember(draft, key, next)
    }
    return draft ?? value
  }
  if (schema.type === 'list' && isJsonList(value) && canDefault(schema.items)) {
    let draft: Json[] | null = null
    value.forEach((item, at) => {
      const next = defaultInside(schema.items, item)
      if (next === item) return
      draft ??= [...value]
      draft[at] = next
    })
    return draft ?? value
  }
  return value
}

/** Returns whether a value of the schema can contain defaults: scalars need no walk. */
function canDefault(schema: Schema): boolean {
  return schema.type === 'object' || schema.type === 'map' || schema.type === 'list'
}
