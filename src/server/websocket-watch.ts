import type { Duplex } from 'node:stream'
import type { WatchStream } from '../registry/calls/verb.ts'
import type { WantedObjects } from './accept.ts'
import { carryWatch } from './answer-watch.ts'
import type { Call } from './call.ts'
import { FrameReader, closeFrame, eventFrames, pongFrame } from './websocket-frames.ts'
import type { ClientFrame } from './websocket-frames.ts'
import { baseHeaders, writeHead } from './wire.ts'
import type { ErrorParts } from './error-reply.ts'

/** A request that asked for a WebSocket, and the connection it came on. */
export type WebSocketUpgrade = {
  readonly socket: Duplex
  /** What the client sent behind the request already. */
  readonly head: Uint8Array
}

/**
 * Sends a watch as one message an event, text but for protobuf. The client has nothing to say but pings and that it leaves; messages it
 * sends are skipped, as upstream does.
 *
 * @param accept as the handshake demands it
 * @param protocol that was offered; null: none
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
    // From here on the client has to close, too; who does not is cut off like one that does not read.
    call.noteBlocked()
  }
  carryWatch(
    stream,
    call,
    {
      framed: (events) => eventFrames(events, encoding),
      write: (bytes) => socket.write(bytes),
      room: socket,
      end: (drained) => end(drained ? 1001 : 1000),
    },
    parts,
  )
  listen(socket, head, (frame) => {
    switch (frame.kind) {
      case 'ping':
        // Who pings and does not read is not answered, so that nothing piles up for it.
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
  // A client that leaves without a word.
  socket.on('end', () => socket.end())
  take(head)
}
