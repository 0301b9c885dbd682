import { assert } from '../../base/assert.ts'
import type { CoreConfig } from './config.ts'
import { Inflights } from './inflights.ts'
import type { ReadContext } from './message.ts'
import type { FollowerStatus } from './ready.ts'
import { noIndex } from './types.ts'
import type { LogIndex, NodeId } from './types.ts'

/**
 * What the leader believes of one follower.
 *
 *              refused or unreachable
 *        ┌──────────────────────────────┐
 *        ▼         accepted             │
 *     probe ───────────────────────► replicate
 *      │  ▲                             │
 *      │  │ sent, or failed             │  what it needs was cut
 *      ▼  │                             ▼
 *     snapshot ◄────────────────────────┘
 *
 * In `probe` one append per heartbeat finds where the logs agree; in `replicate` appends stream
 * ahead of their acknowledgements, bounded by `inflights`; in `snapshot` nothing is sent until the
 * state has arrived.
 */
export class Progress {
  readonly id: NodeId
  readonly inflights: Inflights
  state: 'probe' | 'replicate' | 'snapshot' = 'probe'
  /**
   * Highest index known to be durable on the follower. match < next. Never decreases within a term.
   */
  match: LogIndex = noIndex
  next: LogIndex
  /** The commit index last sent to it, as far as its log reached. */
  sentCommit: LogIndex = noIndex
  /** In `probe`: the one append is under way. */
  probing = false
  /** In `snapshot`: how the transfer went so far. */
  snapshot: 'sending' | 'finished' | 'failed' = 'sending'
  /** First slot of the entries that must come from disk before more can be sent. */
  fetching: LogIndex | null = null
  /** Answer due even if there is nothing new: finds out what was lost. */
  appendDue = false
  /** Ticks since its last response; 0 for a new follower. */
  silentTicks = 0
  /** It has responded since the last heartbeat. */
  answeredHeartbeat = false
  /** The latest ReadIndex round it confirmed. */
  readConfirmed: ReadContext | null = null
  /** End of its lease promise on the shell's clock, in ms. 0: it promised nothing. */
  leaseUntilMs = 0
  /** For so long it is handed no leadership, as it did not take it. */
  transferPauseTicks = 0
  readonly #silentTicksMax: number

  constructor(id: NodeId, next: LogIndex, config: CoreConfig) {
    this.id = id
    this.next = next
    this.#silentTicksMax = config.electionTicks
    this.inflights = new Inflights(config.inflightMessagesMax, config.inflightBytesMax)
  }

  /**
   * Heard of within an election timeout, whenever that is asked: not since the last check of the
   * quorum, right after which nobody would be.
   */
  get recentlyActive(): boolean {
    return this.silentTicks <= this.#silentTicksMax
  }

  /** @param next where to try; at least one past `match` */
  becomeProbe(next: LogIndex): void {
    this.state = 'probe'
    this.next = Math.max(next, this.match + 1) as LogIndex
    this.#restart()
  }

  becomeReplicate(): void {
    this.state = 'replicate'
    this.next = (this.match + 1) as LogIndex
    this.#restart()
  }

  becomeSnapshot(): void {
    this.state = 'snapshot'
    this.snapshot = 'sending'
    this.#restart()
  }

  /** Sent ahead of its acknowledgement. */
  sent(last: LogIndex, bytes: number): void {
    assert(this.state === 'replicate', 'only a follower in step is sent ahead')
    this.inflights.add(last, bytes)
    this.next = (last + 1) as LogIndex
  }

  /** @returns whether that was news */
  noteMatch(index: LogIndex): boolean {
    if (index <= this.match) return false
    this.match = index
    if (this.next <= index) this.next = (index + 1) as LogIndex
    return true
  }

  status(): FollowerStatus {
    return {
      id: this.id,
      state: this.state,
      match: this.match,
      next: this.next,
      recentlyActive: this.recentlyActive,
    }
  }

  #restart(): void {
    this.probing = false
    this.fetching = null
    this.appendDue = false
    this.sentCommit = this.match < this.sentCommit ? this.match : this.sentCommit
    this.inflights.clear()
  }
}
