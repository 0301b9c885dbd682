import type { LogIndex, SnapshotMeta } from '../core/types.ts'
import type { Raft } from '../core/raft.ts'
import type { LogBounds } from './log-bounds.ts'
import type { LogNeed } from './log-needs.ts'

/** The driver, as the compactor uses it. */
export interface LogCompactorOptions {
  readonly core: Pick<Raft, 'applied' | 'compact' | 'status' | 'durablyCommitted'>
  readonly bounds: LogBounds
  /** Compacts the log; `LogCompactor.done` is called when that is durable. */
  compact(base: SnapshotMeta): void
  /**
   * Installs a staged snapshot. Called once the log durably begins after it, or at once if the log
   * is already compacted to its index.
   */
  install(snapshot: SnapshotMeta): void
}

/**
 * Compacts the log up to the index of the database or of a staged snapshot. While the state is
 * quarantined, compacts a full log up to the last entry that is committed and durable.
 */
export class LogCompactor {
  readonly #options: LogCompactorOptions
  /** The snapshot that replaces a quarantined state, while the log is being compacted to it. */
  #pendingBase: SnapshotMeta | null = null
  /**
   * The log is damaged: everything that the database holds is compacted, so that the log can
   * rewrite the rest.
   */
  #damaged = false
  /** The state is quarantined: nothing is applied, and no database advances. */
  #isStateQuarantined = false

  constructor(options: LogCompactorOptions) {
    this.#options = options
  }

  /**
   * Compacts the log if possible, because the database advanced.
   *
   * @param needs the entries that peers need
   */
  durable(needs: readonly LogNeed[]): void {
    const { bounds } = this.#options
    const base = this.#damaged ? bounds.compactAll() : bounds.compact(needs)
    if (base === null) return
    this.#options.core.compact(base)
    this.#options.compact(base)
  }

  stateQuarantined(): void {
    this.#isStateQuarantined = true
  }

  /**
   * Compacts everything that the database holds, without regard to the retention. A follower
   * without contact may need a snapshot later.
   *
   * @returns false when that is not possible now: the database does not hold `through`, a follower
   *   needs entries, or the log or the state is being repaired
   */
  compactThrough(through: LogIndex, needs: readonly LogNeed[]): boolean {
    const { core, bounds } = this.#options
    if (this.#damaged || this.#isStateQuarantined || this.#pendingBase !== null) return false
    const { durableIndex } = bounds
    if (durableIndex < through || needs.some(({ from }) => from < durableIndex)) return false
    const base = bounds.compactAll()
    if (base === null) return true
    core.compact(base)
    this.#options.compact(base)
    return true
  }

  /** Records that a snapshot was installed, so the state is not quarantined any more. */
  stateInstalled(): void {
    this.#isStateQuarantined = false
  }

  /**
   * Limits the size of the log while the state is quarantined.
   *
   * @param needs as for `durable`
   */
  tick(needs: () => readonly LogNeed[]): void {
    if (!this.#isStateQuarantined || this.#pendingBase !== null) return
    const { core, bounds } = this.#options
    const committed = core.durablyCommitted
    if (committed === null || committed.index <= bounds.base.index) return
    const base = bounds.compactAbandoned(committed, needs())
    if (base === null) return
    core.applied(base.index)
    core.compact(base)
    this.#options.compact(base)
  }

  damageFound(): void {
    this.#damaged = true
    const { bounds, core } = this.#options
    const base = bounds.compactAll()
    if (base !== null) core.compact(base)
    // The log tries to repair itself with each compaction, even if there is nothing to compact.
    this.#options.compact(bounds.base)
  }

  damageRepaired(): void {
    this.#damaged = false
  }

  /**
   * Makes the log begin after the staged snapshot if the log reaches that far, and keeps the later
   * entries. The staged snapshot is installed once the new base of the log is durable. A crash
   * before that leaves the member without a usable state; after a later crash the next start
   * installs the snapshot.
   *
   * @returns `later`: the log is not committed and durable up to the snapshot yet; `never`: the log
   *   already begins after the snapshot
   */
  beginAfter(snapshot: SnapshotMeta): 'begun' | 'later' | 'never' {
    const { core, bounds } = this.#options
    if (snapshot.index < bounds.base.index) return 'never'
    const { commit, persistedIndex } = core.status()
    if (snapshot.index > commit || snapshot.index > persistedIndex) return 'later'
    this.#isStateQuarantined = false
    if (snapshot.index === bounds.base.index) {
      bounds.beginAfter(snapshot)
      this.#options.install(snapshot)
      return 'begun'
    }
    const base = bounds.complete(snapshot)
    this.#pendingBase = snapshot
    core.applied(base.index)
    bounds.beginAfter(base)
    core.compact(base)
    this.#options.compact(base)
    return 'begun'
  }

  /** Handles the report of the log that everything at and below `index` is durably removed. */
  done(index: LogIndex): void {
    const beginning = this.#pendingBase
    if (beginning === null || beginning.index > index) return
    this.#pendingBase = null
    this.#options.install(beginning)
  }
}
