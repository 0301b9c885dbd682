import { tooLarge } from '../errors/standard-errors.ts'
import type { ApiError } from '../errors/api-error.ts'
import { isJsonList, isJsonObject } from '../json.ts'
import type { Json } from '../json.ts'
import { bodyLimits } from '../limits.ts'

/**
 * The number of containers and commas in a JSON text, counted without parsing it. The contents of
 * strings are skipped.
 */
export type JsonShape = {
  /** Objects and lists. */
  readonly containers: number
  /** Members and elements after the first of each container. */
  readonly commas: number
}

/**
 * Counts in one pass over the bytes. The count of a large body is cached, because it is needed for
 * the memory estimate and for the limit on values; small bodies are cheaper to count again.
 *
 * @param body JSON; for anything else the result has no meaning
 */
export function jsonShape(body: Uint8Array): JsonShape {
  if (body.byteLength <= SMALL_BYTES_MAX) return countJson(body)
  let shape = counted.get(body)
  if (shape === undefined) {
    shape = countJson(body)
    counted.set(body, shape)
  }
  return shape
}

/** Counts of request bodies. An entry is dropped with its body. */
const counted = new WeakMap<Uint8Array, JsonShape>()

function countJson(body: Uint8Array): JsonShape {
  let containers = 0
  let commas = 0
  let isInString = false
  for (let at = 0; at < body.length; at++) {
    const byte = body[at]
    if (byte === QUOTE) isInString = !isInString
    else if (isInString) {
      if (byte === BACKSLASH) at++
    } else if (byte === BRACE || byte === BRACKET) containers++
    else if (byte === COMMA) commas++
  }
  return { containers, commas }
}

/** Returns the number of commas that the JSON text of a value has outside of strings. */
export function commasOf(value: Json): number {
  let commas = 0
  let length = 0
  if (isJsonList(value)) {
    length = value.length
    for (const item of value) if (typeof item === 'object') commas += commasOf(item)
  } else if (isJsonObject(value)) {
    for (const name in value) {
      length++
      const inside = value[name]
      if (typeof inside === 'object') commas += commasOf(inside)
    }
  }
  return length === 0 ? 0 : commas + length - 1
}

const [QUOTE, BACKSLASH, BRACE, BRACKET, COMMA] = Array.from('"\\{[,', (sign) => sign.charCodeAt(0))

/**
 * A smaller body cannot have too many values: each value after the first of its container takes a
 * comma and a character.
 */
const SMALL_BYTES_MAX = bodyLimits.valuesMax

/**
 * Rejects a body that has too many values, before it is parsed.
 *
 * @param body JSON
 * @throws ApiError RequestEntityTooLarge
 */
export function checkJsonValues(body: Uint8Array, valuesMax: number = bodyLimits.valuesMax): void {
  if (body.byteLength > SMALL_BYTES_MAX && jsonValues(body) > valuesMax)
    throw tooManyValues('body', valuesMax)
}

/**
 * Returns how many members and elements a JSON text has; an empty object or list counts twice, as
 * it costs more to check than other values.
 */
export function jsonValues(body: Uint8Array): number {
  const { containers, commas } = jsonShape(body)
  return containers + commas
}

/** @param what the container of the values, for the message */
export function tooManyValues(
  what: 'body' | 'result of the patch' | 'object with its defaults',
  valuesMax: number = bodyLimits.valuesMax,
): ApiError {
  const counted = 'members and elements, of which empty objects and lists count twice'
  return tooLarge(`limit is ${valuesMax} values (${counted}), and the ${what} has more`)
}
