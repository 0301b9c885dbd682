import type { LogIndex, SnapshotMeta } from '../core/types.ts'
import type { Raft } from '../core/raft.ts'
import type { LogBounds } from './log-bounds.ts'
import type { LogNeed } from './log-needs.ts'

/** What the cutter asks of the driver. */
export interface LogCompactorOptions {
  readonly core: Pick<Raft, 'applied' | 'compact' | 'status' | 'durablyCommitted'>
  readonly bounds: LogBounds
  /** The log actor; answered by `LogCompactor.done`. */
  compact(base: SnapshotMeta): void
  /** The log begins behind this staged state, durably: it is the state now. */
  install(snapshot: SnapshotMeta): void
}

/**
 * Lets go of the beginning of the log: where the database has it, or where a fetched state takes
 * its place.
 */
export class LogCompactor {
  readonly #needs: LogCompactorOptions
  /**
   * Staged in place of a state that was not to be trusted; the log is being told to begin behind
   * it.
   */
  #beginning: SnapshotMeta | null = null
  /**
   * The log is damaged: what the database holds is let go of, so that the log can write the rest
   * anew.
   */
  #damaged = false
  /** Nothing is applied, and no database follows. */
  #isStateSetAside = false

  constructor(needs: LogCompactorOptions) {
    this.#needs = needs
  }

  /** The database holds more than it did. @param needs what peers need of the log */
  durable(needs: readonly LogNeed[]): void {
    const { bounds } = this.#needs
    const base = this.#damaged ? bounds.compactAll() : bounds.compact(needs)
    if (base === null) return
    this.#needs.core.compact(base)
    this.#needs.compact(base)
  }

  stateSetAside(): void {
    this.#isStateSetAside = true
  }

  /** Another state is installed. */
  stateInstalled(): void {
    this.#isStateSetAside = false
  }

  /**
   * Time has passed: without a state the log is kept within its bound all the same.
   *
   * @param needs as for `durable`
   */
  tick(needs: () => readonly LogNeed[]): void {
    if (!this.#isStateSetAside || this.#beginning !== null) return
    const { core, bounds } = this.#needs
    const committed = core.durablyCommitted
    if (committed === null || committed.index <= bounds.base.index) return
    const base = bounds.compactAbandoned(committed, needs())
    if (base === null) return
    core.applied(base.index)
    core.compact(base)
    this.#needs.compact(base)
  }

  damageFound(): void {
    this.#damaged = true
    const { bounds, core } = this.#needs
    const base = bounds.compactAll()
    if (base !== null) core.compact(base)
    // The log tries to repair itself with each cut, and nothing may be left to cut.
    this.#needs.compact(bounds.base)
  }

  damageRepaired(): void {
    this.#damaged = false
  }

  /**
   * The log has all of the staged state, and keeps what follows. Its record of where it begins is
   * what makes the staged state the live one: a crash before it leaves the state wanted, one behind
   * it finds it installed.
   *
   * @returns `later`: not all of it is committed and durable here yet; `never`: the log begins
   * behind it already
   */
  beginBehind(snapshot: SnapshotMeta): 'begun' | 'later' | 'never' {
    const { core, bounds } = this.#needs
    if (snapshot.index < bounds.base.index) return 'never'
    const { commit, persistedIndex } = core.status()
    if (snapshot.index > commit || snapshot.index > persistedIndex) return 'later'
    this.#isStateSetAside = false
    if (snapshot.index === bounds.base.index) {
      bounds.beginBehind(snapshot)
      this.#needs.install(snapshot)
      return 'begun'
    }
    const base = bounds.complete(snapshot)
    this.#beginning = snapshot
    core.applied(base.index)
    bounds.beginBehind(base)
    core.compact(base)
    this.#needs.compact(base)
    return 'begun'
  }

  /** The log: everything at and below `index` is forgotten, durably. */
  done(index: LogIndex): void {
    const beginning = this.#beginning
    if (beginning === null || beginning.index > index) return
    this.#beginning = null
    this.#needs.install(beginning)
  }
}
