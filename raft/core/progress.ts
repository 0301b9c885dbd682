import { assert } from '../../base/assert.ts'
import type { CoreConfig } from './config.ts'
import { Inflights } from './inflights.ts'
import type { ReadContext } from './message.ts'
import type { FollowerStatus } from './ready.ts'
import { noIndex } from './types.ts'
import type { LogIndex, NodeId } from './types.ts'

/**
 * The leader's view of one follower.
 *
 *              refused or unreachable
 *        ┌──────────────────────────────┐
 *        ▼         accepted             │
 *     probe ───────────────────────► replicate
 *      │  ▲                             │
 *      │  │ sent, or failed             │  its next entries were compacted
 *      ▼  │                             ▼
 *     snapshot ◄────────────────────────┘
 *
 * In `probe` one append at a time finds where the logs agree; in `replicate` appends are sent ahead
 * of their acknowledgements, limited by `inflights`; in `snapshot` no append is sent until the
 * state has arrived. A follower that acknowledges entries at or above the base of this log in
 * `snapshot` goes to `replicate`.
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
  /** The commit index last sent to it, limited to the last entry sent to it by then. */
  sentCommit: LogIndex = noIndex
  /** In `probe`: no append is sent until the follower responds. */
  probing = false
  /** In `snapshot`: the outcome of the transfer so far. */
  snapshot: 'sending' | 'finished' | 'failed' = 'sending'
  /** First index of the entries that must be read from disk before more can be sent. */
  fetching: LogIndex | null = null
  /** An append must be sent even without new entries, to find out what was lost. */
  appendDue = false
  /** Ticks since its last response; 0 for a new follower. Negative when it confirmed `quiet`. */
  silentTicks = 0
  /** It waits longer for the next heartbeat, see `quiet.ts`. */
  confirmedQuiet = false
  /** It has responded since the last heartbeat. */
  answeredHeartbeat = false
  /** The latest ReadIndex round it confirmed. */
  readConfirmed: ReadContext | null = null
  /** End of its lease promise on the clock of `Raft.setTime`, in ms. 0: it promised nothing. */
  leaseUntilMs = 0
  /** Ticks for which leadership is not transferred to it, because it did not take over before. */
  transferPauseTicks = 0
  readonly #silentTicksMax: number

  constructor(id: NodeId, next: LogIndex, config: CoreConfig) {
    this.id = id
    this.next = next
    this.#silentTicksMax = config.electionTicks
    this.inflights = new Inflights(config.inflightMessagesMax, config.inflightBytesMax)
  }

  /**
   * Whether it responded within the last election timeout. That is counted back from now, not from
   * the last CheckQuorum: right after it, no follower would have responded yet.
   */
  get recentlyActive(): boolean {
    return this.silentTicks <= this.#silentTicksMax
  }

  /** The ticks without a response after which it is not `recentlyActive` any more. */
  get ticksUntilInactive(): number {
    return this.#silentTicksMax + 1 - this.silentTicks
  }

  /** @param next the index to try; at least one past `match` */
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

  /** Records an append that was sent ahead of its acknowledgement. */
  sent(last: LogIndex, bytes: number): void {
    assert(
      this.state === 'replicate',
      'only a replicating follower is sent entries ahead of acknowledgements',
    )
    this.inflights.add(last, bytes)
    this.next = (last + 1) as LogIndex
  }

  /** @returns whether the match index rose */
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
