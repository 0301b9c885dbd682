import { entryBytes } from '../core/types.ts'
import type { Entry, LogIndex, SnapshotMeta } from '../core/types.ts'
import type { RecoveredLog } from '../ports.ts'
import { CompactionPlanner } from './compaction-planner.ts'
import type { CompactionLimits } from './compaction-planner.ts'
import type { LogNeed } from './log-needs.ts'

type LogExtent = Pick<RecoveredLog, 'base' | 'lastIndex' | 'bytes'>

/**
 * Base and last index of this member's log as of its latest write, and the base to compact it to.
 */
export class LogBounds {
  readonly #planner: CompactionPlanner
  #base: SnapshotMeta
  #lastIndex: LogIndex
  /** The snapshot metadata of the database; null: not known. */
  #durable: SnapshotMeta | null = null
  /** Whether the planner has indexes to compact to that no database holds. */
  #isAbandoned = false

  /** @param held the snapshot metadata of the database at start */
  constructor(
    limits: CompactionLimits,
    { base, lastIndex, bytes }: LogExtent,
    held: SnapshotMeta | null = null,
  ) {
    this.#planner = new CompactionPlanner(limits, base, bytes)
    this.#base = base
    this.#lastIndex = lastIndex
    this.#durable = held === null ? null : this.complete(held)
  }

  /** Records one write, in the order of `LogWrite`: first the snapshot, then the entries. */
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
   * Records that the database holds everything up to `snapshot`.
   *
   * @returns false when the log already begins there or later
   */
  durable(snapshot: SnapshotMeta): boolean {
    if (snapshot.index <= this.#base.index) return false
    this.#dropAbandonedPoints()
    this.#durable = this.complete(snapshot)
    this.#planner.durable(this.#durable)
    return true
  }

  /** @returns the base to compact to now; null: do not compact */
  compact(needs: readonly LogNeed[]): SnapshotMeta | null {
    const base = this.#planner.next(this.#lastIndex, needs)
    if (base === null || base.index <= this.#base.index) return null
    this.#base = base
    return base
  }

  /**
   * Compacts the log of a member whose state is quarantined. No database advances then, so the log
   * would grow without bound as long as the other members commit. Its entries have two uses:
   *
   * - They rebuild the state at the next start, while the log still has its first entry. This is
   *   abandoned when the log is full.
   * - They follow the snapshot of another member. That snapshot comes from a leader, which has
   *   everything that is committed, so one at `committed` or later is available, as long as this
   *   member requests no earlier one (`RepairRelay.wanted`). It is installed only if the log does
   *   not begin after it (`LogCompactor.beginAfter`).
   *
   * So a full log is compacted as if the database held everything that is committed and durable
   * here. Later entries stay, because they may have been acknowledged to a leader; term and vote
   * stay too.
   *
   * @param committed the latest entry that is committed and durable here
   * @returns the base to compact to now; null: do not compact
   */
  compactAbandoned(committed: SnapshotMeta, needs: readonly LogNeed[]): SnapshotMeta | null {
    this.#isAbandoned = true
    this.#planner.durable(committed)
    return this.#planner.isFull(this.#lastIndex) ? this.compact(needs) : null
  }

  /**
   * Compacts everything that the database holds, even entries that followers need.
   *
   * @returns the new base; null: nothing to compact
   */
  compactAll(): SnapshotMeta | null {
    const durable = this.#durable
    if (durable === null || durable.index <= this.#base.index) return null
    this.beginAfter(durable)
    return durable
  }

  /** The last index that the database is known to hold. */
  get durableIndex(): LogIndex {
    return this.#durable !== null && this.#durable.index > this.#base.index
      ? this.#durable.index
      : this.#base.index
  }

  /** The base of the log: entries up to here are only in the state. */
  get base(): SnapshotMeta {
    return this.#base
  }

  /** Sets the base of the log, even if another one was planned. */
  beginAfter(base: SnapshotMeta): void {
    if (base.index > this.#base.index) {
      this.#base = base
      this.#planner.beginsAfter(base)
    }
    this.#dropAbandonedPoints()
  }

  /**
   * Removes the indexes to compact to that were added while the state was quarantined: the new
   * database may not hold them.
   */
  #dropAbandonedPoints(): void {
    if (!this.#isAbandoned) return
    this.#isAbandoned = false
    this.#planner.forgetPoints()
  }

  /**
   * Adds the configuration that the log began with if the state machine has not applied one yet.
   */
  complete(snapshot: SnapshotMeta): SnapshotMeta {
    if (snapshot.configuration.members.length > 0) return snapshot
    return { ...snapshot, configuration: this.#base.configuration }
  }
}
