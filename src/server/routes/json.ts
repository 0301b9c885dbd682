import { mustAcceptJson } from '../accept.ts'
import { callOf } from '../fastify-types.ts'
import type { Reply, Request } from '../fastify-types.ts'
import { laidOut } from '../pretty.ts'
import { JSON_TYPE, baseHeaders, sendBytes } from '../wire.ts'

/** Sends a small document the server made itself. @throws ApiError `NotAcceptable` */
export function sendJson(request: Request, reply: Reply, bytes: Uint8Array, code = 200): void {
  mustAcceptJson(request.raw.headers.accept)
  const call = callOf(request)
  reply.hijack()
  sendBytes(reply.raw, call, request.method, code, baseHeaders(call, JSON_TYPE), laidOut(call, bytes))
}

export function jsonBytes(value: unknown): Uint8Array {
  return Buffer.from(`${JSON.stringify(value)}\n`)
}
