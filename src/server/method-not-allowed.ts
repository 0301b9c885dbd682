import type { ApiError } from '../api/api-error.ts'
import type { Call } from './call.ts'
import type { Reply } from './fastify-types.ts'
import { sendError } from './wire.ts'

/** A 405, which must name what is allowed. @source RFC 9110 section 15.5.6 */
export function sendMethodNotAllowed(
  reply: Reply,
  call: Call,
  method: string,
  allowed: readonly string[],
  error: ApiError,
): void {
  reply.hijack()
  sendError(reply.raw, call, method, error, { allow: allowed.join(', ') })
}
