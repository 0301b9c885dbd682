import { validateHeaderValue } from 'node:http'
import type { AgentOptions } from 'node:https'
import { createSecureContext } from 'node:tls'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { limits } from '../config/limits.ts'
import { Cancellation } from '../host/cancellation.ts'
import { environment } from '../host/environment.ts'
import { failureInQueue, pooledCall } from '../host/http-call.ts'
import type { HttpFailureReason, HttpPhase, HttpResult, HttpServer } from '../host/http-call.ts'
import type { ClientConfig, ClientIdentity } from '../pki/client-config.ts'
import { CallSlots } from './call-slots.ts'
import { clientCertificateFiles } from './client-certificate-files.ts'
import { connectionsTo } from './connections.ts'
import { proxyFor } from './proxy.ts'
import type { RenewedCredentials } from './renewed-credentials.ts'
import { tokenFile } from './token-file.ts'

export type OutwardOptions = {
  /** Ms for a call with all its attempts and its time in the queue. Longer: `timeout`. */
  readonly callMsMax: number
  /** Connections to the server; further calls wait. */
  readonly connectionsMax: number
  /** Calls that wait for a connection. When full: `busy`. */
  readonly queueMax: number
  /** Attempts in total; 1: a failed call is not repeated. */
  readonly attemptsMax: number
  /**
   * `stale-connection`: repeats only a call whose connection had served another call and was
   * closed, so that the server has probably not seen it. Unset: also a call whose connection broke,
   * or that an overloaded server answered.
   */
  readonly repeats?: 'stale-connection'
  /** Never through a proxy. Unset: by the environment, see `proxyFor`. */
  readonly isDirect?: boolean
  /** Bytes of a response. Longer: `too-large`. */
  readonly responseBytesMax: number
}

export type OutwardDependencies = { readonly clock: Clock; readonly random: Random }

export type OutwardCall =
  | { readonly method: 'GET' }
  | {
      readonly method: 'POST'
      readonly body: Uint8Array
      /** Path and query on the server of the configuration. Unset: those of its URL. */
      readonly path?: string
      readonly headers?: Readonly<Record<string, string>>
      /** As in the options, if shorter. */
      readonly callMsMax?: number
    }

export type OutwardResult =
  | { readonly kind: 'response'; readonly status: number; readonly body: Buffer }
  | {
      readonly kind: 'failed'
      /** `busy`: too many calls wait. `closed`: this client was closed or retired. */
      readonly reason: HttpFailureReason | 'busy' | 'closed'
      /** One line, without credentials. */
      readonly why: string
      /** Where the last attempt was. Unset: there was none. */
      readonly phase?: HttpPhase
    }

export type OutwardFailure = Extract<OutwardResult, { readonly kind: 'failed' }>

/**
 * The client of one other server, for every call that this server makes to a webhook or a provider.
 * It keeps a bounded number of connections, follows no redirects, and, unless an option prevents
 * it, repeats a call whose connection broke or whose server is overloaded, with increasing delays.
 *
 * @source client-go `rest.Config`; apiserver `pkg/util/webhook/webhook.go`, `DefaultShouldRetry`
 */
export class OutwardClient {
  readonly #config: ClientConfig
  readonly #options: OutwardOptions
  readonly #dependencies: OutwardDependencies
  #server: HttpServer
  /** The earlier server, whose connections have an earlier client certificate. */
  #former: HttpServer | null = null
  readonly #path: string
  readonly #headers: readonly string[]
  readonly #token: RenewedCredentials<string> | null
  readonly #certificate: RenewedCredentials<ClientIdentity> | null
  #identity: ClientIdentity | null
  readonly #running = new Set<Cancellation>()
  readonly #slots: CallSlots
  #closed = false
  #retired = false

  /** @throws Error when certificates, key or credentials of the configuration cannot be used */
  constructor(config: ClientConfig, options: OutwardOptions, dependencies: OutwardDependencies) {
    this.#config = config
    this.#options = options
    this.#slots = new CallSlots(options.connectionsMax)
    this.#dependencies = dependencies
    const { url, authorization, identity } = config
    if (authorization !== null) validateHeaderValue('authorization', authorization)
    this.#token =
      config.tokenFile === null || authorization === null
        ? null
        : tokenFile(config.tokenFile, authorization, dependencies.clock)
    this.#identity = identity
    this.#certificate =
      identity?.files === undefined
        ? null
        : clientCertificateFiles(identity.files, identity, dependencies.clock)
    // Node.js takes a text without certificates for an empty list of authorities.
    if (config.authority?.includes('-----BEGIN ') === false) {
      throw new Error('unable to load root certificates: the CA bundle has no certificate in PEM')
    }
    // An invalid configuration should be found now.
    createSecureContext(tlsOf(config))
    this.#server = this.#serverWith(identity)
    this.#path = `${url.pathname}${url.search}`
    const user = authorization === null ? ownUser(url) : []
    this.#headers = ['host', url.host, 'accept', 'application/json', ...user]
  }

  /** Calls the server of the configuration. Never rejects. */
  async call(call: OutwardCall): Promise<OutwardResult> {
    const { connectionsMax, queueMax, callMsMax } = this.#options
    if (this.#retired) return retired
    if (this.#closed) return closed
    if (this.#running.size >= connectionsMax + queueMax) {
      return { kind: 'failed', reason: 'busy', why: `${this.#running.size} calls are in progress` }
    }
    const cancellation = new Cancellation()
    this.#running.add(cancellation)
    const ownMsMax = call.method === 'POST' ? (call.callMsMax ?? callMsMax) : callMsMax
    const timer = this.#dependencies.clock.after(Math.min(callMsMax, ownMsMax), () =>
      cancellation.cancel(new DOMException('no response in time', 'TimeoutError')),
    )
    try {
      return await this.#attempts(call, cancellation)
    } finally {
      timer.cancel()
      this.#running.delete(cancellation)
      if (this.#retired && this.#running.size === 0) this.close()
    }
  }

  /** Number of calls in progress. At 0, closing the client affects no call. */
  get inProgress(): number {
    return this.#running.size
  }

  /** Makes no further calls, and closes when those in progress have ended. */
  retire(): void {
    this.#retired = true
    if (this.#running.size === 0) this.close()
  }

  /** Ends all calls and connections. */
  close(): void {
    this.#closed = true
    for (const running of this.#running) running.cancel(new Error('this server shuts down'))
    this.#server.agent.destroy()
    this.#former?.agent.destroy()
  }

  #serverWith(identity: ClientIdentity | null): HttpServer {
    const { connectionsMax, isDirect } = this.#options
    const { url } = this.#config
    const agent = connectionsTo(url, {
      connectionsMax,
      idleMsMax: limits.outwardIdleMsMax,
      tunnelMsMax: limits.outwardTunnelMsMax,
      clock: this.#dependencies.clock,
      tls: tlsOf({ ...this.#config, identity }),
      proxy: isDirect === true ? null : proxyFor(url, environment()),
    })
    return serverOf(url, agent)
  }

  /** Opens new connections from now on if the certificate was renewed. Calls in progress go on. */
  async #renew(): Promise<void> {
    const identity = (await this.#certificate?.get()) ?? null
    if (identity === null || identity === this.#identity || this.#closed) return
    this.#identity = identity
    this.#former?.agent.destroy()
    this.#former = this.#server
    for (const sockets of Object.values(this.#former.agent.freeSockets))
      for (const socket of sockets ?? []) socket.destroy()
    this.#server = this.#serverWith(identity)
  }

  async #attempts(call: OutwardCall, cancellation: Cancellation): Promise<OutwardResult> {
    let delayMs = limits.outwardRetryMsMin
    for (let attempt = 1; ; attempt++) {
      const result = await this.#attempt(call, cancellation)
      if (this.#closed) return closed
      // The server may have closed the idle connection: the retry on a new one begins at once.
      const isStale =
        result.kind === 'failed' && result.wasReused && result.reason === 'reset' && attempt === 1
      const isRepeated = isStale || (this.#options.repeats === undefined && isTransient(result))
      if (attempt >= this.#options.attemptsMax || !isRepeated) return resultOf(result)
      if (!isStale) {
        const jitter = 1 + (this.#dependencies.random.below(1000) / 1000) * JITTER
        await this.#pause(delayMs * jitter, cancellation)
        delayMs *= RETRY_FACTOR
      }
    }
  }

  async #attempt(call: OutwardCall, cancellation: Cancellation): Promise<HttpResult> {
    const slots = this.#slots
    const cause = slots.tryAcquire() ? null : await slots.acquire(cancellation)
    if (cause !== null) return failureInQueue(cause)
    try {
      return await this.#send(call, cancellation)
    } finally {
      slots.release()
    }
  }

  async #send(call: OutwardCall, cancellation: Cancellation): Promise<HttpResult> {
    if (this.#certificate !== null) await this.#renew()
    const authorization = this.#token === null ? this.#config.authorization : await this.#token.get()
    const isPost = call.method === 'POST'
    const headers = [...this.#headers]
    if (authorization !== null) headers.push('authorization', authorization)
    if (isPost) headers.push('content-type', 'application/json', ...Object.entries(call.headers ?? {}).flat())
    return pooledCall(this.#server, {
      method: call.method,
      path: (isPost ? call.path : undefined) ?? this.#path,
      headers,
      body: isPost ? call.body : null,
      responseBytesMax: this.#options.responseBytesMax,
      cancellation,
    })
  }

  #pause(pauseMs: number, cancellation: Cancellation): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        timer.cancel()
        cancellation.onCancel(null)
        resolve()
      }
      const timer = this.#dependencies.clock.after(pauseMs, end)
      cancellation.onCancel(end)
    })
  }
}

/** Returns the credentials in a URL as a header. */
function ownUser({ username, password }: URL): readonly string[] {
  if (username === '' && password === '') return []
  const words = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return ['authorization', `Basic ${Buffer.from(words).toString('base64')}`]
}

function serverOf(url: URL, agent: HttpServer['agent']): HttpServer {
  const isSecure = url.protocol === 'https:'
  const port = url.port === '' ? (isSecure ? 443 : 80) : Number(url.port)
  return { isSecure, host: url.hostname.replace(/^\[|\]$/g, ''), port, agent }
}

/** As upstream: each delay is 1.5 times the previous one, plus up to 20 % of jitter. */
const RETRY_FACTOR = 1.5
const JITTER = 0.2

const closed: OutwardResult = Object.freeze({
  kind: 'failed',
  reason: 'closed',
  why: 'this server shuts down',
})

const retired: OutwardResult = Object.freeze({
  kind: 'failed',
  reason: 'closed',
  why: 'the connections to this server were replaced or given up: try again',
})

function tlsOf({ authority, identity, serverName }: ClientConfig): AgentOptions {
  return {
    ...(authority === null ? {} : { ca: authority }),
    ...(identity === null ? {} : { cert: identity.certificate, key: identity.key }),
    ...(serverName === null ? {} : { servername: serverName }),
  }
}

/** Statuses of a server that is overloaded or restarts. */
const TRANSIENT_STATUSES: ReadonlySet<number> = new Set([429, 500, 503, 504])

function isTransient(result: HttpResult): boolean {
  return result.kind === 'failed' ? result.reason === 'reset' : TRANSIENT_STATUSES.has(result.status)
}

function resultOf(result: HttpResult): OutwardResult {
  if (result.kind === 'response') return result
  const { reason, why, phase } = result
  return { kind: 'failed', reason, why, phase }
}
