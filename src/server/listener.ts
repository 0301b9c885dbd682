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
import { QueuedReplies } from './queued-replies.ts'
import { defaultTlsPolicy } from './tls-policy.ts'
import type { TlsPolicy, TlsFiles } from './tls-policy.ts'
import { originForm } from './request-target.ts'
import { answerUnreadable, answerWithoutTls } from './unreadable-request.ts'
import type { Exchange, ParserError } from './unreadable-request.ts'
import type { WebSocketUpgrade } from './websocket-watch.ts'
import { sendError } from './wire.ts'
import type { RawRequest, RawReply, RawServer, RawHandler } from './raw-http.ts'

export type ListenerOptions = {
  readonly tls: TlsFiles | null
  /** Unset: `defaultTlsPolicy`. */
  readonly tlsPolicy?: TlsPolicy
  readonly protocols: 'http2-and-http1' | 'http1'
  readonly clock: Pick<Clock, 'soon'>
}

/** The socket side: accepts connections in the protocols wanted, knows them all, and can close them. */
export class Listener {
  readonly server: RawServer
  readonly #policy: TlsPolicy
  readonly #sockets = new Set<Socket>()
  /** The same by where they come from: that much of them is known above TLS, too. */
  readonly #origins = new Map<string, Socket>()
  readonly #sessions = new Set<ServerHttp2Session>()
  readonly #upgrades = new WeakMap<RawRequest, WebSocketUpgrade>()
  /** Of each connection of HTTP/1.1. */
  readonly #exchanges = new WeakMap<Duplex, Exchange>()
  readonly #queued: QueuedReplies

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
      const below = this.#origins.get(originOf(socket))
      if (below !== undefined) answerWithoutTls(error, below)
    })
    this.server.on('secureConnection', deliverThroughStream)
    this.server.on('session', (session: ServerHttp2Session) => {
      this.#sessions.add(session)
      session.on('close', () => this.#sessions.delete(session))
      // A session that breaks ends its streams; there is nobody to tell.
      session.on('error', () => undefined)
    })
  }

  /** Hands every request to `handler`, but those for a tunnel. */
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
    // A client that asks first is told to go on only when it may write; see `plugins/bodies.ts`.
    this.server.on('checkContinue', take)
    this.server.on('checkExpectation', refuseExpectation)
    // HTTP/2 brings a reply, HTTP/1.1 a connection.
    this.server.on('connect', (request: http.IncomingMessage, to: Duplex | http2.Http2ServerResponse) => {
      if (!('stream' in to)) to.on('error', () => undefined)
      const reply = 'stream' in to ? to : replyOn(request, to)
      if (reply !== null) sendError(reply, null, request.method, refuseTunnel())
    })
    // With `Upgrade` in a request its connection is given away; one that stays with HTTP is answered and ends.
    this.server.on('upgrade', (request: http.IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on('error', () => undefined)
      const reply = replyOn(request, socket)
      if (reply === null) return
      this.#upgrades.set(request, { socket, head })
      take(request, reply)
    })
    return this.server
  }

  /** Answers what could not be read as a request. */
  refuse(error: ParserError, socket: Duplex): void {
    answerUnreadable(error, socket, this.#exchanges.get(socket) ?? null)
  }

  /** The connection of a request that asked for an upgrade; null: it asked for none. */
  upgradeOf(request: RawRequest): WebSocketUpgrade | null {
    return this.#upgrades.get(request) ?? null
  }

  /** New connections are shown the new certificate. */
  reload(tls: TlsFiles): void {
    if ('setSecureContext' in this.server) this.server.setSecureContext(contextOf(tls, this.#policy))
  }

  /** No new connections, and HTTP/2 clients are told to go elsewhere with their next request. */
  stopAccepting(): void {
    this.server.close()
    for (const session of this.#sessions) session.close()
    if ('closeIdleConnections' in this.server) this.server.closeIdleConnections()
  }

  /** Whoever is still there is cut off. */
  destroy(): void {
    for (const session of this.#sessions) session.destroy()
    for (const socket of this.#sockets) socket.destroy()
  }
}

/** One connection at a time comes from there. */
function originOf({ remoteAddress = '', remotePort = 0 }: Socket): string {
  return `${remotePort} ${remoteAddress}`
}

/** @returns null when an earlier request of the connection waits for its answer: the connection is cut */
function replyOn(request: http.IncomingMessage, socket: Duplex): http.ServerResponse | null {
  const reply = new http.ServerResponse(request)
  reply.shouldKeepAlive = false
  try {
    // What carries an upgrade is what carried the request: a socket, which the declared type conceals.
    reply.assignSocket(socket as Socket)
  } catch {
    socket.destroy()
    return null
  }
  reply.on('finish', () => socket.end(() => socket.destroy()))
  return reply
}

/** @source RFC 9110 section 10.1.1: the only expectation there is, is that for 100. */
function refuseExpectation(request: RawRequest, reply: RawReply): void {
  const refusal = new ApiError('ExpectationFailed', 'the only expectation that can be met is 100-continue')
  sendError(reply, null, request.method, refusal, { connection: 'close' })
}

function serverOf(options: ListenerOptions, policy: TlsPolicy): RawServer {
  const { tls } = options
  if (tls === null) return http.createServer({ ...CONNECTION, ...HTTP1 })
  const secure = {
    ...CONNECTION,
    ...contextOf(tls, policy),
    requestCert: tls.clientAuthorities !== null,
    // Others may come without a certificate, or with one that proves nothing: authentication decides.
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
      // The default of 64 KiB makes a client of a long request body wait after every 64 KiB.
      initialWindowSize: STREAM_WINDOW_BYTES,
    },
  })
  // Node looks for them here, but does not put them here as the other servers do (seen with 20.20 and 24.21).
  return Object.assign(server, HTTP1)
}

/**
 * Node hands what TLS decrypts straight to the HTTP/1.1 parser, past the stream and so past its pausing: when
 * an answer still waits to be sent and the next request's body comes in several records, the paused parser is
 * fed and gives up with `HPE_PAUSED` (seen with 20.20). A listener for data makes the bytes take the way
 * through the stream. HTTP/2 sessions own their socket and are left alone.
 */
function deliverThroughStream(socket: TLSSocket): void {
  if (socket.alpnProtocol !== 'h2') socket.on('data', () => undefined)
}

const STREAM_WINDOW_BYTES = 1024 * 1024

const CONNECTION = {
  noDelay: true,
  // Finds clients that went away without a word, under a watch that has nothing to send.
  keepAlive: true,
  keepAliveInitialDelay: 30_000,
} as const

const HTTP1 = {
  maxHeaderSize: limits.headerBytesMax,
  headersTimeout: 20_000,
  requestTimeout: limits.requestMsMax,
  keepAliveTimeout: 120_000,
  // `beginCalls` tells of it in a `Status`.
  requireHostHeader: false,
} as const

function contextOf(tls: TlsFiles, { minVersion, ciphers }: TlsPolicy): SecureContextOptions {
  const { clientAuthorities } = tls
  return {
    cert: tls.certificate,
    key: tls.key,
    minVersion,
    // A ticket keeps only the first of the client's certificates: of a resumed session nobody could verify the chain.
    // Who renegotiates could become somebody else in the middle of a connection.
    secureOptions: constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION,
    ...(ciphers === null ? {} : { ciphers: ciphers.join(':'), honorCipherOrder: true }),
    // TLS shall verify nobody: authentication does, by the bundle in force, and of a client that TLS has verified Node 24
    // (24.21) tells no intermediate certificates.
    ...(clientAuthorities === null ? {} : { ca: [] }),
  }
}
