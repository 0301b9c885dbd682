import type { CoreStatus } from '../core/ready.ts'
import type { NodeId } from '../core/types.ts'
import { healthiestSuccessor } from '../protocol/consensus-status.ts'

/**
 * Selects the target of a leadership transfer: the healthiest voter first, then the next one
 * whenever the core has abandoned a transfer, which it does after an election timeout. `next` is
 * called when `transferAway` begins, and whenever ticks have passed while this member leads; the
 * caller makes the transfer.
 */
export class PendingTransfer {
  #untilMs: number | null = null
  #again = false
  readonly #tried = new Set<NodeId>()

  /**
   * @param untilMs end of the attempts, on the monotonic clock, or Infinity
   * @param again `again`: starts over with the first voter when none took over
   */
  begin(untilMs: number, again: 'once' | 'again'): void {
    this.#untilMs = untilMs
    this.#again = again === 'again'
    this.#tried.clear()
  }

  get underWay(): boolean {
    return this.#untilMs !== null
  }

  /** @returns the voter to transfer leadership to now; null: none */
  next(now: number, status: CoreStatus): NodeId | null {
    if (this.#untilMs === null) return null
    if (now >= this.#untilMs || status.role !== 'leader') {
      this.#untilMs = null
      return null
    }
    if (status.transferTarget !== null) return null
    let next = healthiestSuccessor(status, this.#tried)
    if (next === null && this.#tried.size > 0) {
      if (this.#again) this.#tried.clear()
      else this.#untilMs = null
      next = this.#again ? healthiestSuccessor(status, this.#tried) : null
    }
    if (next !== null) this.#tried.add(next)
    return next
  }
}
