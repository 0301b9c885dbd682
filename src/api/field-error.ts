import { ApiError } from './api-error.ts'
import type { ApiErrorCause } from './api-error.ts'
import { jsonText } from './codec/json-text.ts'
import type { Json } from './json.ts'

/** @source apimachinery `pkg/util/validation/field/errors.go`, for reasons and the form of messages */

export function required(field: string, detail = ''): ApiErrorCause {
  return cause('FieldValueRequired', field, withDetail('Required value', detail))
}

export function invalid(field: string, value: Json | undefined, detail: string): ApiErrorCause {
  return cause('FieldValueInvalid', field, withDetail(`Invalid value: ${shown(value)}`, detail))
}

export function notSupported(
  field: string,
  value: Json | undefined,
  supported: readonly string[],
): ApiErrorCause {
  const list = supported.map((text) => JSON.stringify(text)).join(', ')
  const detail = supported.length === 0 ? '' : `supported values: ${list}`
  return cause('FieldValueNotSupported', field, withDetail(`Unsupported value: ${shown(value)}`, detail))
}

export function duplicate(field: string, value: Json): ApiErrorCause {
  return cause('FieldValueDuplicate', field, `Duplicate value: ${shown(value)}`)
}

/** Names something that is not there. */
export function fieldNotFound(field: string, value: Json): ApiErrorCause {
  return cause('FieldValueNotFound', field, `Not found: ${shown(value)}`)
}

export function fieldForbidden(field: string, detail: string): ApiErrorCause {
  return cause('FieldValueForbidden', field, withDetail('Forbidden', detail))
}

export function tooLong(field: string, bytesMax: number): ApiErrorCause {
  return cause('FieldValueTooLong', field, `Too long: must have at most ${bytesMax} bytes`)
}

export function tooMany(field: string, count: number, countMax: number): ApiErrorCause {
  return cause('FieldValueTooMany', field, `Too many: ${count}: must have at most ${countMax} items`)
}

/** A member of a map in a path: `data[a b]`. */
export function keyPath(path: string, key: string): string {
  return `${path}[${key}]`
}

export type GroupKind = { readonly group: string; readonly kind: string }

/** The 422 that carries everything found wrong. @param causes not empty */
export function invalidObject(of: GroupKind, name: string, causes: readonly ApiErrorCause[]): ApiError {
  const kind = of.group === '' ? of.kind : `${of.kind}.${of.group}`
  const each = [...new Set(causes.map((found) => `${found.field}: ${found.message}`))]
  const all = each.length === 1 ? each[0] : `[${each.join(', ')}]`
  const message = `${kind} ${JSON.stringify(name)} is invalid: ${all}`
  const details = { name, kind: of.kind, causes: causes.slice(0, CAUSES_MAX) }
  return new ApiError('Invalid', message.slice(0, MESSAGE_LENGTH_MAX), {
    ...details,
    ...(of.group === '' ? {} : { group: of.group }),
  })
}

/** One answer tells at most this much: a body full of mistakes must not grow into a bigger answer. */
const CAUSES_MAX = 200
const MESSAGE_LENGTH_MAX = 32 * 1024
const VALUE_LENGTH_MAX = 1024

function cause(reason: string, field: string, message: string): ApiErrorCause {
  return { reason, message, field }
}

function withDetail(words: string, detail: string): string {
  return detail === '' ? words : `${words}: ${detail}`
}

function shown(value: Json | undefined): string {
  const text = value === undefined ? 'null' : jsonText(value)
  return text.length <= VALUE_LENGTH_MAX ? text : `${text.slice(0, VALUE_LENGTH_MAX)}...`
}
