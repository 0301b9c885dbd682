import type { ApiError } from '../errors/api-error.ts'
import { badRequest, tooLarge } from '../errors/standard-errors.ts'
import type { Json, JsonObject } from '../json.ts'
import { isJsonList, isJsonObject } from '../json.ts'
import { bodyLimits } from '../limits.ts'
import { jsonErrorPlace, placeWords } from './json-error.ts'
import { mayHaveFractions, NO_FRACTIONS, parseExactly, parseSpelled } from './json-exact.ts'
import type { Spelled } from './json-exact.ts'
import { tooManyValues } from './value-count.ts'

/** Deep enough for any schema, shallow enough for every recursive function of the server. */
export const JSON_DEPTH_MAX = 200

/**
 * Parses a request body. The caller has limited its length. Integers keep all digits; a lone
 * surrogate becomes U+FFFD.
 *
 * @throws ApiError BadRequest: not JSON, too deep, or a number beyond what a double can hold
 */
export function parseJson(text: string): Json {
  return parsedBody(text, parseChecked)
}

/** Like `parseJsonObject`, and also returns the numbers that are spelled as fractions. */
export function parseSpelledObject(text: string): Spelled & { readonly value: JsonObject } {
  const { value, fractions } = parsedBody(text, checkedSpelling)
  return { value: requireObject(value), fractions }
}

function checkedSpelling(text: string): Spelled {
  const value: unknown = JSON.parse(text)
  const isExact = checkTree(value, 1) && !SURROGATE.test(text)
  // This slow pass finds the fractions and, like `parseExactly`, keeps all digits.
  if (mayHaveFractions(text)) return parseSpelled(text)
  return { value: isExact ? (value as Json) : parseExactly(text), fractions: NO_FRACTIONS }
}

function parsedBody<T>(text: string, parse: (text: string) => T): T {
  try {
    return parse(text)
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause
    // The message of `JSON.parse` is not used: it quotes the text around the error, which may be a
    // password.
    throw badRequest(`couldn't parse the body as JSON: syntax error at ${placeWords(jsonErrorPlace(text))}`)
  }
}

/** Like `parseJson`, but throws SyntaxError for invalid JSON. */
export function parseChecked(text: string): Json {
  const value: unknown = JSON.parse(text)
  const isExact = checkTree(value, 1)
  return isExact && !SURROGATE.test(text) ? (value as Json) : parseExactly(text)
}

/**
 * In text that was UTF-8, lone surrogates can only be escapes. Most escapes are parts of proper
 * pairs, which stay.
 */
const SURROGATE = /\\u[dD][89a-fA-F]/

/** Parses text that this server wrote, such as stored objects, without checks. */
export function parseOwnJson(text: string): Json {
  return mayLoseDigits(text) ? parseExactly(text) : (JSON.parse(text) as Json)
}

/**
 * Returns whether the text may contain an integer beyond 2^53: a run of at least `DIGITS_MIN`
 * digits. Of any `DIGITS_MIN` consecutive positions one is checked, so no such run is missed.
 */
export function mayLoseDigits(text: string): boolean {
  for (let at = DIGITS_MIN - 1; at < text.length; at += DIGITS_MIN) {
    if (!isDigit(text, at)) continue
    let [from, to] = [at, at + 1]
    while (isDigit(text, from - 1) && to - from < DIGITS_MIN) from--
    while (isDigit(text, to) && to - from < DIGITS_MIN) to++
    if (to - from === DIGITS_MIN) return true
  }
  return false
}

/** 2^53 has sixteen digits. */
const DIGITS_MIN = 16

function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return code >= 0x30 && code <= 0x39
}

/** @throws ApiError BadRequest: as `parseJson`, or not an object */
export function parseJsonObject(text: string): JsonObject {
  return requireObject(parseJson(text))
}

function requireObject(value: Json): JsonObject {
  if (!isJsonObject(value)) throw badRequest(`the body must be a JSON object, not ${nameOfType(value)}`)
  return value
}

/** Returns the type name for messages: `array`, `string`, ... */
export function nameOfType(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'bigint') return 'number'
  return typeof value
}

/**
 * Rejects a value that no request body could contain but a patch can build: nested too deep, with
 * too many values, or larger than any object.
 *
 * @param current the object before the patch. Defaults may have given it more values than a body
 * may have; a patch can still change such an object
 * @throws ApiError BadRequest: too deep; RequestEntityTooLarge
 */
export function checkBuilt(value: Json, current: Json = null): void {
  checkTree(value, 1)
  const values = builtValues(value)
  if (values <= bodyLimits.valuesMax) return
  const valuesMax = Math.max(bodyLimits.valuesMax, builtValues(current) + bodyLimits.valuesAddedMax)
  if (values > valuesMax) throw tooManyValues('result of the patch', valuesMax)
}

function builtValues(value: Json): number {
  const built = { length: 0, values: 0 }
  addBuilt(value, built)
  return built.values
}

/**
 * A lower bound of the length of the JSON text, in characters, and the number of values, counted
 * like those of bodies.
 */
type Built = { length: number; values: number }

/** @param built the counts so far, to which this value is added */
function addBuilt(value: Json, built: Built): void {
  built.length += typeof value === 'string' ? value.length + 2 : 1
  if (isJsonObject(value)) {
    const names = Object.keys(value)
    built.values += Math.max(names.length, 1)
    for (const name of names) {
      built.length += name.length + NAME_SIGNS
      addBuilt(value[name] as Json, built)
    }
  } else if (isJsonList(value)) {
    built.values += Math.max(value.length, 1)
    for (const item of value) {
      built.length++
      addBuilt(item, built)
    }
  }
  if (built.length > BUILT_LENGTH_MAX) {
    throw tooLarge(`the result of the patch has more than ${BUILT_LENGTH_MAX} characters`)
  }
}

/** Two quotes, a colon and a comma. */
const NAME_SIGNS = 4
/** Above the limit of the store, which counts bytes and names the limit in its error. */
const BUILT_LENGTH_MAX = 4 * 1024 * 1024

export function tooDeep(): ApiError {
  return badRequest(`exceeded the nesting depth of ${JSON_DEPTH_MAX}`)
}

/**
 * Returns the depth of a member. `metadata.managedFields` repeats the fields of the object some
 * levels further down: an object as deep as allowed must be readable with its managers.
 */
export function depthWithin(depth: number, name: string): number {
  return depth === 2 && name === 'managedFields' ? depth + 1 - MANAGERS_DEPTH : depth + 1
}

/**
 * The levels of `metadata`, `managedFields`, the entry, `fieldsV1`, and the empty object that each
 * field without members has there.
 */
const MANAGERS_DEPTH = 5

/**
 * Checks depth and numbers. `JSON.parse` may have lost digits of a number beyond 2^53, so storing
 * it could change what the client sent.
 *
 * @returns false if there is such a number; the text must then be parsed by `parseExactly`
 * @throws ApiError BadRequest: too deep
 */
export function checkTree(value: unknown, depth: number): boolean {
  if (typeof value === 'number') {
    return Number.isSafeInteger(value) || (Number.isFinite(value) && !Number.isInteger(value))
  }
  if (typeof value !== 'object' || value === null) return true
  if (depth > JSON_DEPTH_MAX) throw tooDeep()
  let isExact = true
  if (Array.isArray(value)) {
    for (const item of value) if (!checkTree(item, depth + 1)) isExact = false
  } else {
    for (const name in value)
      if (!checkTree((value as JsonObject)[name], depthWithin(depth, name))) isExact = false
  }
  return isExact
}
