import type { Duplex } from 'node:stream'
import type { WatchStream } from '../../registry/calls/verb.ts'
import type { WantedObjects } from '../http/accept.ts'
import { carryWatch } from './answer-watch.ts'
import type { Call } from '../calls/call.ts'
import { FrameReader, closeFrame, eventFrames, pongFrame } from '../http/websocket-frames.ts'
import type { ClientFrame } from '../http/websocket-frames.ts'
import { baseHeaders, writeHead } from './wire.ts'
import type { ErrorParts } from './error-reply.ts'

/** The connection of a request with `Upgrade`. */
export type WebSocketUpgrade = {
  readonly socket: Duplex
  /** Bytes that the client has already sent after the request. */
  readonly head: Uint8Array
}

/**
 * Sends a watch as one message per event: text, or binary for protobuf. A client only sends pings
 * and a close; its messages are skipped, as upstream does.
 *
 * @param accept value of `Sec-WebSocket-Accept`
 * @param protocol the accepted subprotocol; null: none
 */
export function answerWebSocket(
  stream: WatchStream,
  call: Call,
  of: WantedObjects & {
    readonly upgrade: WebSocketUpgrade
    readonly accept: string
    readonly protocol: string | null
  },
  parts: ErrorParts,
): void {
  const { socket, head } = of.upgrade
  const { reply } = call
  const { encoding } = of.representation
  if (call.closed || reply.headersSent || socket.destroyed || 'stream' in reply) {
    stream.close()
    return
  }
  writeHead(reply, 101, {
    ...baseHeaders(call, of.contentType),
    upgrade: 'websocket',
    connection: 'Upgrade',
    'sec-websocket-accept': of.accept,
    ...(of.protocol === null ? {} : { 'sec-websocket-protocol': of.protocol }),
  })
  reply.flushHeaders()
  const end = (code: Parameters<typeof closeFrame>[0]): void => {
    if (!socket.writable) return
    socket.end(closeFrame(code))
    // From here on the client has to close, too; otherwise it is disconnected like one that does
    // not read.
    call.noteBlocked()
  }
  carryWatch(
    stream,
    call,
    {
      framed: (events) => eventFrames(events, encoding),
      write: (bytes) => socket.write(bytes),
      drains: socket,
      end: (drained) => end(drained ? 1001 : 1000),
    },
    parts,
  )
  listen(socket, head, (frame) => {
    switch (frame.kind) {
      case 'ping':
        // No pong for a client that does not read, so that nothing accumulates.
        if (socket.writable && !socket.writableNeedDrain) socket.write(pongFrame(frame.payload))
        return
      case 'close':
        end(1000)
        stream.close()
        return
      case 'broken':
        end(frame.code)
        stream.close()
    }
  })
}

function listen(socket: Duplex, head: Uint8Array, handle: (frame: ClientFrame) => void): void {
  const reader = new FrameReader()
  const take = (bytes: Uint8Array): void => {
    for (const frame of reader.read(bytes)) handle(frame)
  }
  socket.on('data', take)
  // A client that disconnects without a close frame.
  socket.on('end', () => socket.end())
  take(head)
}
