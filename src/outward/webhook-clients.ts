import { createHash } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { WebhookEndpoint } from '../api/webhook-endpoint.ts'
import { limits } from '../config/limits.ts'
import { OutwardClient } from './outward-client.ts'
import type { OutwardCall, OutwardResult } from './outward-client.ts'
import type { ClientCredentials } from '../pki/client-config.ts'

/**
 * The purpose of webhooks. Mutating and validating webhooks each have credentials of their own;
 * conversion webhooks are called without credentials.
 */
export type WebhookPurpose = 'mutating' | 'validating' | 'conversion'

/** Returns the credentials for a server by name; null: none. @source spec 5.8 */
export type CredentialsFor = (type: WebhookPurpose, name: string) => ClientCredentials | null

/** A change of configured webhooks: `added` as they are now, `removed` as they were. */
export type WebhooksChange<T> = { readonly added: readonly T[]; readonly removed: readonly T[] }

/** The part of a configured webhook by which its pool is chosen. */
export type PooledWebhook = { readonly type: WebhookPurpose; readonly endpoint: WebhookEndpoint }

export type WebhookClientsDependencies = {
  readonly clock: Clock
  readonly random: Random
  readonly credentials: CredentialsFor
}

/**
 * The connections to webhooks: one pool per purpose, server, authority and credentials, however
 * many webhooks that server has. A pool closes, when its calls have ended, if no configured webhook
 * uses it any more, or if there are too many pools and it was used least recently.
 */
export class WebhookClients {
  readonly #dependencies: WebhookClientsDependencies
  /** How many of the configured webhooks use each pool. */
  readonly #uses = new Map<string, number>()
  /** In the order of their last use. */
  readonly #pools = new Map<string, OutwardClient>()
  /** The key of the pool that was used last. */
  #lastKey = ''

  constructor(dependencies: WebhookClientsDependencies) {
    this.#dependencies = dependencies
  }

  /** Number of open pools. */
  get size(): number {
    return this.#pools.size
  }

  /** @throws Error when URL, authority or credentials cannot be used */
  call(
    type: WebhookPurpose,
    endpoint: WebhookEndpoint,
    call: Omit<Extract<OutwardCall, { readonly method: 'POST' }>, 'method' | 'path'> & {
      /** Sent instead of the query of the URL. */
      readonly query: string
    },
  ): Promise<OutwardResult> {
    const url = urlOf(endpoint)
    const { query, ...rest } = call
    const path = `${url.pathname}?${query}`
    return this.#poolOf(type, endpoint, url).call({ ...rest, method: 'POST', path })
  }

  /** Follows a change of the configured webhooks, and closes the pools that none of them uses. */
  follow({ added, removed }: WebhooksChange<PooledWebhook>): void {
    for (const { type, endpoint } of added) {
      const key = keyOf(type, endpoint)
      this.#uses.set(key, (this.#uses.get(key) ?? 0) + 1)
    }
    for (const { type, endpoint } of removed) {
      const key = keyOf(type, endpoint)
      const left = (this.#uses.get(key) ?? 0) - 1
      if (left > 0) this.#uses.set(key, left)
      else this.#uses.delete(key)
    }
    for (const [key, pool] of this.#pools) {
      if (this.#uses.has(key)) continue
      this.#pools.delete(key)
      pool.retire()
    }
  }

  /** Ends all calls and connections. */
  close(): void {
    for (const pool of this.#pools.values()) pool.close()
    this.#pools.clear()
  }

  #poolOf(type: WebhookPurpose, endpoint: WebhookEndpoint, url: URL): OutwardClient {
    const key = keyOf(type, endpoint)
    const known = this.#pools.get(key)
    if (known !== undefined) {
      if (key !== this.#lastKey) {
        this.#pools.delete(key)
        this.#pools.set(key, known)
        this.#lastKey = key
      }
      return known
    }
    const pool = this.#open(type, endpoint, url)
    this.#pools.set(key, pool)
    this.#lastKey = key
    if (this.#pools.size > limits.webhookServersMax) {
      const [oldest] = this.#pools
      if (oldest !== undefined) {
        this.#pools.delete(oldest[0])
        oldest[1].retire()
      }
    }
    return pool
  }

  #open(
    type: WebhookPurpose,
    { authority, credentialsName, isService }: WebhookEndpoint,
    url: URL,
  ): OutwardClient {
    const { clock, random, credentials } = this.#dependencies
    const given = credentials(type, credentialsName) ?? NO_CREDENTIALS
    const options = {
      callMsMax: limits.webhookMsMax,
      connectionsMax: limits.webhookConnectionsMax,
      queueMax: limits.webhookQueueMax,
      attemptsMax: 2,
      repeats: 'stale-connection',
      responseBytesMax: limits.webhookResponseBytesMax,
      // The names of services are those of the cluster's own network.
      isDirect: isService,
    } as const
    return new OutwardClient({ ...given, url, authority, serverName: null }, options, { clock, random })
  }
}

/** The URL of each endpoint, which is parsed once. */
const urls = new WeakMap<WebhookEndpoint, URL>()

/** @throws Error when it cannot be used */
function urlOf(endpoint: WebhookEndpoint): URL {
  let url = urls.get(endpoint)
  if (url === undefined) {
    url = new URL(endpoint.url)
    urls.set(endpoint, url)
  }
  return url
}

/** The key of each endpoint, kept because it is a hash of the whole authority. */
const keys = new WeakMap<WebhookEndpoint, string>()

function keyOf(type: WebhookPurpose, endpoint: WebhookEndpoint): string {
  let key = keys.get(endpoint)
  if (key === undefined) {
    const { url, authority, credentialsName, isService } = endpoint
    const origin = URL.canParse(url) ? new URL(url).origin : url
    const parts = JSON.stringify([origin, credentialsName, isService, authority])
    key = createHash('sha256').update(parts).digest('base64')
    keys.set(endpoint, key)
  }
  return `${type} ${key}`
}

const NO_CREDENTIALS: ClientCredentials = { identity: null, authorization: null, tokenFile: null }
