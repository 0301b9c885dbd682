import { assertNever } from '../../../base/assert.ts'
import type { Json } from '../json.ts'
import { equalJson, isJsonList, isJsonObject, memberOf } from '../json.ts'
import { parseQuantity } from './quantity.ts'
import type { ListSchema, MapSchema, ObjectSchema, Schema } from './schema.ts'

/**
 * Returns whether two values of a type are equivalent: an absent list or map equals an empty one, a
 * zero equals absent unless it matters, quantities are compared by amount. Unknown members are not
 * compared.
 *
 * @param a has the type of the schema, after `conform`; undefined: absent
 * @source apimachinery `pkg/api/equality`
 */
export function equalUnder(schema: Schema, a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true
  if (schema.zeroMatters === true && isAbsent(a) !== isAbsent(b)) return false
  switch (schema.type) {
    case 'object':
      return equalObjects(schema, a, b)
    case 'map':
      return equalMaps(schema, a, b)
    case 'list':
      return equalLists(schema, a, b)
    case 'quantity':
      return nanosOf(a) === nanosOf(b)
    case 'string':
      return (a ?? '') === (b ?? '')
    case 'boolean':
      return (a ?? false) === (b ?? false)
    case 'integer':
    case 'number':
      return (a ?? 0) === (b ?? 0)
    case 'int-or-string':
    case 'any':
      return equalJson(a, b)
    default:
      return assertNever(schema)
  }
}

function equalObjects(schema: ObjectSchema, a: Json | undefined, b: Json | undefined): boolean {
  const [left, right] = [a ?? {}, b ?? {}]
  if (!isJsonObject(left) || !isJsonObject(right)) return equalJson(left, right)
  return Object.entries(schema.properties).every(([name, type]) =>
    equalUnder(type, memberOf(left, name), memberOf(right, name)),
  )
}

function equalMaps({ values }: MapSchema, a: Json | undefined, b: Json | undefined): boolean {
  const [left, right] = [isJsonObject(a) ? a : {}, isJsonObject(b) ? b : {}]
  const keys = Object.keys(left)
  if (keys.length !== Object.keys(right).length) return false
  return keys.every((key) => Object.hasOwn(right, key) && equalUnder(values, left[key], right[key]))
}

function equalLists({ items }: ListSchema, a: Json | undefined, b: Json | undefined): boolean {
  const [left, right] = [isJsonList(a) ? a : [], isJsonList(b) ? b : []]
  return left.length === right.length && left.every((item, at) => equalUnder(items, item, right[at]))
}

function nanosOf(value: Json | undefined): bigint {
  return (typeof value === 'string' ? parseQuantity(value)?.nanos : undefined) ?? 0n
}

function isAbsent(value: Json | undefined): boolean {
  return value === undefined || value === null
}
