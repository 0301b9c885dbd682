import { RealClock } from './clock.ts'

/**
 * Returns the time since the machine started. `performance.now()` advances with the same clock, but
 * begins at 0 in every thread.
 */
function sinceBootMs(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1000 + nanoseconds / 1e6
}

/**
 * A real clock whose monotonic ms are comparable between threads, for operations that begin on one
 * thread and end on another.
 */
export class MachineClock extends RealClock {
  readonly #aheadMs = sinceBootMs() - performance.now()

  override monotonicMs(): number {
    return performance.now() + this.#aheadMs
  }
}
