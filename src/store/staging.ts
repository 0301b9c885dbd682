import { assert, present } from '../../base/assert.ts'
import { logIndex } from '../../raft/index.ts'
import type { LogIndex, SnapshotMeta, SnapshotSink } from '../../raft/index.ts'
import { databaseName } from './disk/database-names.ts'
import type { KeyValueDatabases } from './disk/key-value-store.ts'
import { SnapshotStage } from './disk/snapshot-stage.ts'
import { DatabaseError } from './store-errors.ts'
import type { StoreLimits } from './store-limits.ts'

/** Interface of the state machine for staging. */
export interface StagingOptions {
  readonly databases: KeyValueDatabases
  readonly limits: StoreLimits
  /** See `loadState`. */
  readonly featureLevelMax: number
  readonly appliedMemory: LogIndex
  /** See `StateMachine.wanted`. */
  readonly wanted: LogIndex | null
  /** Resolves once no database is being quarantined. */
  settled(): Promise<void>
  /** Called when staging is impossible, now and later. */
  failed(cause: unknown): void
}

/**
 * Holds another member's state until it becomes the live one. One at a time: a new stage replaces
 * one that was not installed, and begins once that was removed.
 */
export class Staging {
  readonly #options: StagingOptions
  #staged: SnapshotStage | null = null
  #staging: Promise<void> = Promise.resolve()

  constructor(options: StagingOptions) {
    this.#options = options
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

  /** Returns the stage that becomes the live state. */
  take(snapshot: SnapshotMeta): SnapshotStage {
    const stage = present(this.#staged, 'an installed snapshot was staged')
    assert(stage.snapshot.index === snapshot.index, 'the installed snapshot is the one staged last')
    this.#staged = null
    return stage
  }

  /** Discards a staged state that the log has overtaken, as it keeps a whole copy in memory. */
  discardObsolete(applied: LogIndex): void {
    const stage = this.#staged
    if (stage === null || stage.snapshot.index > applied) return
    this.#staged = null
    this.#staging = this.#staging
      .then(() => stage.discard())
      .catch((cause: unknown) => this.#options.failed(cause))
  }

  /** Leaves the staged database on disk for the next start. */
  async leave(): Promise<void> {
    await this.#staging
    await this.#staged?.leave()
    this.#staged = null
  }

  async #stage(snapshot: SnapshotMeta): Promise<SnapshotStage> {
    const options = this.#options
    await options.settled()
    await this.#staged?.discard()
    this.#staged = null
    // A leader that did not receive the reply may send a snapshot again that is already installed.
    const lowest = options.wanted ?? logIndex(options.appliedMemory + 1)
    if (snapshot.index < lowest) {
      throw new DatabaseError('stale', `a snapshot at ${snapshot.index} is behind ${options.appliedMemory}`)
    }
    const { databases, limits, featureLevelMax } = options
    const name = databaseName(snapshot.index)
    await databases.destroy(name)
    this.#staged = await SnapshotStage.open({
      ...{ databases, name, limits, snapshot, featureLevelMax },
      // Later snapshots would have the same feature level and format, or newer ones.
      onTooNew: (cause) => options.failed(cause),
    })
    return this.#staged
  }
}
