import type { EventEmitter } from 'node:events'
import type { WatchStream } from '../registry/answer.ts'
import { cutOff } from './answer-stream.ts'
import type { Call } from './call.ts'
import type { Reply, Request } from './fastify-types.ts'
import type { ErrorParts } from './plugins/errors.ts'
import { takenByClient } from './taken-by-client.ts'
import { baseHeaders, writeHead, writePiece } from './wire.ts'

/** Where the events of a watch go. */
export type WatchSink = {
  /** @returns false when the client should be given time to take what waits for it */
  readonly write: (events: Uint8Array) => boolean
  /** Tells with `drain` that there is room again. */
  readonly room: EventEmitter
  /** There is no more to come. Called once. @param drained this member goes, or must not serve: turn to another */
  readonly end: (drained: boolean) => void
}

type AnswerOf = { readonly request: Request; readonly reply: Reply; readonly contentType: string }

/** Sends a watch. @param contentType of its events */
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
  // The client must learn that the watch stands, even when nothing happens for long.
  if (!('stream' in raw)) raw.flushHeaders()
  const sink: WatchSink = {
    write: (events) => writePiece(raw, events),
    room: raw,
    end: () => {
      if (!raw.destroyed) raw.end()
    },
  }
  carryWatch(stream, call, sink, parts)
}

/** Carries a watch until it ends by itself, the client leaves, or the server drains. */
export function carryWatch(stream: WatchStream, call: Call, sink: WatchSink, parts: ErrorParts): void {
  call.audit?.streamStarted()
  let ended = false
  const end = (drained: boolean): void => {
    if (ended) return
    ended = true
    stream.close()
    sink.end(drained)
  }
  call.endStream = () => end(true)
  // The drain came while the verb was still at work, or the end of the caller's credentials.
  if (call.lastOnConnection || call.isRevoked) end(true)
  const turn = (): void => {
    try {
      while (!ended) {
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
  /** @returns whether to go on at once */
  const pass = (piece: Uint8Array | null): boolean => {
    if (piece === null) {
      end(false)
      return false
    }
    if (piece.byteLength === 0) {
      stream.onMore(turn)
      return false
    }
    if (sink.write(piece)) return true
    takenByClient(call, sink.room).then(turn, failed)
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
