import { badRequest } from '../../api/errors/standard-errors.ts'
import { isJsonObject } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import { ConfigError } from '../../config/errors.ts'
import type { Request } from '../calls/fastify-types.ts'

/**
 * Parses the body of a request, a JSON object.
 * @param fields the fields that it may have
 * @throws ApiError `BadRequest`
 */
export function jsonBody(request: Request, fields: readonly string[]): JsonObject {
  const { body } = request
  const text = Buffer.isBuffer(body) ? body.toString('utf8') : ''
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (cause) {
    throw badRequest('the body is not JSON', { cause })
  }
  if (!isJsonObject(parsed)) throw badRequest(`the body must be an object of ${fields.join(', ')}`)
  const strange = Object.keys(parsed).find((name) => !fields.includes(name))
  if (strange !== undefined) throw badRequest(`there is no field ${strange}: there are ${fields.join(', ')}`)
  return parsed
}

/**
 * Parses a field of a body.
 * @param parse parses its text; throws ConfigError
 * @throws ApiError `BadRequest` naming the field
 */
export function field<T>(name: string, value: unknown, parse: (text: string) => T): T {
  if (typeof value !== 'string') throw badRequest(`${name} must be a string`)
  try {
    return parse(value)
  } catch (cause) {
    if (cause instanceof ConfigError) throw badRequest(`${name} ${cause.message}`, { cause })
    throw cause
  }
}
