import type { IncomingMessage } from 'node:http'
import type { Call } from '../calls/call.ts'
import type { RawReply } from '../http/raw-http.ts'
import { PacedWriter } from '../responses/paced-writer.ts'
import { writeHead, writePiece } from '../responses/wire.ts'
import type { ReplyHeaders } from '../responses/wire.ts'

/**
 * Passes the response of a backend on, as fast as the client reads it. If it ends early, the
 * connection of the client (with HTTP/2: the stream) is destroyed, which shows that the response is
 * incomplete. The same happens if the caller loses its credentials or a permission.
 *
 * @param isStream whether the response may never end: it is then ended when this server drains
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
  const isBodiless = call.raw.method === 'HEAD' || BODILESS.has(of.code)
  // A length without a body confuses clients of HTTP/2, and proxies.
  if (of.code === 204 || of.code === 205) delete of.headers['content-length']
  writeHead(raw, of.code, of.headers)
  call.audit?.streamStarted()
  if (isBodiless) {
    response.destroy()
    raw.end()
    return
  }
  // A stream may have nothing to send for long.
  if (!('stream' in raw)) raw.flushHeaders()
  call.endStream = () => {
    if (of.isStream || call.isRevoked) cut(response, call)
  }
  if (call.lastOnConnection || call.isRevoked) call.endStream()
  const writer = new PacedWriter(call, { write: (bytes) => writePiece(raw, bytes), drains: raw })
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

/** Codes of responses without a body. @source RFC 9110 section 15 */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304])

function cut(response: IncomingMessage, call: Call): void {
  response.destroy()
  call.reply.destroy()
}
