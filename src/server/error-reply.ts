import type { NoRoute } from './no-route.ts'
import type { ServerLog } from './server-log.ts'
import type { Reply, Request } from './fastify-types.ts'
import { sendError, baseHeaders, JSON_TYPE, sendBytes } from './wire.ts'
import { ApiError } from '../api/errors/api-error.ts'
import {
  internal,
  badRequest,
  pathNotFound,
  tooLarge,
  unsupportedMediaType,
} from '../api/errors/standard-errors.ts'
import { jsonText } from '../api/codec/json-text.ts'
import { statusOf } from '../api/errors/status.ts'
import type { RawReply } from './raw-http.ts'
import { BrokenInvariant } from '../../base/assert.ts'
import { apiErrorOf } from '../registry/shared/store-error-mapping.ts'
import type { Call } from './call.ts'
import type { FastifyError } from 'fastify'
import { BODY_TYPES } from '../api/media-type.ts'

export type ErrorParts = {
  readonly log: ServerLog
  readonly requestBytesMax: number
  readonly crash: (broken: Error) => void
  readonly noRoute: NoRoute
}

export function answerError(error: unknown, request: Request, reply: Reply, parts: ErrorParts): void {
  const call = request.call ?? null
  // For methods that Node's HTTP/1.1 does not know the router looks for nothing.
  const isUnrouted = isFastifyError(error) && error.code === 'FST_ERR_NOT_FOUND'
  const apiError = isUnrouted ? noRoute(request, parts) : asApiError(error, call, parts)
  reply.hijack()
  // A body that was not read to its end would be taken for the next request of the connection.
  const unread = apiError.code === 'RequestEntityTooLarge' || apiError.code === 'UnsupportedMediaType'
  try {
    sendError(reply.raw, call, request.method, apiError, unread ? { connection: 'close' } : {})
  } catch (cause) {
    parts.log.error({ err: cause, request: call?.id, path: call?.info.path }, 'an error could not be sent')
    sendLastResort(reply.raw)
  }
}

/** The hooks have run, but for methods that are not even of another protocol: then there is no call. */
export function noRoute({ call }: Request, parts: ErrorParts): ApiError {
  return parts.noRoute.refusal(call?.info ?? null)
}

/** Made of nothing that the request has a part in; without it the client would wait until its time is up. */
export const LAST_RESORT = Buffer.from(
  jsonText(statusOf(internal('the error of this request could not be sent'))),
)

export function sendLastResort(reply: RawReply): void {
  try {
    sendBytes(reply, null, undefined, 500, baseHeaders(null, JSON_TYPE), LAST_RESORT)
  } catch {
    reply.destroy()
  }
}

/** @returns what the caller may know; the rest goes to the log under the id the caller sees */
export function asApiError(error: unknown, call: Call | null, parts: ErrorParts): ApiError {
  const translated = apiErrorOf(error)
  if (translated instanceof ApiError) return translated
  const known = isFastifyError(error) ? ofFastify(error, parts) : null
  if (known !== null) return known
  const id = call?.id ?? ''
  call?.audit?.broke()
  parts.log.error({ err: error, request: id, path: call?.info.path }, 'request failed unexpectedly')
  if (error instanceof BrokenInvariant) parts.crash(error)
  return internal(`unexpected; the server's log says more under request ${JSON.stringify(id)}`)
}

export function ofFastify(error: FastifyError, parts: ErrorParts): ApiError | null {
  switch (error.code) {
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_ASYNC_CONSTRAINT':
      return badRequest('invalid URL escape in the path')
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return tooLarge(`limit is ${parts.requestBytesMax}`)
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return unsupportedMediaType(BODY_TYPES.map(({ type }) => type))
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return badRequest('the body is not as long as Content-Length says')
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return pathNotFound()
    default:
      return error.statusCode === 400 ? unreadBody(error.code) : null
  }
}

/**
 * Fastify calls whatever reading a body fails with a 400, but only what it says itself is about the request. All else (time
 * was up, perhaps because this thread was busy; a connection or a stream broke) is nothing that the client did wrong.
 */
export function unreadBody(code: string | undefined): ApiError {
  return code?.startsWith('FST_') === true
    ? badRequest('the request could not be read')
    : new ApiError('RequestTimeout', 'the body did not arrive to its end; send the request again')
}

export function isFastifyError(error: unknown): error is FastifyError {
  return error instanceof Error && 'statusCode' in error
}
