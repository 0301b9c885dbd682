import { assertNever } from '../../../base/assert.ts'
import type { Json } from '../json.ts'
import { isJsonList, isJsonObject } from '../json.ts'
import type { Schema, StringSchema } from './schema.ts'

/** Returns the zero of a type. For times that is the empty text, which means unset. */
export function zeroOf(schema: Schema): Json {
  switch (schema.type) {
    case 'string':
      return ''
    case 'boolean':
      return false
    case 'integer':
    case 'number':
    case 'int-or-string':
      return 0
    case 'quantity':
      return '0'
    case 'object':
    case 'map':
      return {}
    case 'list':
      return []
    case 'any':
      return null
    default:
      return assertNever(schema)
  }
}

/**
 * Returns whether a value is the zero of its type. Values of `any` have no zero; for times it is
 * the empty text or the beginning of year 1.
 */
export function isZero(schema: Schema, value: Json): boolean {
  switch (schema.type) {
    case 'string':
      return value === '' || (isTime(schema) && typeof value === 'string' && NO_TIME.test(value))
    case 'boolean':
      return value === false
    case 'integer':
    case 'number':
    case 'int-or-string':
      return value === 0
    case 'quantity':
      return value === '0'
    case 'object':
    case 'map':
      return isJsonObject(value) && Object.keys(value).length === 0
    case 'list':
      return isJsonList(value) && value.length === 0
    case 'any':
      return false
    default:
      return assertNever(schema)
  }
}

/**
 * Returns whether an unset member is written as `null` in JSON: it is always written, and is a
 * time, a list, a map or any JSON, or its zero means something else.
 */
export function writesNull(schema: Schema): boolean {
  if (schema.always !== true || schema.default !== undefined) return false
  if (schema.zeroMatters === true) return true
  switch (schema.type) {
    case 'string':
      return isTime(schema)
    case 'list':
    case 'map':
    case 'any':
      return true
    case 'boolean':
    case 'integer':
    case 'number':
    case 'int-or-string':
    case 'quantity':
    case 'object':
      return false
    default:
      return assertNever(schema)
  }
}

/** The zero time of upstream. */
const NO_TIME = /^0001-01-01T00:00:00(\.0+)?Z$/

function isTime({ format }: StringSchema): boolean {
  return format === 'date-time' || format === 'micro-time'
}
