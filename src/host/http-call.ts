import { request as httpRequest } from 'node:http'
import type { Agent, ClientRequest, IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { RequestOptions } from 'node:https'
import type { Cancellation } from './cancellation.ts'

type Call = {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly body: Uint8Array | null
  /** A longer response is an error. */
  readonly responseBytesMax: number
}

export type HttpCall = Call & {
  readonly headers: Readonly<Record<string, string | number | string[]>>
  /** Ends the call; a timeout is reported as such. */
  readonly signal: AbortSignal
  /** Reuses connections and holds the TLS keys. Unset: this call opens a connection of its own. */
  readonly agent?: Agent
  /**
   * For a call without an agent; keys and certificates are PEM. Unset: the authorities that Node.js
   * trusts, no client certificate.
   */
  readonly tls?: {
    readonly ca?: string
    readonly cert?: string
    readonly key?: string
    readonly servername?: string
    readonly rejectUnauthorized?: boolean
  }
}

export type HttpResult =
  | { readonly kind: 'response'; readonly status: number; readonly body: Buffer }
  | {
      readonly kind: 'failed'
      readonly reason: HttpFailureReason
      /** One line, without credentials. */
      readonly why: string
      /** Code of the system or of TLS; empty: none. */
      readonly code: string
      /** The connection had served an earlier call, so the server may just have closed it. */
      readonly wasReused: boolean
      readonly phase: HttpPhase
    }

/**
 * - `dns`: the name of the server is not known
 * - `connect`: there is no connection
 * - `tls`: the server or this client was not accepted
 * - `reset`: the connection ended before the response was complete
 * - `timeout`: no complete response in time
 * - `too-large`: the response is longer than allowed
 * - `other`: any other failure
 */
export type HttpFailureReason = 'dns' | 'connect' | 'tls' | 'reset' | 'timeout' | 'too-large' | 'other'

/** Sends one request and receives the whole response, within limits. Never rejects. */
export async function httpCall(url: URL, call: HttpCall): Promise<HttpResult> {
  const { method, body, agent, tls, signal } = call
  const length = body === null ? {} : { 'content-length': body.byteLength }
  const headers = { ...call.headers, ...length }
  const send = url.protocol === 'http:' ? httpRequest : httpsRequest
  const outgoing = send(url, { ...tls, method, headers, signal, agent: agent ?? false })
  return wholeResponse(outgoing, call, { isSecure: url.protocol === 'https:', pending: null })
}

/** The server of many calls. */
export type HttpServer = {
  readonly isSecure: boolean
  /** A name, or an address without brackets. */
  readonly host: string
  readonly port: number
  /** Has connections to this server only. */
  readonly agent: Agent
}

/** One of many calls of the same server. */
export type PooledCall = Call & {
  readonly path: string
  /** Names and values in turn, with `host` and without `content-length`. */
  readonly headers: readonly string[]
  /** Ends the call; a timeout is reported as such. */
  readonly cancellation: Cancellation
}

/**
 * A connection that an agent takes time to make for one call, such as through a proxy. Node.js ends
 * a call without a connection only when the agent has made or given up the connection.
 */
export class PendingConnection {
  #giveUp: ((cause: Error) => void) | null = null

  /** @param giveUp ends the attempt to connect */
  begin(giveUp: (cause: Error) => void): void {
    this.#giveUp = giveUp
  }

  /** Called when the connection is made. */
  end(): void {
    this.#giveUp = null
  }

  /** Whether the agent is connecting, or failed to. */
  get hasBegun(): boolean {
    return this.#giveUp !== null
  }

  abandon(cause: Error): void {
    this.#giveUp?.(cause)
  }
}

/** The options with which an agent makes a connection. */
export type ConnectionOptions = RequestOptions & {
  /** Unset: the call waits as long as the agent does. */
  readonly pending?: PendingConnection
}

/**
 * Does what `httpCall` does with less CPU time: it has no URL to parse, no header names to
 * compare, and no AbortSignal.
 */
export async function pooledCall(server: HttpServer, call: PooledCall): Promise<HttpResult> {
  const { isSecure, host, port, agent } = server
  const { method, path, body, cancellation } = call
  const length = body === null ? [] : ['content-length', String(body.byteLength)]
  const headers = [...call.headers, ...length]
  const pending = new PendingConnection()
  const options: ConnectionOptions = { host, port, path, method, headers, agent, pending }
  const outgoing = (isSecure ? httpsRequest : httpRequest)(options)
  const ended = wholeResponse(outgoing, call, { isSecure, pending })
  cancellation.onCancel((cause) => {
    outgoing.destroy(cause)
    pending.abandon(cause)
  })
  const result = await ended
  cancellation.onCancel(null)
  return result
}

/** How the connection of a call is made. */
export type HttpConnection = {
  readonly isSecure: boolean
  /** null: the agent does not report the connection that it makes. */
  readonly pending: PendingConnection | null
}

function wholeResponse(
  outgoing: ClientRequest,
  { body, responseBytesMax }: Call,
  connection: HttpConnection,
): Promise<HttpResult> {
  return new Promise((resolve) => {
    const phase = followPhase(outgoing, connection)
    const fail = (cause: Error): void => resolve(httpFailureOf(cause, outgoing.reusedSocket, phase()))
    outgoing.on('error', fail)
    // Without a listener, Node.js closes the connection and reports nothing.
    outgoing.on('upgrade', (_, socket) => {
      socket.destroy()
      fail(new Error('the server answers 101: it changes the protocol, which it was not asked for'))
    })
    outgoing.on('response', (incoming: IncomingMessage) => {
      const chunks: Buffer[] = []
      let bytes = 0
      incoming.on('data', (chunk: Buffer) => {
        bytes += chunk.byteLength
        if (bytes > responseBytesMax) outgoing.destroy(new ResponseTooLarge())
        else chunks.push(chunk)
      })
      incoming.on('error', fail)
      incoming.on('end', () =>
        resolve({ kind: 'response', status: incoming.statusCode ?? 0, body: joined(chunks) }),
      )
    })
    outgoing.end(body ?? undefined)
  })
}

function joined(chunks: readonly Buffer[]): Buffer {
  const [first] = chunks
  return chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks)
}

class ResponseTooLarge extends Error {
  constructor() {
    super('the response is too large')
  }
}

/** Where a call was when it failed: waiting for a free connection, for DNS, and so on. */
export type HttpPhase = 'queue' | 'dns' | 'connect' | 'tls' | 'response'

/** Follows a request, to report where it was when it failed. */
export function followPhase(outgoing: ClientRequest, { isSecure, pending }: HttpConnection): () => HttpPhase {
  let phase: HttpPhase = 'queue'
  outgoing.once('socket', (socket) => {
    // A reused connection, or one through a proxy.
    if (!socket.connecting) {
      phase = 'response'
      return
    }
    phase = 'dns'
    socket.once('lookup', () => (phase = 'connect'))
    socket.once('connect', () => (phase = isSecure ? 'tls' : 'response'))
    socket.once('secureConnect', () => (phase = 'response'))
  })
  return () => (phase === 'queue' && pending?.hasBegun === true ? 'connect' : phase)
}

/** Returns the result of a call that ended before it was sent. */
export function failureInQueue(cause: Error): HttpResult {
  return httpFailureOf(cause, false, 'queue')
}

/** Returns the result of a call that ended with an error. */
export function httpFailureOf(cause: Error, wasReused: boolean, phase: HttpPhase): HttpResult {
  const code = 'code' in cause ? String(cause.code) : ''
  const line = cause.message.split('\n')[0]?.slice(0, WHY_CHARACTERS_MAX)
  const isLate = isTimeout(cause) || isTimeout(cause.cause)
  const why = isLate
    ? 'no response in time'
    : handshakeWords(cause.message, code) || line || code || cause.name
  const reason = isLate ? 'timeout' : cause instanceof ResponseTooLarge ? 'too-large' : reasonOf(code)
  return { kind: 'failed', reason, why, code, wasReused, phase }
}

function isTimeout(cause: unknown): boolean {
  return cause instanceof Error && cause.name === 'TimeoutError'
}

const WHY_CHARACTERS_MAX = 200

/** Returns the reason in an error of OpenSSL, without addresses and files; empty: it is another. */
function handshakeWords(message: string, code: string): string {
  if (code !== 'EPROTO' && !code.startsWith('ERR_SSL')) return ''
  const reason = /:SSL routines:[^:]*:([^:]+):/.exec(message)?.[1] ?? ''
  if (!NO_TLS.has(reason)) return reason
  return 'first record does not look like a TLS handshake: the server does not use TLS on this port'
}

/** OpenSSL finds one of these in the answer of a server without TLS. */
const NO_TLS: ReadonlySet<string> = new Set([
  ...['wrong version number', 'packet length too long', 'http request', 'unknown protocol'],
])

const REASONS: Readonly<Record<string, HttpFailureReason>> = {
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
  ECONNREFUSED: 'connect',
  EHOSTUNREACH: 'connect',
  ENETUNREACH: 'connect',
  ETIMEDOUT: 'connect',
  EPROXY: 'connect',
  // OpenSSL: the server does not use TLS, or ended the handshake.
  EPROTO: 'tls',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
}

/** Codes of OpenSSL for certificates, such as `CERT_HAS_EXPIRED`, have no prefix of their own. */
const TLS_CODE = /^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|HOSTNAME_MISMATCH|INVALID_)/

function reasonOf(code: string): HttpFailureReason {
  return REASONS[code] ?? (TLS_CODE.test(code) ? 'tls' : 'other')
}
