import type { Clock } from '../../../base/clock.ts'
import type { RegistryLimits } from './registry-limits.ts'

/**
 * How much one request has read and converted since others had their turn: in bytes, which is what reading costs, and in
 * time, as what is made of them may cost anything. Who reads nothing never looks at the clock.
 */
export class YieldBudget {
  readonly #clock: Clock
  readonly #limits: Pick<RegistryLimits, 'readTurnBytes' | 'readTurnMs'>
  #bytes = 0
  #sinceMs = 0

  constructor(clock: Clock, limits: Pick<RegistryLimits, 'readTurnBytes' | 'readTurnMs'>) {
    this.#clock = clock
    this.#limits = limits
  }

  /** To be said before they are converted. */
  charge(bytes: number): void {
    if (this.#bytes === 0) this.#sinceMs = this.#clock.monotonicMs()
    this.#bytes += bytes
  }

  /** Others have to have theirs before more is read; then this one begins anew. */
  get isSpent(): boolean {
    if (this.#bytes === 0) return false
    const { readTurnBytes, readTurnMs } = this.#limits
    return this.#bytes > readTurnBytes || this.#clock.monotonicMs() - this.#sinceMs > readTurnMs
  }

  reset(): void {
    this.#bytes = 0
  }
}

/** Resolves when everything else that was ready to run on this thread has run. */
export function yieldToEventLoop(clock: Clock): Promise<void> {
  return new Promise((resolve) => clock.soon(resolve))
}
