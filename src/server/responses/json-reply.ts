import { mustAcceptJson } from '../http/accept.ts'
import { callOf } from '../calls/fastify-types.ts'
import type { Reply, Request } from '../calls/fastify-types.ts'
import { laidOut, wantsPretty } from './pretty.ts'
import { sendDocument } from './static-document.ts'
import type { StaticDocument } from './static-document.ts'
import { JSON_TYPE, baseHeaders, sendBytes } from './wire.ts'

/**
 * Sends a small document made by the server.
 * @throws ApiError `NotAcceptable`
 */
export function sendJson(request: Request, reply: Reply, bytes: Uint8Array, code = 200): void {
  mustAcceptJson(request.raw.headers.accept)
  const call = callOf(request)
  reply.hijack()
  sendBytes(reply.raw, call, request.method, code, baseHeaders(call, JSON_TYPE), laidOut(call, 'json', bytes))
}

/**
 * Sends a cached document. A pretty-printed one has other bytes, and no ETag.
 * @throws ApiError `NotAcceptable`
 */
export function sendJsonDocument(request: Request, reply: Reply, document: StaticDocument): void {
  if (wantsPretty(callOf(request))) {
    sendJson(request, reply, document.bytes)
    return
  }
  mustAcceptJson(request.raw.headers.accept)
  sendDocument(request, reply, document, JSON_TYPE)
}

export function jsonBytes(value: unknown): Uint8Array {
  return Buffer.from(`${JSON.stringify(value)}\n`)
}
