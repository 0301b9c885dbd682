import type { Clock } from '../../base/clock.ts'
import type { JsonObject } from '../../src/api/json.ts'
import { isJsonObject } from '../../src/api/json.ts'
import { Connection } from './connection.ts'
import type { HttpCall, Reply } from './connection.ts'
import type { Endpoint } from '../../src/credentials/endpoint.ts'
import { VerifyError } from './errors.ts'
import { verifyLimits } from './limits.ts'
import { pause } from './pause.ts'
import type { Offers } from './traffic.ts'
import { collection, messageOf } from './wire.ts'
import type { Place } from './wire.ts'

/** Delay before the next attempt. */
const retryMs = 200

/**
 * Creates and removes the namespace of a run, and detects supported read modes. Tries one endpoint
 * after the other until one returns a definite response.
 */
export class TestNamespace {
  readonly #endpoints: readonly Endpoint[]
  readonly #clock: Clock
  readonly #timeoutMs: number

  constructor(endpoints: readonly Endpoint[], clock: Clock, timeoutMs: number) {
    this.#endpoints = endpoints
    this.#clock = clock
    this.#timeoutMs = timeoutMs
  }

  /** @throws VerifyError `no-answer` when the namespace neither exists nor can be created */
  async makeNamespace(name: string): Promise<void> {
    const body = JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
    const reply = await this.#ask(
      { method: 'POST', path: '/api/v1/namespaces', body },
      verifyLimits.beginMsMax,
    )
    if (reply.kind === 'none') throw new VerifyError('no-answer', `no endpoint answers: ${reply.why}`)
    if (reply.status === 201 || reply.status === 409) return
    throw new VerifyError(
      'no-answer',
      `namespace ${name} cannot be created: ${reply.status} ${messageOf(objectOf(reply.body))}`,
    )
  }

  /** @returns false when the removal was not confirmed */
  async removeNamespace(name: string): Promise<boolean> {
    const path = `/api/v1/namespaces/${encodeURIComponent(name)}`
    const reply = await this.#ask({ method: 'DELETE', path, body: null }, verifyLimits.settleMsMax)
    return reply.kind === 'reply' && (reply.status < 300 || reply.status === 404)
  }

  /** Returns the read modes that the server supports in `place`. */
  async offers(place: Place): Promise<Offers> {
    const requested = { method: 'GET', path: collection(place), body: null } as const
    const any = await this.#ask({ ...requested, consistency: 'any' }, this.#timeoutMs)
    const modes = any.kind === 'reply' && any.consistency !== null
    if (!modes) return { modes, lease: false }
    const lease = await this.#ask({ ...requested, consistency: 'lease' }, this.#timeoutMs)
    return { modes, lease: lease.kind === 'reply' && lease.status === 200 }
  }

  /** Returns the last response if none is definite in time. */
  async #ask(requested: HttpCall, withinMs: number): Promise<Reply> {
    const endMs = this.#clock.monotonicMs() + withinMs
    for (let turn = 0; ; turn++) {
      const endpoint = this.#endpoints[turn % this.#endpoints.length]
      if (endpoint === undefined) throw new VerifyError('no-answer', 'there is no endpoint')
      const connection = new Connection(endpoint, this.#clock)
      const reply = await connection.ask(requested, this.#timeoutMs)
      connection.close()
      const isSettled = reply.kind === 'reply' && reply.status < 500 && reply.status !== 429
      if (isSettled || this.#clock.monotonicMs() >= endMs) return reply
      await pause(this.#clock, retryMs)
    }
  }
}

function objectOf(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? value : {}
  } catch {
    return {}
  }
}
