import type { Call } from '../calls/call.ts'
import type { Reply, Request } from '../calls/fastify-types.ts'
import { PacedWriter, hasCapacityFor, untilCapacityFor } from './paced-writer.ts'
import type { Compressor } from './compressor.ts'
import { JSON_TYPE, baseHeaders, sendBytes, writeHead, writePiece } from './wire.ts'
import type { ReplyHeaders } from './wire.ts'
import type { ErrorParts } from './error-reply.ts'
import { answerError, asApiError } from './error-reply.ts'

type Pieces = Iterable<Uint8Array> | AsyncIterable<Uint8Array>
type Puller = Iterator<Uint8Array> | AsyncIterator<Uint8Array>

type Sending = {
  /**
   * Headers in addition to those of `baseHeaders`, or instead of them. Unset: none, so the response
   * is JSON.
   */
  readonly headers?: ReplyHeaders
  /** Compresses for clients that accept it. Unset: never. */
  readonly compressor?: Compressor
}

/**
 * Sends a response piece by piece, and takes the pieces only as fast as the client reads them. One
 * of a single piece is sent with its length.
 */
export function answerPieces(
  pieces: Pieces,
  call: Call,
  request: Request,
  reply: Reply,
  parts: ErrorParts,
  sending: Sending = {},
): void {
  // At once: when the handler returns, fastify would end an unclaimed response as empty.
  reply.hijack()
  sendPieces(pieces, call, { request, reply, sending }).catch((error: unknown) => {
    if (!reply.raw.headersSent) answerError(error, request, reply, parts)
    else cutOff(error, call, parts)
  })
}

async function sendPieces(
  pieces: Pieces,
  call: Call,
  {
    request,
    reply,
    sending,
  }: { readonly request: Request; readonly reply: Reply; readonly sending: Sending },
): Promise<void> {
  const { headers, compressor } = sending
  if (compressor === undefined) return pump(pullerOf(pieces), call, { request, reply, more: headers ?? {} })
  const coded = await compressor.coded(pieces, request.raw.headers['accept-encoding'])
  return pump(pullerOf(coded.pieces), call, { request, reply, more: { ...headers, ...coded.headers } })
}

function pullerOf(pieces: Pieces): Puller {
  return Symbol.iterator in pieces ? pieces[Symbol.iterator]() : pieces[Symbol.asyncIterator]()
}

async function pump(puller: Puller, call: Call, to: Sink): Promise<void> {
  try {
    await pumped(puller, call, to)
  } finally {
    // Also after an error: the source of the pieces may hold resources for them.
    await puller.return?.()
  }
}

type Sink = { readonly request: Request; readonly reply: Reply; readonly more: ReplyHeaders }

async function pumped(puller: Puller, call: Call, { request, reply, more }: Sink): Promise<void> {
  const raw = reply.raw
  if (!hasCapacityFor(call)) await untilCapacityFor(call)
  const first = await puller.next()
  const second = first.done === true ? first : await puller.next()
  const headers = { ...baseHeaders(call, JSON_TYPE), ...more }
  if (second.done === true) {
    sendBytes(raw, call, request.method, 200, headers, first.done === true ? new Uint8Array(0) : first.value)
    return
  }
  if (raw.headersSent || raw.destroyed) return
  writeHead(raw, 200, headers)
  if (request.method === 'HEAD') {
    raw.end()
    return
  }
  const writer = new PacedWriter(call, { write: (bytes) => writePiece(raw, bytes), drains: raw })
  if (!writer.write(first.value as Uint8Array)) await writer.taken()
  let next: IteratorResult<Uint8Array, unknown> = second
  while (next.done !== true) {
    if (call.closed) return
    if (!writer.write(next.value)) await writer.taken()
    if (call.closed) return
    const pulled = puller.next()
    next = pulled instanceof Promise ? await pulled : pulled
  }
  raw.end()
}

/**
 * After the first byte no error can be sent: the aborted response shows the client that it is
 * incomplete.
 */
export function cutOff(error: unknown, call: Call, parts: ErrorParts): void {
  asApiError(error, call, parts)
  call.reply.destroy()
}
