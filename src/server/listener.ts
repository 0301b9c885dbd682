import { constants } from 'node:crypto'
import * as http from 'node:http'
import * as http2 from 'node:http2'
import type { ServerHttp2Session } from 'node:http2'
import * as https from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { SecureContextOptions, TLSSocket } from 'node:tls'
import type { Clock } from '../../base/clock.ts'
import { ApiError } from '../api/errors/api-error.ts'
import { limits } from '../config/limits.ts'
import { defaultTlsPolicy } from './http/tls-policy.ts'
import type { TlsPolicy, TlsFiles } from './http/tls-policy.ts'
import { originForm } from './http/request-info.ts'
import { answerUnreadable, answerWithoutTls } from './responses/unreadable-request.ts'
import type { Exchange, ParserError } from './responses/unreadable-request.ts'
import type { WebSocketUpgrade } from './responses/websocket-watch.ts'
import { sendError } from './responses/wire.ts'
import type { RawRequest, RawReply, RawServer, RawHandler } from './http/raw-http.ts'
import type { ServerResponse } from 'node:http'

export type ListenerOptions = {
  readonly tls: TlsFiles | null
  /** Unset: `defaultTlsPolicy`. */
  readonly tlsPolicy?: TlsPolicy
  readonly protocols: 'http2-and-http1' | 'http1'
  readonly clock: Pick<Clock, 'soon'>
}

/** The socket side of the server: accepts connections, tracks them all, and can close them. */
export class Listener {
  readonly server: RawServer
  readonly #policy: TlsPolicy
  readonly #sockets = new Set<Socket>()
  /** The same connections by remote address and port, which TLS sockets have, too. */
  readonly #origins = new Map<string, Socket>()
  readonly #sessions = new Set<ServerHttp2Session>()
  readonly #upgrades = new WeakMap<RawRequest, WebSocketUpgrade>()
  /** The last request of each HTTP/1.1 connection, and its reply. */
  readonly #exchanges = new WeakMap<Duplex, Exchange>()
  readonly #queued: QueuedReplies
  #handshakeErrors = 0

  constructor(options: ListenerOptions) {
    this.#policy = options.tlsPolicy ?? defaultTlsPolicy
    this.#queued = new QueuedReplies(options.clock)
    this.server = serverOf(options, this.#policy)
    this.server.maxConnections = limits.connectionsMax
    this.server.on('connection', (socket: Socket) => {
      const origin = originOf(socket)
      this.#sockets.add(socket)
      this.#origins.set(origin, socket)
      socket.on('close', () => {
        this.#sockets.delete(socket)
        if (this.#origins.get(origin) === socket) this.#origins.delete(origin)
      })
    })
    this.server.on('tlsClientError', (error: ParserError, socket: TLSSocket) => {
      this.#handshakeErrors++
      const below = this.#origins.get(originOf(socket))
      if (below !== undefined) answerWithoutTls(error, below)
    })
    this.server.on('secureConnection', deliverThroughStream)
    this.server.on('session', (session: ServerHttp2Session) => {
      this.#sessions.add(session)
      session.on('close', () => this.#sessions.delete(session))
      // A broken session ends its streams; there is nothing else to do.
      session.on('error', () => undefined)
    })
  }

  /** Connections that ended with an error before their TLS handshake was complete. */
  get handshakeErrors(): number {
    return this.#handshakeErrors
  }

  /**
   * Passes every request to `handler`, with two exceptions: `CONNECT` gets the error of
   * `refuseTunnel`, and an unknown expectation gets 417.
   */
  handle(handler: RawHandler, refuseTunnel: () => ApiError): RawServer {
    const take: RawHandler = (request, reply) => {
      if (!('stream' in request || 'stream' in reply)) {
        this.#exchanges.set(request.socket, { request, reply })
        this.#queued.began(request.socket, reply)
      }
      request.url = originForm(request.url ?? '/')
      handler(request, reply)
    }
    this.server.on('request', take)
    // A client that sends `Expect` gets 100 only when it may write; see `plugins/bodies.ts`.
    this.server.on('checkContinue', take)
    this.server.on('checkExpectation', refuseExpectation)
    // The argument is a reply for HTTP/2, a connection for HTTP/1.1.
    this.server.on('connect', (request: http.IncomingMessage, to: Duplex | http2.Http2ServerResponse) => {
      if (!('stream' in to)) to.on('error', () => undefined)
      const reply = 'stream' in to ? to : replyOn(request, to)
      if (reply !== null) sendError(reply, null, request.method, refuseTunnel())
    })
    // A request with `Upgrade` takes over its connection. If the protocol is not changed, the
    // connection ends after the response.
    this.server.on('upgrade', (request: http.IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on('error', () => undefined)
      const reply = replyOn(request, socket)
      if (reply === null) return
      this.#upgrades.set(request, { socket, head })
      take(request, reply)
    })
    return this.server
  }

  /** Answers bytes that could not be parsed as a request. */
  refuse(error: ParserError, socket: Duplex): void {
    answerUnreadable(error, socket, this.#exchanges.get(socket) ?? null)
  }

  /** Returns the connection of a request with `Upgrade`, or null. */
  upgradeOf(request: RawRequest): WebSocketUpgrade | null {
    return this.#upgrades.get(request) ?? null
  }

  /** New connections use the new certificate and key. */
  reload(tls: TlsFiles): void {
    if ('setSecureContext' in this.server) this.server.setSecureContext(contextOf(tls, this.#policy))
  }

  /** Accepts no new connections, sends GOAWAY to HTTP/2 clients, and closes idle connections. */
  stopAccepting(): void {
    this.server.close()
    for (const session of this.#sessions) session.close()
    if ('closeIdleConnections' in this.server) this.server.closeIdleConnections()
  }

  /** Closes the remaining connections. */
  destroy(): void {
    for (const session of this.#sessions) session.destroy()
    for (const socket of this.#sockets) socket.destroy()
  }
}

/** Identifies a connection: a remote address and port has one at a time. */
function originOf({ remoteAddress = '', remotePort = 0 }: Socket): string {
  return `${remotePort} ${remoteAddress}`
}

/**
 * @returns null when an earlier request of the connection has no response yet: the connection is
 * closed
 */
function replyOn(request: http.IncomingMessage, socket: Duplex): http.ServerResponse | null {
  const reply = new http.ServerResponse(request)
  reply.shouldKeepAlive = false
  try {
    // `socket` is the socket of the request, although its declared type is more general.
    reply.assignSocket(socket as Socket)
  } catch {
    socket.destroy()
    return null
  }
  reply.on('finish', () => socket.end(() => socket.destroy()))
  return reply
}

/** @source RFC 9110 section 10.1.1: 100-continue is the only expectation that is defined */
function refuseExpectation(request: RawRequest, reply: RawReply): void {
  const refusal = new ApiError('ExpectationFailed', 'the only expectation that can be met is 100-continue')
  sendError(reply, null, request.method, refusal, { connection: 'close' })
}

function serverOf(options: ListenerOptions, policy: TlsPolicy): RawServer {
  return Object.assign(serverOfProtocols(options, policy), EVERY_HEADER)
}

/**
 * Node drops the headers of HTTP/1.1 after the first thousand without an error (seen with 20.20). A
 * proxy that adds `Impersonate-User` after the headers of its client would then act as itself.
 * Instead of their number, the bytes of headers are limited.
 */
const EVERY_HEADER = { maxHeadersCount: 0 } as const

function serverOfProtocols(options: ListenerOptions, policy: TlsPolicy): RawServer {
  const { tls } = options
  if (tls === null) return http.createServer({ ...CONNECTION, ...HTTP1 })
  const secure = {
    ...CONNECTION,
    ...contextOf(tls, policy),
    requestCert: requestsCertificates(tls),
    // Clients may connect without a certificate, or with an untrusted one: authentication decides.
    rejectUnauthorized: false,
    handshakeTimeout: 10_000,
  }
  if (options.protocols === 'http1') return https.createServer({ ...secure, ...HTTP1 })
  const server = http2.createSecureServer({
    ...secure,
    allowHTTP1: true,
    maxSessionMemory: limits.sessionMemoryMbMax,
    settings: {
      maxConcurrentStreams: limits.streamsPerConnectionMax,
      maxHeaderListSize: limits.headerBytesMax,
      // With the default of 64 KiB a client waits after every 64 KiB of a long body.
      initialWindowSize: STREAM_WINDOW_BYTES,
    },
  })
  // Node reads these properties of an HTTP/2 server, too, but does not set them from its options as
  // it does for other servers (seen with 20.20 and 24.21).
  return Object.assign(server, HTTP1)
}

/**
 * Node passes decrypted bytes straight to the HTTP/1.1 parser, around the stream and its pausing:
 * when a response is still being sent and the next request's body arrives in several records, the
 * paused parser receives data and fails with `HPE_PAUSED` (seen with 20.20). A data listener routes
 * the bytes through the stream. HTTP/2 sessions own their socket and are left alone.
 */
function deliverThroughStream(socket: TLSSocket): void {
  if (socket.alpnProtocol !== 'h2') socket.on('data', () => undefined)
}

const STREAM_WINDOW_BYTES = 1024 * 1024

const CONNECTION = {
  noDelay: true,
  // Detects clients that disappeared, under a watch that has nothing to send.
  keepAlive: true,
  keepAliveInitialDelay: 30_000,
} as const

const HTTP1 = {
  maxHeaderSize: limits.headerBytesMax,
  headersTimeout: 20_000,
  requestTimeout: limits.requestMsMax,
  keepAliveTimeout: 120_000,
  // `beginCalls` checks the header, and reports an error in a `Status`.
  requireHostHeader: false,
} as const

function contextOf(tls: TlsFiles, { minVersion, ciphers }: TlsPolicy): SecureContextOptions {
  return {
    cert: tls.certificate,
    key: tls.key,
    minVersion,
    // A ticket contains only the first of the client's certificates: the chain of a resumed session
    // could not be verified. A client that renegotiates could change its identity within a
    // connection.
    secureOptions: constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION,
    ...(ciphers === null ? {} : { ciphers: ciphers.join(':'), honorCipherOrder: true }),
    // TLS verifies no client: authentication does, with the current bundle, and Node 24 (24.21)
    // does not return the intermediate certificates of a client that TLS has verified.
    ...(requestsCertificates(tls) ? { ca: [] } : {}),
  }
}

function requestsCertificates({ clientAuthorities, proxyAuthorities = null }: TlsFiles): boolean {
  return clientAuthorities !== null || proxyAuthorities !== null
}

/**
 * Ends pipelined HTTP/1.1 replies that are queued behind another reply when their connection
 * breaks. Node up to 22 (seen with 20.20 and 22.23, not with 24.21) emits `close` only on the reply
 * that is being sent, so resources released on the `close` of a queued reply would be held for
 * ever.
 *
 * Bounded by the connections: Node stops reading requests from a connection whose replies are not
 * read.
 */
class QueuedReplies {
  readonly #clock: Pick<Clock, 'soon'>
  readonly #byConnection = new WeakMap<Socket, Set<ServerResponse>>()

  constructor(clock: Pick<Clock, 'soon'>) {
    this.#clock = clock
  }

  /** Called for each request of a connection. */
  began(connection: Socket, reply: ServerResponse): void {
    // Not queued: Node has assigned the connection to it.
    if (reply.socket !== null) return
    let replies = this.#byConnection.get(connection)
    if (replies === undefined) {
      const queued = new Set<ServerResponse>()
      this.#byConnection.set(connection, queued)
      // In a later turn, after Node has emitted its own events.
      connection.once('close', () => this.#clock.soon(() => end(queued)))
      replies = queued
    }
    replies.add(reply)
    reply.once('close', () => replies.delete(reply))
  }
}

function end(queued: ReadonlySet<ServerResponse>): void {
  for (const reply of [...queued]) {
    reply.destroy()
    reply.emit('close')
  }
}
