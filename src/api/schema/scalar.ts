import { assertNever } from '../../../base/assert.ts'
import { exactNumber } from '../codec/json-exact.ts'
import type { Json } from '../json.ts'
import { canonicalMicroTime, canonicalTime } from '../metadata/time.ts'
import { canonicalQuantity, QUANTITY_WORDS } from './quantity.ts'
import type {
  AnySchema,
  BooleanSchema,
  IntegerSchema,
  IntOrStringSchema,
  NumberSchema,
  QuantitySchema,
  StringSchema,
} from './schema.ts'

export type ScalarSchema =
  StringSchema | BooleanSchema | IntegerSchema | NumberSchema | QuantitySchema | IntOrStringSchema | AnySchema

/** The result of checking one scalar value. */
export type ScalarCheck =
  | { readonly kind: 'ok'; readonly value: Json }
  /** Another JSON type, or a number outside the type's range. */
  | { readonly kind: 'mismatch'; readonly wanted: string }
  /** The right JSON type with invalid content. */
  | { readonly kind: 'malformed'; readonly words: string }

/** @param value not null */
export function checkScalar(schema: ScalarSchema, value: Json): ScalarCheck {
  switch (schema.type) {
    case 'string':
      return typeof value === 'string' ? checkString(schema, value) : { kind: 'mismatch', wanted: 'string' }
    case 'boolean':
      return typeof value === 'boolean' ? ok(value) : { kind: 'mismatch', wanted: 'bool' }
    case 'integer':
      return isInteger(value, schema.format) ? ok(value) : { kind: 'mismatch', wanted: schema.format }
    case 'number':
      return isNumber(value) ? ok(exactNumber(Number(value))) : { kind: 'mismatch', wanted: 'float64' }
    case 'quantity':
      return checkQuantity(value)
    case 'int-or-string':
      if (typeof value === 'string') return ok(value)
      return isInteger(value, 'int32') ? ok(value) : { kind: 'mismatch', wanted: 'int32' }
    case 'any':
      return ok(value)
    default:
      return assertNever(schema)
  }
}

function ok(value: Json): ScalarCheck {
  return { kind: 'ok', value }
}

function checkString(schema: StringSchema, value: string): ScalarCheck {
  switch (schema.format) {
    case undefined:
      return ok(value)
    case 'bytes': {
      const bytes = canonicalBase64(value)
      return bytes === null ? { kind: 'malformed', words: 'illegal base64 data' } : ok(bytes)
    }
    case 'date-time': {
      const time = canonicalTime(value)
      return time === null ? notATime(value) : ok(time)
    }
    case 'micro-time': {
      const time = canonicalMicroTime(value)
      return time === null ? notATime(value) : ok(time)
    }
    default:
      return assertNever(schema.format)
  }
}

function notATime(value: string): ScalarCheck {
  const shown = JSON.stringify(value.slice(0, 64))
  return { kind: 'malformed', words: `parsing time ${shown}: not a time in RFC 3339 format` }
}

function checkQuantity(value: Json): ScalarCheck {
  if (typeof value !== 'string' && !isNumber(value)) return { kind: 'mismatch', wanted: 'quantity' }
  const canonical = canonicalQuantity(String(value))
  return canonical === null ? { kind: 'malformed', words: QUANTITY_WORDS } : ok(canonical)
}

function isNumber(value: Json): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint'
}

function isInteger(value: Json, format: 'int32' | 'int64'): boolean {
  if (typeof value === 'bigint') return format === 'int64' && BigInt.asIntN(64, value) === value
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) return false
  return format === 'int64' || (value >= -(2 ** 31) && value < 2 ** 31)
}

/** Standard alphabet with padding; line breaks are ignored. @returns null if it is invalid */
function canonicalBase64(text: string): string | null {
  const joined = /[\r\n]/.test(text) ? text.replace(/[\r\n]/g, '') : text
  if (joined.length % 4 !== 0) return null
  return /^[A-Za-z0-9+/]*={0,2}$/.test(joined) ? joined : null
}

/** Returns the number of bytes that a valid base64 text encodes. */
export function base64Bytes(text: string): number {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  return (text.length / 4) * 3 - padding
}
