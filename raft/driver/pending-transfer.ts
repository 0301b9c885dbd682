import type { CoreStatus } from '../core/ready.ts'
import type { NodeId } from '../core/types.ts'
import { healthiestSuccessor } from '../protocol/consensus-status.ts'

/**
 * Brings leadership to another voter: to the healthiest first, and on to the next when one did not
 * take it within an election timeout, as the core gives a transfer up then. Asked with every tick;
 * decides only.
 */
export class PendingTransfer {
  #untilMs: number | null = null
  #again = false
  readonly #tried = new Set<NodeId>()

  /**
   * @param untilMs on the monotonic clock, or Infinity; then leadership stays where it is
   * @param again whether to begin anew with the first when nobody took it
   */
  begin(untilMs: number, again: 'once' | 'again'): void {
    this.#untilMs = untilMs
    this.#again = again === 'again'
    this.#tried.clear()
  }

  get underWay(): boolean {
    return this.#untilMs !== null
  }

  /** @returns to whom leadership is to be offered now; null: nothing is to be done */
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
