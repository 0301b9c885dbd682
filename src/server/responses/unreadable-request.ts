import type { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { ApiError } from '../../api/errors/api-error.ts'
import { badRequest } from '../../api/errors/standard-errors.ts'
import { httpCodeOfError, statusOf } from '../../api/errors/status.ts'
import { limits } from '../../config/limits.ts'
import { JSON_TYPE, sendError } from './wire.ts'

/** An error of Node's HTTP/1.1 parser. */
export type ParserError = Error & { readonly code?: string; readonly reason?: unknown }

/** The last request that was read from a connection, and its reply. */
export type Exchange = { readonly request: IncomingMessage; readonly reply: ServerResponse }

/**
 * Answers HTTP/1.1 bytes that the parser rejected, and closes the connection. Unless they are in
 * the body of a request, there is neither a request nor a reply for them. A broken connection gets
 * no answer.
 *
 * @param last null: no request was read yet
 */
export function answerUnreadable(error: ParserError, socket: Duplex, last: Exchange | null): void {
  // The parser reports every later byte, too.
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
    // An earlier request is being answered: bytes sent now would be taken for a part of that
    // response.
    socket.end(() => socket.destroy())
  } else {
    // The error is in the body of the current request.
    sendError(last.reply, null, last.request.method, refusal, { connection: 'close' })
    readPast(socket)
  }
}

/**
 * Answers a client that sends plain HTTP to the TLS port. OpenSSL recognizes the first bytes (of
 * GET, HEAD, POST and PUT) when it fails on them, so this costs other connections nothing.
 *
 * @param socket below TLS; Node closes it after the event of the failed handshake
 * @source the text of `net/http`, which upstream's server uses
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

/**
 * Reads and discards the rest of a request for a while: a client that is disconnected while it
 * sends may not read the response.
 * @source RFC 9112 section 9.6
 */
function readPast(socket: Duplex): void {
  let left = UNREAD_BYTES_MAX
  socket.on('data', (bytes: Buffer) => {
    left -= bytes.byteLength
    if (left < 0) socket.destroy()
  })
  socket.on('end', () => socket.destroy())
  if (socket instanceof Socket) socket.setTimeout(UNREAD_MS_MAX, () => socket.destroy())
}

/** Bytes and idle time after which the rest of a request is no longer read. */
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
  const code = httpCodeOfError(error)
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
