import type { BreakerState } from '../../outward/circuit-breaker.ts'

/** Minimum ms between reported failures: a webhook that flaps would flood the namespace. */
const FAILURE_MS_MIN = 60_000

/** Decides which changes of circuit breakers are worth an event. */
export class BreakerReports {
  /** The last reported failure of each webhook. */
  readonly #failures = new WeakMap<object, { readonly atMs: number; isOver: boolean }>()

  /**
   * Returns whether a change is to be reported; then it counts as reported. A recovery is reported
   * if the failure before it was.
   *
   * @param webhook the same object for all versions of a webhook
   * @param nowMs on the monotonic clock
   */
  isDue(webhook: object, state: BreakerState, nowMs: number): boolean {
    const last = this.#failures.get(webhook)
    if (state === 'closed') {
      if (last === undefined || last.isOver) return false
      last.isOver = true
      return true
    }
    if (last !== undefined && nowMs - last.atMs < FAILURE_MS_MIN) return false
    this.#failures.set(webhook, { atMs: nowMs, isOver: false })
    return true
  }
}
