import type { Raft } from '../core/raft.ts'
import type { SharedLease } from '../protocol/shared-lease.ts'

/** What the keeper asks of the core. */
export type LeaseCore = Pick<Raft, 'term' | 'commit' | 'leaseUntilMs' | 'setTime' | 'wantLease'>

/**
 * The raft thread's half of leases: tells the core the time, and the board what it makes of it. The
 * board is read by another thread, with a clock whose zero is another; the difference is known from
 * when its words were sent and when they came.
 */
export class LeaseKeeper {
  readonly #core: LeaseCore
  readonly #lease: SharedLease | null
  #wanted = false
  /** Our clock less theirs, at least: a word takes its time. null: not known. */
  #aheadMs: number | null = null

  constructor(core: LeaseCore, lease: SharedLease | null) {
    this.#core = core
    this.#lease = lease
  }

  /**
   * The api thread, now and then.
   *
   * @param sentMs on its clock
   */
  update(wanted: boolean, sentMs: number, nowMs: number): void {
    // The quickest word says it best. Later would be safe, but short of the lease by as much.
    this.#aheadMs = Math.min(this.#aheadMs ?? Infinity, nowMs - sentMs)
    this.#wanted = wanted && this.#lease !== null
    this.#core.wantLease(this.#wanted)
    if (!this.#wanted) this.#lease?.revoke()
  }

  /** Before anything is done that may send. */
  updateTime(nowMs: number): void {
    if (this.#wanted) this.#core.setTime(nowMs)
  }

  /** Before anything is sent, so that a lease is gone before the word that gives it away. */
  publish(): void {
    if (!this.#wanted || this.#lease === null) return
    const untilMs = this.#core.leaseUntilMs
    if (untilMs === 0 || this.#aheadMs === null) this.#lease.revoke()
    else this.#lease.publish(this.#core.term, this.#core.commit, untilMs - this.#aheadMs)
  }

  /** Nothing is led from here on. */
  stop(): void {
    this.#wanted = false
    this.#lease?.revoke()
  }
}
