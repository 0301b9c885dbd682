import type { NoRoute } from './no-route.ts'
import type { ServerLog } from '../calls/server-log.ts'
import type { Reply, Request } from '../calls/fastify-types.ts'
import { sendError, baseHeaders, JSON_TYPE, sendBytes } from './wire.ts'
import { ApiError } from '../../api/errors/api-error.ts'
import {
  internal,
  badRequest,
  pathNotFound,
  tooLarge,
  unsupportedMediaType,
} from '../../api/errors/standard-errors.ts'
import { jsonText } from '../../api/codec/json-text.ts'
import { statusOf } from '../../api/errors/status.ts'
import type { RawReply } from '../http/raw-http.ts'
import { BrokenInvariant } from '../../../base/assert.ts'
import { apiErrorOf } from '../../registry/shared/store-error-mapping.ts'
import type { Call } from '../calls/call.ts'
import type { FastifyError } from 'fastify'
import { BODY_TYPES } from '../../api/media-type.ts'

export type ErrorParts = {
  readonly log: ServerLog
  readonly requestBytesMax: number
  readonly crash: (broken: Error) => void
  readonly noRoute: NoRoute
}

export function answerError(error: unknown, request: Request, reply: Reply, parts: ErrorParts): void {
  const call = request.call ?? null
  // The router does not look up methods that Node's HTTP/1.1 parser does not know.
  const isUnrouted = isFastifyError(error) && error.code === 'FST_ERR_NOT_FOUND'
  const apiError = isUnrouted ? noRoute(request, parts) : asApiError(error, call, parts)
  reply.hijack()
  // The unread rest of a body would be taken for the next request of the connection.
  const unread = apiError.code === 'RequestEntityTooLarge' || apiError.code === 'UnsupportedMediaType'
  try {
    sendError(reply.raw, call, request.method, apiError, unread ? { connection: 'close' } : {})
  } catch (cause) {
    parts.log.error({ err: cause, request: call?.id, path: call?.info.path }, 'an error could not be sent')
    sendLastResort(reply.raw)
  }
}

/** There is a call unless the method is not an HTTP/1.1 method. */
export function noRoute({ call, url }: Request, parts: ErrorParts): ApiError {
  return parts.noRoute.refusal(call?.info ?? null, url)
}

/**
 * The response if an error cannot be sent; it does not depend on the request. Without it, the
 * client would wait until the time is up.
 */
const LAST_RESORT = Buffer.from(jsonText(statusOf(internal('the error of this request could not be sent'))))

function sendLastResort(reply: RawReply): void {
  try {
    sendBytes(reply, null, undefined, 500, baseHeaders(null, JSON_TYPE), LAST_RESORT)
  } catch {
    reply.destroy()
  }
}

/**
 * Returns the error that the caller may see; the rest is logged under the id that the caller sees.
 */
export function asApiError(error: unknown, call: Call | null, parts: ErrorParts): ApiError {
  const translated = apiErrorOf(error)
  if (translated instanceof ApiError) return translated
  const known = isFastifyError(error) ? ofFastify(error, parts) : null
  if (known !== null) return known
  const id = call?.id ?? ''
  call?.audit?.broke()
  parts.log.error({ err: error, request: id, path: call?.info.path }, 'request failed unexpectedly')
  if (error instanceof BrokenInvariant) parts.crash(error)
  return internal(`unexpected; details are in the server's log under request ${JSON.stringify(id)}`)
}

function ofFastify(error: FastifyError, parts: ErrorParts): ApiError | null {
  switch (error.code) {
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_ASYNC_CONSTRAINT':
      return badRequest('invalid URL escape in the path')
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return tooLarge(`limit is ${parts.requestBytesMax}`)
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return unsupportedMediaType(BODY_TYPES.map(({ type }) => type))
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return badRequest('the body is not as long as Content-Length states')
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return pathNotFound()
    default:
      return error.statusCode === 400 ? unreadBody(error.code) : null
  }
}

/**
 * Fastify reports every failure of reading a body as 400, but only its own errors are about the
 * request. All others (the time was up, perhaps because this thread was busy; a connection or a
 * stream broke) are not the client's fault.
 */
function unreadBody(code: string | undefined): ApiError {
  return code?.startsWith('FST_') === true
    ? badRequest('the request could not be read')
    : new ApiError('RequestTimeout', 'the body did not arrive completely; send the request again')
}

function isFastifyError(error: unknown): error is FastifyError {
  return error instanceof Error && 'statusCode' in error
}
