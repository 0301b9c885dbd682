import type { Clock, Timer } from '../../base/clock.ts'
import type { Freshness, LeaseRead, ReadPort } from '../consensus.ts'
import type { LogIndex, Term } from '../core/types.ts'
import type { SharedLease } from '../protocol/shared-lease.ts'
import { beginLeaseRead } from './lease-read.ts'
import type { ReadBarrier } from './read-barrier.ts'
import type { StatusCache } from './status-cache.ts'

export type LocalReadsOptions = {
  readonly clock: Clock
  readonly barrier: ReadBarrier
  readonly status: Pick<StatusCache, 'term'>
  /** null: this member never holds a lease. */
  readonly lease: SharedLease | null
  /** Sends to the raft thread whether this member wants a lease while it leads. */
  readonly post: (wanted: boolean, sentMs: number) => void
}

/** Reads that need no quorum round of their own. */
export class LocalReads implements ReadPort {
  readonly #options: LocalReadsOptions
  #timer: Timer | null = null

  constructor(options: LocalReadsOptions) {
    this.#options = options
  }

  get term(): Term {
    return this.#options.status.term
  }

  get freshness(): Freshness | null {
    return this.#options.barrier.freshness
  }

  probe(): void {
    this.#options.barrier.probe()
  }

  probeWithHeartbeat(): void {
    this.#options.barrier.probeWithHeartbeat()
  }

  lease(): LeaseRead | null {
    const { lease, clock } = this.#options
    return lease === null ? null : beginLeaseRead(lease, clock)
  }

  reached(index: LogIndex, deadlineMs: number): Promise<void> {
    return this.#options.barrier.reached(index, deadlineMs)
  }

  useLease(wanted: boolean): void {
    if (wanted === (this.#timer !== null)) return
    const { clock } = this.#options
    this.#timer?.cancel()
    this.#timer = wanted ? clock.every(postPeriodMs, () => this.#post(true)) : null
    this.#post(wanted)
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = null
  }

  #post(wanted: boolean): void {
    this.#options.post(wanted, this.#options.clock.monotonicMs())
  }
}

/**
 * Period in ms of the messages to the raft thread while a lease is wanted. From the fastest of them
 * the raft thread estimates the difference between the clocks.
 */
const postPeriodMs = 1000
