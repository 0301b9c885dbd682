import { present } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import type { ClientIdentity } from '../../src/credentials/credentials.ts'
import { resolveEndpoint } from '../../src/credentials/endpoint.ts'
import type { Endpoint } from '../../src/credentials/endpoint.ts'
import { pause } from '../../tools/verify/pause.ts'
import { FailureCounts } from './generator/failures.ts'
import { markText } from './generator/mark.ts'
import { collectionOf, configMap, requestBytes } from './generator/requests.ts'
import { WireConnection } from './generator/wire-connection.ts'
import { benchLimits } from './limits.ts'

const payloadBytes = 1000

/**
 * Writes numbered versions at a steady rate, round-robin over the objects, for watchers to receive.
 */
export class PacedWriter {
  readonly failures = new FailureCounts()
  readonly #endpoints: readonly Endpoint[]
  readonly #clock: Clock
  readonly #namespace: string
  readonly #names: readonly string[]
  #connection: WireConnection | null = null
  /** The client certificate of the connection. */
  #identity: ClientIdentity | null = null
  #turn = 0
  #number = 0

  /** @param names of existing objects */
  constructor(of: {
    readonly endpoints: readonly Endpoint[]
    readonly clock: Clock
    readonly namespace: string
    readonly names: readonly string[]
  }) {
    this.#endpoints = of.endpoints
    this.#clock = of.clock
    this.#namespace = of.namespace
    this.#names = of.names
  }

  /** Number of the last acknowledged write. */
  get number(): number {
    return this.#number
  }

  /** @param perSecond target rate; lower when writes take longer */
  async run(perSecond: number, endMs: number): Promise<void> {
    let nextMs = this.#clock.monotonicMs()
    try {
      while (nextMs < endMs) {
        await pause(this.#clock, nextMs - this.#clock.monotonicMs())
        if (!(await this.#write(this.#number + 1, endMs))) return
        this.#number++
        // After a delay, the missed writes are not sent at once: a burst would be another load.
        nextMs = Math.max(nextMs + 1000 / perSecond, this.#clock.monotonicMs())
      }
    } finally {
      this.#connection?.close()
    }
  }

  /**
   * Retries until the write is acknowledged, because a gap in the numbers would look like a lost
   * event.
   *
   * @returns false when it was not acknowledged by `endMs`
   */
  async #write(number: number, endMs: number): Promise<boolean> {
    const name = present(this.#names[number % this.#names.length], 'there are objects')
    const path = `${collectionOf(this.#namespace)}/${name}`
    const atMs = this.#clock.monotonicMs()
    const body = configMap(name, payloadBytes, markText({ number, atMs }))
    for (;;) {
      const chosen = present(this.#endpoints[this.#turn % this.#endpoints.length], 'there are endpoints')
      try {
        const endpoint = await resolveEndpoint(chosen)
        const { identity } = endpoint.credentials
        if (identity !== this.#identity) this.#connection?.close()
        this.#identity = identity
        if (this.#connection?.isOpen !== true) this.#connection = await WireConnection.open(endpoint)
        const { status } = await this.#connection.ask(requestBytes(endpoint, { method: 'PUT', path, body }))
        if (status === 200) return true
        if (status === 401) await chosen.credentials.renew(endpoint.credentials)
        this.failures.add(`HTTP ${status}`)
      } catch (cause) {
        this.failures.add(cause instanceof Error ? cause.message : String(cause))
      }
      if (this.#clock.monotonicMs() >= endMs) return false
      this.#connection?.close()
      this.#turn++
      await pause(this.#clock, benchLimits.backOffMs)
    }
  }
}
