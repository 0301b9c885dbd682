import type { LogIndex, SnapshotMeta } from '../core/types.ts'
import type { Raft } from '../core/raft.ts'
import type { LogBounds } from './log-bounds.ts'
import type { LogNeed } from './log-needs.ts'

/** What the cutter asks of the driver. */
export interface LogCompactorOptions {
  readonly core: Pick<Raft, 'applied' | 'cut' | 'status' | 'durablyCommitted'>
  readonly extent: LogBounds
  /** The log actor; answered by `LogCompactor.done`. */
  cut(base: SnapshotMeta): void
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
    const { extent } = this.#needs
    const base = this.#damaged ? extent.cutAll() : extent.cut(needs)
    if (base === null) return
    this.#needs.core.cut(base)
    this.#needs.cut(base)
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
    const { core, extent } = this.#needs
    const committed = core.durablyCommitted
    if (committed === null || committed.index <= extent.base.index) return
    const base = extent.cutAbandoned(committed, needs())
    if (base === null) return
    core.applied(base.index)
    core.cut(base)
    this.#needs.cut(base)
  }

  damageFound(): void {
    this.#damaged = true
    const { extent, core } = this.#needs
    const base = extent.cutAll()
    if (base !== null) core.cut(base)
    // The log tries to repair itself with each cut, and nothing may be left to cut.
    this.#needs.cut(extent.base)
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
    const { core, extent } = this.#needs
    if (snapshot.index < extent.base.index) return 'never'
    const { commit, persistedIndex } = core.status()
    if (snapshot.index > commit || snapshot.index > persistedIndex) return 'later'
    this.#isStateSetAside = false
    if (snapshot.index === extent.base.index) {
      extent.beginBehind(snapshot)
      this.#needs.install(snapshot)
      return 'begun'
    }
    const base = extent.complete(snapshot)
    this.#beginning = snapshot
    core.applied(base.index)
    extent.beginBehind(base)
    core.cut(base)
    this.#needs.cut(base)
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
