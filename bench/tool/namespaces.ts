import { present } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import type { Endpoint } from '../../tools/verify/endpoint.ts'
import { VerifyFailure } from '../../tools/verify/errors.ts'
import { pause } from '../../tools/verify/pause.ts'
import { TestNamespace } from '../../tools/verify/test-namespace.ts'
import { BenchFailure } from './errors.ts'
import { collectionOf } from './generator/requests.ts'
import { benchLimits } from './limits.ts'
import { askOnce } from './target.ts'

const lookMs = 200
const callMs = 10_000

/** The namespaces of a run: made when they are needed, removed with all that is in them when it ends. */
export class Namespaces {
  readonly #endpoints: readonly Endpoint[]
  readonly #clock: Clock
  readonly #surroundings: TestNamespace
  readonly #prefix: string
  readonly #made = new Set<string>()

  /** @param prefix of their names, of this run alone */
  constructor(endpoints: readonly Endpoint[], clock: Clock, prefix: string) {
    this.#endpoints = endpoints
    this.#clock = clock
    this.#surroundings = new TestNamespace(endpoints, clock, callMs)
    this.#prefix = prefix
  }

  /** @returns its name, and whether it was made just now @throws BenchFailure `no-answer` */
  async make(purpose: string): Promise<{ readonly name: string; readonly isNew: boolean }> {
    const name = `${this.#prefix}-${purpose}`
    if (this.#made.has(name)) return { name, isNew: false }
    // Also one that is not known to have been made has to go.
    this.#made.add(name)
    try {
      await this.#surroundings.makeNamespace(name)
    } catch (cause) {
      if (cause instanceof VerifyFailure) throw new BenchFailure('no-answer', cause.message, { cause })
      throw cause
    }
    return { name, isNew: true }
  }

  /**
   * Removes all that is in one, and asks for its own removal, which servers do in their own time.
   * @returns false when that is not known to have been done
   */
  async remove(name: string): Promise<boolean> {
    const endMs = this.#clock.monotonicMs() + benchLimits.tidyMsMax
    let answeredMs = this.#clock.monotonicMs()
    for (let turn = 0; this.#clock.monotonicMs() < endMs; turn++) {
      const endpoint = present(this.#endpoints[turn % this.#endpoints.length], 'there are endpoints')
      const answer = await askOnce(endpoint, { method: 'DELETE', path: collectionOf(name) })
      if (answer !== null && (answer.status === 200 || answer.status === 404)) {
        const isRemoved = await this.#surroundings.removeNamespace(name)
        if (isRemoved) this.#made.delete(name)
        return isRemoved
      }
      if (answer !== null) answeredMs = this.#clock.monotonicMs()
      else if (this.#clock.monotonicMs() - answeredMs > benchLimits.silenceMsMax) return false
      await pause(this.#clock, lookMs)
    }
    return false
  }

  /** All of them. @returns those of which that is not known */
  async tidy(): Promise<readonly string[]> {
    await Promise.all([...this.#made].map((name) => this.remove(name)))
    return [...this.#made]
  }
}
