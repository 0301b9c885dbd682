import { entryBytes } from '../core/types.ts'
import type { Entry, LogIndex, SnapshotMeta } from '../core/types.ts'
import type { RecoveredLog } from '../ports.ts'
import { CompactionPlanner } from './compaction-planner.ts'
import type { CompactionLimits } from './compaction-planner.ts'
import type { LogNeed } from './log-needs.ts'

type FoundLog = Pick<RecoveredLog, 'base' | 'lastIndex' | 'bytes'>

/**
 * Where this member's log begins and ends, as it was handed to the log, and where it may be cut.
 */
export class LogBounds {
  readonly #planner: CompactionPlanner
  #base: SnapshotMeta
  #lastIndex: LogIndex
  /** What the database holds; null: not known to be more than the base. */
  #durable: SnapshotMeta | null = null
  /** The points of the planner were committed, and no database has them. */
  #isAbandoned = false

  /** @param held what the database holds at the start */
  constructor(
    limits: CompactionLimits,
    { base, lastIndex, bytes }: FoundLog,
    held: SnapshotMeta | null = null,
  ) {
    this.#planner = new CompactionPlanner(limits, base, bytes)
    this.#base = base
    this.#lastIndex = lastIndex
    this.#durable = held === null ? null : this.complete(held)
  }

  /** One write, in the order of `LogWrite`: first the snapshot, then the entries. */
  writing(snapshot: SnapshotMeta | null, entries: readonly Entry[]): void {
    if (snapshot !== null) {
      this.#isAbandoned = false
      this.#base = snapshot
      this.#lastIndex = snapshot.index
      this.#planner.reset(snapshot)
    }
    const last = entries[entries.length - 1]
    if (last === undefined) return
    this.#lastIndex = last.index
    let bytes = 0
    for (const entry of entries) bytes += entryBytes(entry)
    this.#planner.appended(bytes)
  }

  /**
   * The database holds everything up to `snapshot`.
   * @returns false when an installed snapshot overtook it
   */
  durable(snapshot: SnapshotMeta): boolean {
    if (snapshot.index <= this.#base.index) return false
    this.#stateIsBack()
    this.#durable = this.complete(snapshot)
    this.#planner.durable(this.#durable)
    return true
  }

  /** @returns where the log is to be cut now; null: nowhere */
  compact(needs: readonly LogNeed[]): SnapshotMeta | null {
    const base = this.#planner.next(this.#lastIndex, needs)
    if (base === null || base.index <= this.#base.index) return null
    this.#base = base
    return base
  }

  /**
   * The state is set aside, so that no database follows and frees what it has. The log goes on
   * growing, though only while some member has a state to decide commands by; here it would be kept
   * for two ends:
   *
   * - A log that still has its first entry makes the state anew at the next start. It is given up
   *   where the log is full.
   * - The state of another member is followed by the log's entries behind it. It comes from a
   *   leader, which has all that is committed: one at `committed` or later can be had, for as long
   *   as this member asks for no earlier one (`RepairRelay.wanted`). It is installed only where the
   *   log begins no later (`LogCompactor.beginBehind`).
   *
   * So a full log is cut as if the database held all that is committed and durable here. What is
   * beyond that may be a promise to a leader, and stays, as do term and vote.
   *
   * @param committed the latest entry that is committed and durable here
   * @returns where the log is to be cut now; null: nowhere
   */
  compactAbandoned(committed: SnapshotMeta, needs: readonly LogNeed[]): SnapshotMeta | null {
    this.#isAbandoned = true
    this.#planner.durable(committed)
    return this.#planner.isFull(this.#lastIndex) ? this.compact(needs) : null
  }

  /** Cuts all that the database holds, whoever needs it. @returns where; null: nothing more */
  compactAll(): SnapshotMeta | null {
    const durable = this.#durable
    if (durable === null || durable.index <= this.#base.index) return null
    this.beginBehind(durable)
    return durable
  }

  /** Where the log begins: everything up to here is in the state only. */
  get base(): SnapshotMeta {
    return this.#base
  }

  /** The log begins behind `base`, whatever the plan was. */
  beginBehind(base: SnapshotMeta): void {
    if (base.index > this.#base.index) {
      this.#base = base
      this.#planner.beginsBehind(base)
    }
    this.#stateIsBack()
  }

  /** What was committed while there was no state is not in the database that follows now. */
  #stateIsBack(): void {
    if (!this.#isAbandoned) return
    this.#isAbandoned = false
    this.#planner.forgetPoints()
  }

  /**
   * A state machine that saw no configuration entry yet is still under the one the log began with.
   */
  complete(snapshot: SnapshotMeta): SnapshotMeta {
    if (snapshot.configuration.members.length > 0) return snapshot
    return { ...snapshot, configuration: this.#base.configuration }
  }
}
