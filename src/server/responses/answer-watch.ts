import { constants } from 'node:http2'
import type { ApiError } from '../../api/errors/api-error.ts'
import { tooManyRequests } from '../../api/errors/standard-errors.ts'
import type { WatchStream } from '../../registry/calls/verb.ts'
import { cutOff } from './answer-stream.ts'
import type { Call } from '../calls/call.ts'
import type { Reply, Request } from '../calls/fastify-types.ts'
import { PacedWriter, hasCapacityFor, untilCapacityFor } from './paced-writer.ts'
import type { ByteSink } from './paced-writer.ts'
import { baseHeaders, writeHead, writePiece } from './wire.ts'
import type { ErrorParts } from './error-reply.ts'

/** The destination of the events of a watch. */
export type WatchSink = ByteSink & {
  /** Frames whole events for the connection. */
  readonly framed: (events: Uint8Array) => Uint8Array
  /**
   * Ends the stream. Called once, or not at all if the connection is cut.
   * @param drained whether this member ended the stream: it shuts down, must not serve, or the
   * caller lost its credentials or a permission; false: the stream ended itself, or its client did
   * not read
   */
  readonly end: (drained: boolean) => void
}

type AnswerOf = { readonly request: Request; readonly reply: Reply; readonly contentType: string }

/**
 * Sends a watch.
 * @param contentType of its events
 */
export function answerWatch(
  stream: WatchStream,
  call: Call,
  { request, reply, contentType }: AnswerOf,
  parts: ErrorParts,
): void {
  const raw = reply.raw
  reply.hijack()
  if (call.closed || raw.headersSent || raw.destroyed) {
    stream.close()
    return
  }
  writeHead(raw, 200, baseHeaders(call, contentType))
  if (request.method === 'HEAD') {
    stream.close()
    raw.end()
    return
  }
  // The client must see that the watch is established, even if no event follows for long.
  if (!('stream' in raw)) raw.flushHeaders()
  const sink: WatchSink = {
    framed: (events) => events,
    write: (bytes) => writePiece(raw, bytes),
    drains: raw,
    end: () => {
      if (!raw.destroyed) raw.end()
    },
  }
  carryWatch(stream, call, sink, parts)
}

/**
 * Sends the events of a watch until it ends, the client disconnects or does not read, or this
 * member ends it.
 */
export function carryWatch(stream: WatchStream, call: Call, sink: WatchSink, parts: ErrorParts): void {
  call.audit?.streamStarted()
  const writer = new PacedWriter(call, sink)
  let ended = false
  const end = (drained: boolean): void => {
    if (ended) return
    ended = true
    stream.close()
    sink.end(drained)
  }
  call.endStream = () => end(true)
  call.endSlow = () => {
    // After the end no error can be sent.
    if (ended || writer.unsent > 0) {
      ended = true
      stream.close()
      cutConnection(call)
      return
    }
    ended = true
    writer.write(sink.framed(stream.fail(unread())))
    sink.end(false)
    // The client gets some time to read the error.
    call.noteTaken()
  }
  // The server began to drain, or the call was revoked, while the verb was at work.
  if (call.lastOnConnection || call.isRevoked) end(true)
  const turn = (): void => {
    try {
      while (!ended) {
        if (!hasCapacityFor(call)) {
          untilCapacityFor(call).then(turn, failed)
          return
        }
        const next = stream.next()
        if (next instanceof Promise) {
          next.then(taken, failed)
          return
        }
        if (!pass(next)) return
      }
    } catch (error) {
      failed(error)
    }
  }
  /** Returns whether to continue at once. */
  const pass = (piece: Uint8Array | null): boolean => {
    if (piece === null) {
      end(false)
      return false
    }
    if (piece.byteLength === 0) {
      stream.onMore(turn)
      return false
    }
    if (writer.write(sink.framed(piece))) return true
    writer.taken().then(turn, failed)
    return false
  }
  const taken = (piece: Uint8Array | null): void => {
    if (!ended && pass(piece)) turn()
  }
  const failed = (error: unknown): void => {
    ended = true
    stream.close()
    cutOff(error, call, parts)
  }
  turn()
}

/**
 * Clients resume after the last event they received.
 * @source client-go `tools/cache/reflector.go`: a 429 in a watch is retried
 */
function unread(): ApiError {
  return tooManyRequests(
    1,
    'the events of this watch were not read: resume after the last one, and read faster',
  )
}

/** In the middle of an event only the protocol can report an error. */
function cutConnection({ reply }: Call): void {
  if ('stream' in reply) reply.stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM)
  reply.destroy()
}
