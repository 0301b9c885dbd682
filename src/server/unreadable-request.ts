import type { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { ApiError } from '../api/errors/api-error.ts'
import { badRequest } from '../api/errors/standard-errors.ts'
import { httpCodeOf, statusOf } from '../api/errors/status.ts'
import { limits } from '../config/limits.ts'
import { JSON_TYPE, sendError } from './wire.ts'

/** What Node's parser of HTTP/1.1 gave up with. */
export type ParserError = Error & { readonly code?: string; readonly reason?: unknown }

/** The last request that was read from a connection, and its reply. */
export type Exchange = { readonly request: IncomingMessage; readonly reply: ServerResponse }

/**
 * Answers on HTTP/1.1 what the parser gave up on, so that there is neither a request nor a reply; the connection ends
 * with it. Nobody is there to answer when the connection broke.
 *
 * @param last null: none was read yet
 */
export function answerUnreadable(error: ParserError, socket: Duplex, last: Exchange | null): void {
  // The parser complains again of all that comes behind.
  if (socket.destroyed || socket.writableEnded) return
  if (error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const refusal = refusalOf(error)
  if (last === null || last.reply.writableFinished) {
    socket.end(textOf(refusal))
    readPast(socket)
  } else if (last.request.complete || last.reply.headersSent) {
    // Behind a request that is being answered: words now would be taken for that answer, or for a part of it.
    socket.end(() => socket.destroy())
  } else {
    // Within its body.
    sendError(last.reply, null, last.request.method, refusal, { connection: 'close' })
    readPast(socket)
  }
}

/**
 * Tells a client that speaks HTTP where TLS is spoken. OpenSSL sees it by the first bytes (of GET, HEAD, POST and PUT)
 * when it gives up on them, so that other connections cost nothing for it.
 *
 * @param socket below TLS; closed by whoever gave up
 * @source `net/http`, which upstream is built on, in the same words
 */
export function answerWithoutTls(error: ParserError, socket: Socket): void {
  if (error.code !== 'ERR_SSL_HTTP_REQUEST' || !socket.writable) return
  const body = 'Client sent an HTTP request to an HTTPS server.\n'
  const head = [
    'HTTP/1.0 400 Bad Request',
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}

/** Cut off while it still sends, a client would not come to reading its answer. @source RFC 9112 section 9.6 */
function readPast(socket: Duplex): void {
  let left = UNREAD_BYTES_MAX
  socket.on('data', (bytes: Buffer) => {
    left -= bytes.byteLength
    if (left < 0) socket.destroy()
  })
  socket.on('end', () => socket.destroy())
  if (socket instanceof Socket) socket.setTimeout(UNREAD_MS_MAX, () => socket.destroy())
}

/** Bytes, and silence, after which a client is not listened to any more. */
const UNREAD_BYTES_MAX = 1024 * 1024
const UNREAD_MS_MAX = 1000

function refusalOf({ code, reason }: ParserError): ApiError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new ApiError(
        'RequestHeaderFieldsTooLarge',
        `the first line and the headers of a request may have ${limits.headerBytesMax} bytes together`,
      )
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ApiError('RequestTimeout', 'the request did not arrive in time')
    case 'HPE_INVALID_METHOD':
      return badRequest('the request does not begin with a method of HTTP/1.1')
    default: {
      const why = typeof reason === 'string' && reason !== '' ? `: ${reason}` : ''
      return badRequest(`the request is not HTTP/1.1${why}`)
    }
  }
}

function textOf(error: ApiError): string {
  const body = JSON.stringify(statusOf(error))
  const code = httpCodeOf(error.code)
  const head = [
    `HTTP/1.1 ${code} ${PHRASES.get(code) ?? 'Bad Request'}`,
    'Cache-Control: no-cache, private',
    `Content-Type: ${JSON_TYPE}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}

const PHRASES: ReadonlyMap<number, string> = new Map([
  [408, 'Request Timeout'],
  [431, 'Request Header Fields Too Large'],
])
