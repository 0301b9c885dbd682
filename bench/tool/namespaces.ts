import { present } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import type { Endpoint } from '../../src/credentials/endpoint.ts'
import { VerifyError } from '../../tools/verify/errors.ts'
import { pause } from '../../tools/verify/pause.ts'
import { TestNamespace } from '../../tools/verify/test-namespace.ts'
import { BenchError } from './errors.ts'
import { collectionOf } from './generator/requests.ts'
import { benchLimits } from './limits.ts'
import { askOnce } from './target.ts'

const pollMs = 200
const callMs = 10_000

/** Namespaces of a run: created when needed, and removed with their content at the end. */
export class Namespaces {
  readonly #endpoints: readonly Endpoint[]
  readonly #clock: Clock
  readonly #testNamespace: TestNamespace
  readonly #prefix: string
  readonly #made = new Set<string>()

  /** @param prefix of their names, unique for this run */
  constructor(endpoints: readonly Endpoint[], clock: Clock, prefix: string) {
    this.#endpoints = endpoints
    this.#clock = clock
    this.#testNamespace = new TestNamespace(endpoints, clock, callMs)
    this.#prefix = prefix
  }

  /** @returns the name, and whether it was created by this call @throws BenchError `no-answer` */
  async make(purpose: string): Promise<{ readonly name: string; readonly isNew: boolean }> {
    const name = `${this.#prefix}-${purpose}`
    if (this.#made.has(name)) return { name, isNew: false }
    // Registered first: a namespace whose creation is unconfirmed must be removed as well.
    this.#made.add(name)
    try {
      await this.#testNamespace.makeNamespace(name)
    } catch (cause) {
      if (cause instanceof VerifyError) throw new BenchError('no-answer', cause.message, { cause })
      throw cause
    }
    return { name, isNew: true }
  }

  /**
   * Deletes the ConfigMaps of a namespace, then the namespace itself; servers complete that later.
   *
   * @returns false when the deletion is not confirmed
   */
  async remove(name: string): Promise<boolean> {
    const endMs = this.#clock.monotonicMs() + benchLimits.tidyMsMax
    let answeredMs = this.#clock.monotonicMs()
    for (let turn = 0; this.#clock.monotonicMs() < endMs; turn++) {
      const endpoint = present(this.#endpoints[turn % this.#endpoints.length], 'there are endpoints')
      const answer = await askOnce(endpoint, { method: 'DELETE', path: collectionOf(name) })
      if (answer !== null && (answer.status === 200 || answer.status === 404)) {
        const isRemoved = await this.#testNamespace.removeNamespace(name)
        if (isRemoved) this.#made.delete(name)
        return isRemoved
      }
      if (answer !== null) answeredMs = this.#clock.monotonicMs()
      else if (this.#clock.monotonicMs() - answeredMs > benchLimits.silenceMsMax) return false
      await pause(this.#clock, pollMs)
    }
    return false
  }

  /** Removes all namespaces. @returns those whose deletion is not confirmed */
  async tidy(): Promise<readonly string[]> {
    await Promise.all([...this.#made].map((name) => this.remove(name)))
    return [...this.#made]
  }
}
