import { assertNever } from '../../../base/assert.ts'
import type { Findings } from '../errors/findings.ts'
import { invalid, notSupported, required, tooLong, tooMany } from '../errors/field-error.ts'
import type { Json, JsonObject } from '../json.ts'
import { isJsonList, isJsonObject, memberOf } from '../json.ts'
import { utf8Length } from '../utf8.ts'
import type { Path } from './path.ts'
import { listIndex, mapKey, member } from './path.ts'
import type { IntegerSchema, ListSchema, ObjectSchema, Schema, StringSchema } from './schema.ts'

/**
 * Checks the constraints beyond types: required members, enums, name rules, ranges and lengths, and
 * the check of each struct. Duplicate keys in keyed lists are checked by the structs: upstream's
 * kinds disagree on that.
 *
 * @param object has the types of the schema, after `conform` and defaults
 * @source the reasons and words of apimachinery `pkg/util/validation/field`
 */
export function validateSchema(schema: ObjectSchema, object: JsonObject, found: Findings): void {
  checkObject(schema, object, null, found)
}

function checkValue(schema: Schema, value: Json, path: Path, found: Findings): void {
  if (value === null || found.isFull) return
  found.spend(1, path)
  switch (schema.type) {
    case 'object':
      if (isJsonObject(value)) checkObject(schema, value, path, found)
      return
    case 'map':
      if (!isJsonObject(value) || !hasRules(schema.values)) return
      for (const key of Object.keys(value)) {
        checkValue(schema.values, value[key] as Json, mapKey(path, key), found)
      }
      return
    case 'list':
      if (isJsonList(value)) checkList(schema, value, path, found)
      return
    case 'string':
      if (typeof value === 'string') checkString(schema, value, path, found)
      return
    case 'integer':
      if (typeof value === 'number' || typeof value === 'bigint') checkInteger(schema, value, path, found)
      return
    case 'boolean':
    case 'number':
    case 'quantity':
    case 'int-or-string':
    case 'any':
      return
    default:
      assertNever(schema)
  }
}

function checkObject(schema: ObjectSchema, object: JsonObject, path: Path | null, found: Findings): void {
  for (const name of schema.required ?? []) {
    const value = memberOf(object, name)
    const missing = schema.properties[name]?.nonEmpty === true ? isEmpty(value) : value === undefined
    if (missing) found.add(required(member(path, name)))
  }
  for (const name of Object.keys(object)) {
    const type = Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined
    if (type !== undefined && hasRules(type))
      checkValue(type, object[name] as Json, member(path, name), found)
  }
  if (schema.check !== undefined && !found.isFull) schema.check(object, path, found)
}

function isEmpty(value: Json | undefined): boolean {
  if (value === undefined || value === null || value === '') return true
  if (isJsonList(value)) return value.length === 0
  return isJsonObject(value) && Object.keys(value).length === 0
}

/** Returns whether values of the type may have constraints; those of other types are skipped. */
function hasRules(schema: Schema): boolean {
  switch (schema.type) {
    case 'object':
    case 'list':
    case 'map':
      return true
    case 'string':
      return schema.enum !== undefined || schema.rule !== undefined || schema.lengthMax !== undefined
    case 'integer':
      return schema.minimum !== undefined || schema.maximum !== undefined
    case 'boolean':
    case 'number':
    case 'quantity':
    case 'int-or-string':
    case 'any':
      return false
    default:
      return assertNever(schema)
  }
}

function checkString(schema: StringSchema, value: string, path: Path, found: Findings): void {
  if (schema.enum !== undefined && value !== '' && !schema.enum.includes(value)) {
    found.add(notSupported(path, value, schema.enum))
  }
  if (schema.rule !== undefined && value !== '') {
    for (const words of schema.rule(value)) found.add(invalid(path, value, words))
  }
  if (schema.lengthMax !== undefined && utf8Length(value) > schema.lengthMax) {
    found.add(tooLong(path, schema.lengthMax))
  }
}

function checkInteger(schema: IntegerSchema, value: number | bigint, path: Path, found: Findings): void {
  const { minimum, maximum } = schema
  const low = minimum !== undefined && value < minimum
  const high = maximum !== undefined && value > maximum
  if (!low && !high) return
  let words = `must be between ${minimum} and ${maximum}, inclusive`
  if (maximum === undefined) words = `must be greater than or equal to ${minimum}`
  else if (minimum === undefined) words = `must be less than or equal to ${maximum}`
  found.add(invalid(path, value, words))
}

function checkList(schema: ListSchema, list: readonly Json[], path: Path, found: Findings): void {
  if (schema.itemsMax !== undefined && list.length > schema.itemsMax) {
    found.add(tooMany(path, list.length, schema.itemsMax))
  }
  if (!hasRules(schema.items)) return
  for (let at = 0; at < list.length && !found.isFull; at++) {
    checkValue(schema.items, list[at] as Json, listIndex(path, at), found)
  }
}
