import { constants } from 'node:http2'
import type { ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { ApiError } from '../../api/errors/api-error.ts'
import { encodeDocument } from '../../api/codec/document.ts'
import { statusSchema } from '../../api/schema/shared.ts'
import { httpCodeOfError, statusOf } from '../../api/errors/status.ts'
import { consistencyText } from '../../registry/calls/consistency.ts'
import { errorEncodingWanted } from '../http/accept.ts'
import type { Call } from '../calls/call.ts'
import { PacedWriter } from './paced-writer.ts'
import { laidOut } from './pretty.ts'
import type { RawReply } from '../http/raw-http.ts'

export const JSON_TYPE = 'application/json'
const TEXT_TYPE = 'text/plain; charset=utf-8'

/**
 * Longer responses are sent as fast as the client reads them, so that the buffered bytes stay
 * bounded.
 */
const CHUNK_BYTES = 64 * 1024

export type ReplyHeaders = Record<string, string | number | readonly string[]>

/** Returns the headers of a response of this server itself, not of one that it passes on. */
export function baseHeaders(call: Call | null, contentType: string): ReplyHeaders {
  const headers: ReplyHeaders = { 'cache-control': 'no-cache, private', 'content-type': contentType }
  if (call !== null) {
    headers['audit-id'] = call.id
    if (call.warnings !== null) headers['warning'] = call.warnings
    if (call.proof !== null) headers['orch-consistency'] = consistencyText(call.proof, call.member)
    if (call.isReplayed) headers['idempotency-replayed'] = 'true'
    const timing = call.serverTiming()
    if (timing !== null) headers['server-timing'] = timing
    if (call.lastOnConnection) headers['connection'] = 'close'
  }
  return headers
}

/** Sends a whole response. Does nothing when one was begun already, or the connection is closed. */
export function sendBytes(
  reply: RawReply,
  call: Call | null,
  method: string | undefined,
  code: number,
  headers: ReplyHeaders,
  bytes: Uint8Array,
): void {
  if (reply.headersSent || reply.destroyed) return
  // A 304 would have to state the length of the body that it omits.
  if (code !== 304) headers['content-length'] = bytes.byteLength
  closeWhenAnswered(reply)
  writeHead(reply, code, headers)
  if (method === 'HEAD' || bytes.byteLength === 0) reply.end()
  else if (!('stream' in reply) && headers['connection'] === 'close' && !reply.req.complete) {
    endWhenRead(reply, bytes)
  } else if (call !== null && bytes.byteLength > CHUNK_BYTES) void sendPaced(reply, call, bytes)
  else {
    if (call !== null) call.sentBytes += bytes.byteLength
    reply.end(bytes)
  }
}

export function sendText(
  reply: RawReply,
  call: Call | null,
  method: string | undefined,
  code: number,
  text: string,
): void {
  const headers = baseHeaders(call, TEXT_TYPE)
  headers['x-content-type-options'] = 'nosniff'
  sendBytes(reply, call, method, code, headers, Buffer.from(text))
}

/** Sends an error as a `Status`, in an encoding that the client accepts. */
export function sendError(
  reply: RawReply,
  call: Call | null,
  method: string | undefined,
  error: ApiError,
  extra: ReplyHeaders = {},
): void {
  const { encoding, contentType } = errorEncodingWanted(call?.raw.headers.accept)
  const headers = { ...baseHeaders(call, contentType), ...extra }
  // NotFound is the only error that is the result of a read.
  if (error.code !== 'NotFound') delete headers['orch-consistency']
  const { retryAfterSeconds, allow } = error.details
  if (allow !== undefined) headers['allow'] = allow.join(', ')
  if (retryAfterSeconds !== undefined) headers['retry-after'] = retryAfterSeconds
  if (error.code === 'Unauthorized') headers['www-authenticate'] = 'Bearer'
  if (!reply.headersSent) call?.audit?.refused(error)
  const bytes = encodeDocument(encoding, statusSchema, statusOf(error))
  sendBytes(reply, call, method, httpCodeOfError(error), headers, laidOut(call, encoding, bytes))
}

/**
 * Closes an HTTP/2 stream soon after its response, even if the body of the request has not arrived
 * completely: the client may continue to send, or wait for ever, and the stream would stay open.
 * Over HTTP/1.1, the connection ends instead.
 *
 * @source RFC 9113 section 8.1
 */
function closeWhenAnswered(reply: RawReply): void {
  if (!('stream' in reply)) return
  const { stream } = reply
  if (stream.endAfterHeaders || stream.readableEnded) return
  // A Go client that sees the end of the stream while it reads the response reports the end instead
  // of the response. So the rest of the request is read and discarded for a while.
  stream.once('finish', () => {
    stream.resume()
    stream.setTimeout(UNREAD_BODY_MS_MAX, () => stream.close(constants.NGHTTP2_NO_ERROR))
    let left = UNREAD_BODY_BYTES_MAX
    stream.on('data', (bytes: Buffer) => {
      left -= bytes.byteLength
      if (left < 0) stream.close(constants.NGHTTP2_NO_ERROR)
    })
  })
}

/**
 * Sends a response over HTTP/1.1 before the body of the request has arrived, and ends the
 * connection once the client had time to read it: a client that is disconnected while it sends
 * would not read the response. The whole response is sent at once.
 *
 * @source RFC 9112 section 9.6
 */
function endWhenRead(reply: ServerResponse, bytes: Uint8Array): void {
  const { req: request, socket } = reply
  if (!(socket instanceof Socket)) {
    reply.end(bytes)
    return
  }
  const end = (): void => {
    reply.end()
  }
  let left = UNREAD_BODY_BYTES_MAX
  request.on('data', (piece: Buffer) => {
    left -= piece.byteLength
    if (left < 0) end()
  })
  request.once('end', end).once('close', end).resume()
  socket.setTimeout(UNREAD_BODY_MS_MAX, end)
  reply.write(bytes)
}

/** Idle time and bytes after which the rest of a request is no longer read. */
const UNREAD_BODY_MS_MAX = 1000
const UNREAD_BODY_BYTES_MAX = 16 * 1024 * 1024

/**
 * Writes the status and the headers. Replies of HTTP/1.1 and HTTP/2 have the same `writeHead`, but
 * the union of their types cannot be called. HTTP/2 has no header `connection`.
 */
export function writeHead(reply: RawReply, code: number, headers: ReplyHeaders): void {
  if ('stream' in reply) {
    delete headers['connection']
    reply.writeHead(code, headers as Record<string, string | number | string[]>)
  } else reply.writeHead(code, headers as Record<string, string | number | string[]>)
}

/** @returns false when the buffer is full: the next piece should wait for `drain` */
export function writePiece(reply: RawReply, piece: Uint8Array): boolean {
  return 'stream' in reply ? reply.write(piece) : reply.write(piece)
}

async function sendPaced(reply: RawReply, call: Call, bytes: Uint8Array): Promise<void> {
  const writer = new PacedWriter(call, { write: (part) => writePiece(reply, part), drains: reply })
  if (!writer.write(bytes)) await writer.taken()
  if (!call.closed) reply.end()
}
