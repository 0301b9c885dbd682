import type { Raft } from '../core/raft.ts'
import type { SharedLease } from '../protocol/shared-lease.ts'

/** The core, as the lease keeper uses it. */
export type LeaseCore = Pick<Raft, 'term' | 'commit' | 'leaseUntilMs' | 'setTime' | 'wantLease'>

/**
 * The raft thread's side of leases: passes the time to the core, and publishes the lease in shared
 * memory for the api thread. The clock of the api thread has another origin; the difference is
 * estimated from the times at which its messages were sent and received.
 */
export class LeaseKeeper {
  readonly #core: LeaseCore
  readonly #lease: SharedLease | null
  #wanted = false
  /**
   * An upper bound in ms of this thread's clock minus the api thread's clock: it includes the
   * transit time of the fastest message. null: not known.
   */
  #aheadMs: number | null = null

  constructor(core: LeaseCore, lease: SharedLease | null) {
    this.#core = core
    this.#lease = lease
  }

  /**
   * Handles the periodic message of the api thread.
   *
   * @param sentMs on the clock of the api thread
   */
  update(wanted: boolean, sentMs: number, nowMs: number): void {
    // The fastest message gives the best estimate. A larger estimate is safe, but shortens the
    // lease.
    this.#aheadMs = Math.min(this.#aheadMs ?? Infinity, nowMs - sentMs)
    this.#wanted = wanted && this.#lease !== null
    this.#core.wantLease(this.#wanted)
    if (!this.#wanted) this.#lease?.revoke()
  }

  /** Called before ticks are passed to the core, and at the beginning of a turn. */
  updateTime(nowMs: number): void {
    if (this.#wanted) this.#core.setTime(nowMs)
  }

  /**
   * Called before the messages of a `Ready` are sent, so that a lease is revoked before the message
   * that transfers leadership, and at the end of a turn.
   */
  publish(): void {
    if (!this.#wanted || this.#lease === null) return
    const untilMs = this.#core.leaseUntilMs
    if (untilMs === 0 || this.#aheadMs === null) this.#lease.revoke()
    else this.#lease.publish(this.#core.term, this.#core.commit, untilMs - this.#aheadMs)
  }

  /** Called when the raft thread stops: there is no lease after that. */
  stop(): void {
    this.#wanted = false
    this.#lease?.revoke()
  }
}
