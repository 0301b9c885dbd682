import type { StoreLimits } from './limits.ts'

/** How a quarantine stands in the row of those before it. */
export type RepairTurn = {
  /** From 1: how often the state was found wrong without a long enough time of trust in between. */
  readonly times: number
  /** How long to wait before another member's state is asked for. */
  readonly waitMs: number
}

/**
 * A state that comes out wrong again and again is the doing of this machine, and each repair costs a healthy member a walk
 * through its database. So the first repair begins at once, every later one of a row after twice the wait. A row ends
 * with a time of trust, or with the process: whoever starts a member again looks after it.
 */
export class RepairBackOff {
  readonly #limits: Pick<StoreLimits, 'repairWaitMsMin' | 'repairWaitMsMax' | 'repairRowMs'>
  #times = 0
  #trustedSinceMs: number

  constructor(
    limits: Pick<StoreLimits, 'repairWaitMsMin' | 'repairWaitMsMax' | 'repairRowMs'>,
    nowMs: number,
  ) {
    this.#limits = limits
    this.#trustedSinceMs = nowMs
  }

  /** The state is another member's now. */
  trusted(nowMs: number): void {
    this.#trustedSinceMs = nowMs
  }

  condemned(nowMs: number): RepairTurn {
    const { repairWaitMsMin, repairWaitMsMax, repairRowMs } = this.#limits
    if (nowMs - this.#trustedSinceMs >= repairRowMs) this.#times = 0
    const times = ++this.#times
    const waitMs = times === 1 ? 0 : Math.min(repairWaitMsMax, repairWaitMsMin * 2 ** (times - 2))
    return { times, waitMs }
  }
}
