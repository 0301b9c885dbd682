import type { Clock } from '../../../base/clock.ts'
import type { RegistryLimits } from './registry-limits.ts'

/**
 * Work of one request since it last yielded to the event loop: the bytes that it read, and the
 * elapsed time, because the cost of a conversion is not bounded by its bytes. The clock is not read
 * for a request that reads no objects.
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

  /** To be called before the bytes are converted. */
  charge(bytes: number): void {
    if (this.#bytes === 0) this.#sinceMs = this.#clock.monotonicMs()
    this.#bytes += bytes
  }

  /** Whether the request must yield and then call `reset` before it reads more. */
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
