import { Agent as HttpAgent } from 'node:http'
import { Agent } from 'node:https'
import type { Clock } from '../../base/clock.ts'
import { isRecord } from '../../base/record.ts'
import { credentialHeaders, headerRecord, withCredentials } from '../credentials/credentials.ts'
import { tlsOptions } from '../credentials/endpoint.ts'
import type { Endpoint } from '../credentials/endpoint.ts'
import { httpCall } from '../host/http-call.ts'
import type { HttpResult } from '../host/http-call.ts'
import { CliError } from './errors.ts'
import { sleep } from './terminal.ts'

export type ApiCall = {
  readonly method: 'GET' | 'PATCH' | 'POST' | 'DELETE'
  /** Path and query. */
  readonly path: string
  /** A merge patch for PATCH, a new object for POST. */
  readonly body?: unknown
  /** Unset: the whole object. */
  readonly accept?: string
}

export type ApiReply = {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

const CALL_MS_MAX = 65_000
const REPLY_BYTES_MAX = 64 * 1024 * 1024
/** Rounds over all members, with a pause after each. */
const ROUNDS_MAX = 5
const PAUSE_MS = 1000
/** Another member, or the same one later, may succeed. */
const RETRIED: ReadonlySet<number> = new Set([429, 503, 504])

/**
 * A client of the API of a cluster, for calls that may be repeated without harm. It keeps using a
 * member that answers, and tries the next one when it does not.
 */
export class ApiClient {
  readonly #clock: Clock
  readonly #agents = new Map<Endpoint, HttpAgent>()
  #endpoints: readonly Endpoint[]

  /** @param endpoints of the members, at least one */
  constructor(endpoints: readonly Endpoint[], clock: Clock, concurrency: number) {
    this.#endpoints = endpoints
    this.#clock = clock
    for (const endpoint of endpoints) {
      const options = { keepAlive: true, maxSockets: concurrency }
      this.#agents.set(
        endpoint,
        endpoint.url.startsWith('http:') ? new HttpAgent(options) : new Agent(options),
      )
    }
  }

  /**
   * Returns any reply but those that are `RETRIED`.
   *
   * @throws CliError `failed`: no member answers, or a reply is too large or not a JSON object
   */
  async call(call: ApiCall): Promise<ApiReply> {
    let why = ''
    for (let round = 1; ; round++) {
      for (const endpoint of this.#endpoints) {
        const result = await this.#send(endpoint, call)
        if (result.kind === 'response' && !RETRIED.has(result.status)) {
          this.#prefer(endpoint)
          return { status: result.status, body: bodyOf(endpoint, result.body) }
        }
        why = `member ${endpoint.name}: ${result.kind === 'failed' ? result.why : wordsOf(result)}`
        if (result.kind === 'failed' && result.reason === 'too-large') {
          throw new CliError('failed', `${why}: take smaller pages (--page-size)`)
        }
      }
      if (round === ROUNDS_MAX) throw new CliError('failed', `no member answers ${call.path}: ${why}`)
      await sleep(this.#clock, PAUSE_MS)
    }
  }

  /** Returns the object of a call that must succeed. @throws CliError `failed` */
  async object(call: ApiCall): Promise<Readonly<Record<string, unknown>>> {
    const { status, body } = await this.call(call)
    if (status < 300) return body
    throw new CliError('failed', `${call.method} ${call.path}: ${messageOf({ status, body })}`)
  }

  close(): void {
    for (const agent of this.#agents.values()) agent.destroy()
  }

  async #send(endpoint: Endpoint, { method, path, body, accept }: ApiCall): Promise<HttpResult> {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    const content = body === undefined ? {} : { 'content-type': type }
    const agent = this.#agents.get(endpoint)
    return withCredentials(
      endpoint.credentials,
      (credentials) =>
        httpCall(new URL(path, endpoint.url), {
          method,
          headers: {
            accept: accept ?? 'application/json',
            ...content,
            ...headerRecord(credentialHeaders(credentials)),
          },
          body: body === undefined ? null : Buffer.from(JSON.stringify(body)),
          responseBytesMax: REPLY_BYTES_MAX,
          signal: AbortSignal.timeout(CALL_MS_MAX),
          tls: tlsOptions(endpoint, credentials),
          ...(agent === undefined ? {} : { agent }),
        }),
      (result) => result.kind === 'response' && result.status === 401,
    )
  }

  #prefer(endpoint: Endpoint): void {
    if (this.#endpoints[0] === endpoint) return
    this.#endpoints = [endpoint, ...this.#endpoints.filter((one) => one !== endpoint)]
  }
}

/** Returns the message of a `Status`. */
export function messageOf({ status, body }: ApiReply): string {
  const { message } = body
  return typeof message === 'string' && message !== '' ? message : `HTTP ${status}`
}

function bodyOf(endpoint: Endpoint, body: Buffer): Readonly<Record<string, unknown>> {
  const value = parsed(body)
  if (isRecord(value)) return value
  throw new CliError('failed', `member ${endpoint.name} at ${endpoint.url} did not return a JSON object`)
}

function wordsOf({ status, body }: { readonly status: number; readonly body: Buffer }): string {
  const value = parsed(body)
  return isRecord(value) ? messageOf({ status, body: value }) : `HTTP ${status}`
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return null
  }
}
