import { badRequest } from '../api-errors.ts'
import type { Json, JsonObject } from '../json.ts'
import { isJsonObject } from '../json.ts'

/** Deep enough for any schema, shallow enough for every recursive walk here. */
export const JSON_DEPTH_MAX = 200

/**
 * Parses a request body. The caller has bounded its length.
 *
 * @throws ApiError BadRequest: not JSON, too deep, or a whole number that would lose digits
 */
export function parseJson(text: string): Json {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw badRequest(`couldn't parse the body as JSON: ${words(cause)}`, { cause })
  }
  checkTree(value, 1)
  return value as Json
}

/** @throws ApiError BadRequest: as `parseJson`, or not an object */
export function parseJsonObject(text: string): JsonObject {
  const value = parseJson(text)
  if (!isJsonObject(value)) throw badRequest(`the body must be a JSON object, not ${nameOfType(value)}`)
  return value
}

/** `array`, `string`, … as messages name them. */
export function nameOfType(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'boolean') return 'bool'
  return typeof value
}

/**
 * A number beyond 2^53 has already lost digits when the parser hands it over; storing it would change what
 * the client said, so it is refused.
 *
 * @throws ApiError BadRequest
 */
export function checkTree(value: unknown, depth: number): void {
  if (typeof value === 'number') {
    if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) {
      throw badRequest(`number ${value} is outside the range that is kept exactly`)
    }
    return
  }
  if (typeof value !== 'object' || value === null) return
  if (depth > JSON_DEPTH_MAX) throw badRequest(`exceeded the nesting depth of ${JSON_DEPTH_MAX}`)
  if (Array.isArray(value)) {
    for (const item of value) checkTree(item, depth + 1)
    return
  }
  for (const name in value) checkTree((value as JsonObject)[name], depth + 1)
}

function words(cause: unknown): string {
  return cause instanceof Error ? cause.message.slice(0, 200) : 'unknown'
}
