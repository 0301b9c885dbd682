import type { IncomingMessage } from 'node:http'
import type { Call } from '../calls/call.ts'
import type { RawReply } from '../http/raw-http.ts'
import { PacedWriter } from '../responses/paced-writer.ts'
import { writeHead, writePiece } from '../responses/wire.ts'
import type { ReplyHeaders } from '../responses/wire.ts'

/**
 * Passes the response of a backend on, as fast as the client reads it. One that ends early ends the
 * connection of the client, too, which shows that it is incomplete.
 *
 * @param isStream it may never end: it ends when this server drains, or with the permission
 */
export async function passOn(
  response: IncomingMessage,
  call: Call,
  of: { readonly code: number; readonly headers: ReplyHeaders; readonly isStream: boolean },
): Promise<void> {
  const raw: RawReply = call.reply
  if (call.closed || raw.headersSent || raw.destroyed) {
    response.destroy()
    return
  }
  raw.once('close', () => response.destroy())
  writeHead(raw, of.code, of.headers)
  call.audit?.streamStarted()
  if (call.raw.method === 'HEAD') {
    response.destroy()
    raw.end()
    return
  }
  // A stream may have nothing to send for long.
  if (!('stream' in raw)) raw.flushHeaders()
  if (of.isStream) {
    call.endStream = () => cut(response, call)
    if (call.lastOnConnection || call.isRevoked) call.endStream()
  }
  const writer = new PacedWriter(call, { write: (bytes) => writePiece(raw, bytes), room: raw })
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      if (!writer.write(chunk)) await writer.taken()
      if (call.closed) return
    }
    if (response.complete) raw.end()
    else cut(response, call)
  } catch {
    cut(response, call)
  }
}

function cut(response: IncomingMessage, call: Call): void {
  response.destroy()
  call.reply.destroy()
}
