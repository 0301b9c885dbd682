import * as http from 'node:http'
import * as https from 'node:https'
import { createSecureContext } from 'node:tls'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { limits } from '../config/limits.ts'
import { httpCall } from '../host/http-call.ts'
import type { HttpFailureReason, HttpResult } from '../host/http-call.ts'
import type { ClientConfig } from '../pki/client-config.ts'
import { TokenFile } from './token-file.ts'

export type OutwardOptions = {
  /** Ms for a call with all its attempts and its time in the queue. Longer: `timeout`. */
  readonly callMsMax: number
  /** Connections to the server; further calls wait. */
  readonly connectionsMax: number
  /** Calls that wait for a connection. When full: `busy`. */
  readonly queueMax: number
  /** Attempts in total; 1: a failed call is not repeated. */
  readonly attemptsMax: number
  /** Bytes of a response. Longer: `too-large`. */
  readonly responseBytesMax: number
}

export type OutwardDependencies = { readonly clock: Clock; readonly random: Random }

export type OutwardCall = { readonly method: 'GET' } | { readonly method: 'POST'; readonly body: Uint8Array }

export type OutwardResult =
  | { readonly kind: 'response'; readonly status: number; readonly body: Buffer }
  | {
      readonly kind: 'failed'
      /** `busy`: too many calls wait. `closed`: this process shuts down. */
      readonly reason: HttpFailureReason | 'busy' | 'closed'
      /** One line, without credentials. */
      readonly why: string
    }

/**
 * The client of one other server, for every call that this server makes to a webhook or a provider.
 * It keeps a bounded number of connections, follows no redirects, and repeats a call whose
 * connection broke or whose server is overloaded, with increasing delays.
 *
 * @source client-go `rest.Config`; apiserver `pkg/util/webhook/webhook.go`, `DefaultShouldRetry`
 */
export class OutwardClient {
  readonly #config: ClientConfig
  readonly #options: OutwardOptions
  readonly #dependencies: OutwardDependencies
  readonly #agent: http.Agent
  readonly #token: TokenFile | null
  readonly #running = new Set<AbortController>()
  #closed = false

  /** @throws Error when certificates, key or credentials of the configuration cannot be used */
  constructor(config: ClientConfig, options: OutwardOptions, dependencies: OutwardDependencies) {
    this.#config = config
    this.#options = options
    this.#dependencies = dependencies
    const { url, authorization, tokenFile } = config
    if (authorization !== null) http.validateHeaderValue('authorization', authorization)
    this.#token =
      tokenFile === null || authorization === null
        ? null
        : new TokenFile(tokenFile, authorization, dependencies.clock)
    const tls = tlsOf(config)
    // An invalid configuration should be found now.
    createSecureContext(tls)
    const kept = {
      keepAlive: true,
      maxSockets: options.connectionsMax,
      timeout: limits.outwardIdleMsMax,
    }
    this.#agent = url.protocol === 'http:' ? new http.Agent(kept) : new https.Agent({ ...kept, ...tls })
  }

  /** Calls the URL of the configuration. Never rejects. */
  async call(call: OutwardCall): Promise<OutwardResult> {
    const { connectionsMax, queueMax, callMsMax } = this.#options
    if (this.#closed) return closed
    if (this.#running.size >= connectionsMax + queueMax) {
      return { kind: 'failed', reason: 'busy', why: `${this.#running.size} calls are in progress` }
    }
    const abort = new AbortController()
    this.#running.add(abort)
    const timer = this.#dependencies.clock.after(callMsMax, () =>
      abort.abort(new DOMException('no response in time', 'TimeoutError')),
    )
    try {
      return await this.#attempts(call, abort.signal)
    } finally {
      timer.cancel()
      this.#running.delete(abort)
    }
  }

  /** Ends all calls and connections. */
  close(): void {
    this.#closed = true
    for (const abort of this.#running) abort.abort()
    this.#agent.destroy()
  }

  async #attempts(call: OutwardCall, signal: AbortSignal): Promise<OutwardResult> {
    let delayMs = limits.outwardRetryMsMin
    for (let attempt = 1; ; attempt++) {
      const result = await this.#attempt(call, signal)
      if (this.#closed) return closed
      if (attempt >= this.#options.attemptsMax || !isTransient(result)) return resultOf(result)
      // The server may have closed the idle connection: the retry on a new one begins at once.
      const isStale = result.kind === 'failed' && result.wasReused && attempt === 1
      if (!isStale) {
        await this.#pause(delayMs * (1 + (this.#dependencies.random.below(1000) / 1000) * JITTER), signal)
        delayMs *= RETRY_FACTOR
      }
    }
  }

  async #attempt(call: OutwardCall, signal: AbortSignal): Promise<HttpResult> {
    const authorization = this.#token === null ? this.#config.authorization : await this.#token.header()
    const content = call.method === 'POST' ? { 'content-type': 'application/json' } : {}
    return httpCall(this.#config.url, {
      method: call.method,
      headers: {
        accept: 'application/json',
        ...content,
        ...(authorization === null ? {} : { authorization }),
      },
      body: call.method === 'POST' ? call.body : null,
      responseBytesMax: this.#options.responseBytesMax,
      signal,
      agent: this.#agent,
    })
  }

  #pause(pauseMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        timer.cancel()
        signal.removeEventListener('abort', end)
        resolve()
      }
      const timer = this.#dependencies.clock.after(pauseMs, end)
      signal.addEventListener('abort', end)
      if (signal.aborted) end()
    })
  }
}

/** As upstream: each delay is 1.5 times the previous one, plus up to 20 % of jitter. */
const RETRY_FACTOR = 1.5
const JITTER = 0.2

const closed: OutwardResult = Object.freeze({
  kind: 'failed',
  reason: 'closed',
  why: 'this server shuts down',
})

function tlsOf({ authority, identity, serverName }: ClientConfig): https.AgentOptions {
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
  return { kind: 'failed', reason: result.reason, why: result.why }
}
