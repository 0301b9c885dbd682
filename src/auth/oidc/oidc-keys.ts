import { createLocalJWKSet } from 'jose'
import type { JSONWebKeySet, JWK } from 'jose'
import type { Clock } from '../../../base/clock.ts'
import { isRecord } from '../../../base/record.ts'
import { limits } from '../../config/limits.ts'
import type { FailureLog } from '../../outward/failure-log.ts'
import type { OutwardClient } from '../../outward/outward-client.ts'

/** The signing keys of an issuer at one time. */
export type OidcKeySet = { readonly find: ReturnType<typeof createLocalJWKSet> }

export type OidcKeysDependencies = {
  readonly clock: Clock
  /** Opens a client for one URL. */
  readonly open: (url: URL) => Pick<OutwardClient, 'call' | 'close'>
  readonly failures: Pick<FailureLog, 'failed' | 'succeeded'>
}

/**
 * The signing keys that an OpenID provider publishes. They are fetched when they are first needed,
 * when they are older than `oidcKeysMsMax`, and when a token is signed with an unknown key, at
 * limited frequency. While the provider cannot be reached the last keys stay in use.
 *
 * @source OpenID Connect Discovery 1.0
 */
export class OidcKeys {
  readonly #issuer: string
  readonly #dependencies: OidcKeysDependencies
  readonly #provider: Pick<OutwardClient, 'call' | 'close'>
  #endpoint: { readonly url: string; readonly client: Pick<OutwardClient, 'call' | 'close'> } | null = null
  #keys: OidcKeySet | null = null
  #fetching: Promise<void> | null = null
  /** No fetch begins before this time on the monotonic clock. */
  #nextMs = 0
  #fetchedMs = 0

  constructor(issuer: string, dependencies: OidcKeysDependencies) {
    this.#issuer = issuer
    this.#dependencies = dependencies
    this.#provider = dependencies.open(
      new URL(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`),
    )
  }

  /** Returns the known keys, or fetches them; null: no keys could be fetched so far. */
  async current(): Promise<OidcKeySet | null> {
    if (this.#keys === null) return this.newer(null)
    if (this.#dependencies.clock.monotonicMs() - this.#fetchedMs > limits.oidcKeysMsMax) void this.#fetch()
    return this.#keys
  }

  /** Returns newer keys than `known`, if they may be fetched now; else the known ones. */
  async newer(known: OidcKeySet | null): Promise<OidcKeySet | null> {
    if (this.#keys === known) await this.#fetch()
    return this.#keys
  }

  close(): void {
    this.#provider.close()
    this.#endpoint?.client.close()
  }

  #fetch(): Promise<void> {
    const { clock } = this.#dependencies
    if (this.#fetching !== null) return this.#fetching
    if (clock.monotonicMs() < this.#nextMs) return Promise.resolve()
    this.#fetching = this.#fetchNow().finally(() => {
      this.#fetching = null
    })
    return this.#fetching
  }

  async #fetchNow(): Promise<void> {
    const { clock, failures } = this.#dependencies
    const outcome = await this.#read()
    if (typeof outcome === 'string') {
      failures.failed(outcome)
      this.#nextMs = clock.monotonicMs() + limits.oidcFailedFetchMs
      return
    }
    failures.succeeded()
    this.#keys = outcome
    this.#fetchedMs = clock.monotonicMs()
    this.#nextMs = this.#fetchedMs + limits.oidcFetchMsMin
  }

  /** @returns a text: why there are no keys */
  async #read(): Promise<OidcKeySet | string> {
    const discovery = await documentOf(this.#provider)
    if (typeof discovery === 'string') return `discovery: ${discovery}`
    if (discovery['issuer'] !== this.#issuer) return 'discovery: the document names another issuer'
    const address = discovery['jwks_uri']
    if (typeof address !== 'string' || !URL.canParse(address) || new URL(address).protocol !== 'https:') {
      return 'discovery: jwks_uri is not an https URL'
    }
    const keys = await documentOf(this.#clientFor(address))
    return typeof keys === 'string' ? `keys: ${keys}` : keySetOf(keys)
  }

  #clientFor(url: string): Pick<OutwardClient, 'call'> {
    if (this.#endpoint?.url === url) return this.#endpoint.client
    this.#endpoint?.client.close()
    this.#endpoint = { url, client: this.#dependencies.open(new URL(url)) }
    return this.#endpoint.client
  }
}

type Document = Readonly<Record<string, unknown>>

/** @returns a text: why there is no document */
async function documentOf(client: Pick<OutwardClient, 'call'>): Promise<Document | string> {
  const result = await client.call({ method: 'GET' })
  if (result.kind === 'failed') return result.why
  if (result.status !== 200) return `the server answers ${result.status}`
  try {
    const document: unknown = JSON.parse(result.body.toString('utf8'))
    return isRecord(document) ? document : 'the response is not a JSON object'
  } catch {
    return 'the response is not JSON'
  }
}

/** Keeps the RSA and EC keys that are not for encryption. @returns a text: why there are no keys */
function keySetOf({ keys }: Document): OidcKeySet | string {
  if (!Array.isArray(keys)) return 'keys: the response has no keys'
  if (keys.length > limits.oidcKeysMax) return `keys: there are more than ${limits.oidcKeysMax}`
  const signing = keys.filter(
    (key): key is JWK =>
      isRecord(key) && (key['kty'] === 'RSA' || key['kty'] === 'EC') && key['use'] !== 'enc',
  )
  const set: JSONWebKeySet = { keys: signing }
  return { find: createLocalJWKSet(set) }
}
