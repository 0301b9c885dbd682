import { assert, present } from '../../base/assert.ts'
import { logIndex } from '../../raft/index.ts'
import type { LogIndex, SnapshotMeta, SnapshotSink } from '../../raft/index.ts'
import { databaseName } from './disk/database-names.ts'
import type { KeyValueDatabases } from './disk/key-value-store.ts'
import { SnapshotStage } from './disk/snapshot-stage.ts'
import { DatabaseError } from './store-errors.ts'
import type { StoreLimits } from './store-limits.ts'

/** What staging asks of the state machine. */
export interface StagingOptions {
  readonly home: KeyValueDatabases
  readonly limits: StoreLimits
  /** See `loadState`. */
  readonly featureLevelMax: number
  readonly appliedMemory: LogIndex
  /** See `StateMachine.wanted`. */
  readonly wanted: LogIndex | null
  /** Resolves once nothing is on its way aside. */
  settled(): Promise<void>
  /** Nothing can be staged here, now or later. */
  failed(cause: unknown): void
}

/**
 * Where another member's state waits to become the live one. One at a time: a new stage takes the
 * place of one that was not installed, and begins once that has gone.
 */
export class Staging {
  readonly #needs: StagingOptions
  #staged: SnapshotStage | null = null
  #staging: Promise<void> = Promise.resolve()

  constructor(needs: StagingOptions) {
    this.#needs = needs
  }

  /** @throws DatabaseError `stale` and those of `SnapshotStage` */
  stage(snapshot: SnapshotMeta): Promise<SnapshotSink> {
    const staging = this.#staging.then(() => this.#stage(snapshot))
    this.#staging = staging.then(
      () => undefined,
      () => undefined,
    )
    return staging
  }

  /** The stage that becomes the live state. */
  take(snapshot: SnapshotMeta): SnapshotStage {
    const stage = present(this.#staged, 'an installed snapshot was staged')
    assert(stage.snapshot.index === snapshot.index, 'the installed snapshot is the one staged last')
    this.#staged = null
    return stage
  }

  /**
   * Where the log brought this member beyond the staged state, that keeps a whole copy in memory
   * for nothing.
   */
  discardObsolete(applied: LogIndex): void {
    const stage = this.#staged
    if (stage === null || stage.snapshot.index > applied) return
    this.#staged = null
    this.#staging = this.#staging
      .then(() => stage.discard())
      .catch((cause: unknown) => this.#needs.failed(cause))
  }

  /** What is staged stays on disk, for the next start to judge. */
  async leave(): Promise<void> {
    await this.#staging
    await this.#staged?.leave()
    this.#staged = null
  }

  async #stage(snapshot: SnapshotMeta): Promise<SnapshotStage> {
    const needs = this.#needs
    await needs.settled()
    await this.#staged?.discard()
    this.#staged = null
    // A leader that missed our answer may send once more what is live by now.
    const lowest = needs.wanted ?? logIndex(needs.appliedMemory + 1)
    if (snapshot.index < lowest) {
      throw new DatabaseError('stale', `a snapshot at ${snapshot.index} is behind ${needs.appliedMemory}`)
    }
    const { home, limits, featureLevelMax } = needs
    const name = databaseName(snapshot.index)
    await home.destroy(name)
    this.#staged = await SnapshotStage.open({
      ...{ home, name, limits, snapshot, featureLevelMax },
      // No snapshot that would be sent after it is any older.
      onTooNew: (cause) => needs.failed(cause),
    })
    return this.#staged
  }
}
