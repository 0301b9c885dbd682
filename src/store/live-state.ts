import type { Clock } from '../../base/clock.ts'
import type { LogIndex, SnapshotMeta } from '../../raft/index.ts'
import { disagreementChange } from './disk/disagreement-record.ts'
import type { DisagreementRecord } from './disk/disagreement-record.ts'
import type { KeyValueDatabases } from './disk/key-value-store.ts'
import type { Database } from './disk/live-database.ts'
import { Persister } from './disk/persister.ts'
import type { StoreLimits } from './store-limits.ts'
import { DigestSamples } from './machine/digest-samples.ts'
import { Machine } from './machine/machine.ts'
import type { MachineState } from './machine/state.ts'
import { noRevision } from './revision.ts'
import type { Revision } from './revision.ts'

export type LiveStateOptions = {
  readonly databases: KeyValueDatabases
  readonly clock: Clock
  readonly limits: StoreLimits
  /** Highest feature level of this member. */
  readonly featureLevelMax: number
  /**
   * The database has advanced. Not called once the state was quarantined or replaced; nor is
   * `onFailure`.
   */
  readonly onDisk: (applied: LogIndex) => void
  /** The database cannot be written, or is damaged. */
  readonly onFailure: (cause: unknown) => void
}

/**
 * One state: in memory, and in the database that is written after it. It is replaced as a whole.
 * Without a database it is only the last known state.
 */
export class LiveState {
  readonly machine: Machine
  readonly samples: DigestSamples
  readonly #options: LiveStateOptions
  #database: Database | null
  #persister: Persister | null
  #appliedDisk: SnapshotMeta
  #revisionOnDisk: Revision = noRevision
  /** The next turn drops further events from memory. */
  #shrinksSoon = false
  /** Write of a disagreement record in progress. */
  #noting: Promise<void> = Promise.resolve()
  /** No longer the state of this member. */
  #retired = false

  constructor(options: LiveStateOptions, state: MachineState, database: Database | null) {
    this.#options = options
    this.#database = database
    this.samples = new DigestSamples(options.limits)
    this.machine = new Machine(state, options.featureLevelMax, this.samples)
    this.#appliedDisk = this.machine.applied
    this.#persister = database === null ? null : this.#newPersister(database)
  }

  /** The state that is durable in the database. */
  get appliedDisk(): SnapshotMeta {
    return this.#appliedDisk
  }

  /** null: there is none, or it was quarantined. */
  get database(): Database | null {
    return this.#database
  }

  /** Bytes that may be applied before the database must catch up. */
  get capacity(): number {
    return this.#persister === null ? 0 : this.#options.limits.backlogBytesMax - this.#persister.backlogBytes
  }

  /**
   * Durably records that other members have another state, or removes the record. Does nothing
   * without a database.
   */
  recordDisagreement(record: DisagreementRecord | null): void {
    if (this.#database === null) return
    this.#noting = this.#database.store.write([disagreementChange(record)]).catch((cause: unknown) => {
      if (!this.#retired) this.#options.onFailure(cause)
    })
  }

  /** Called after memory has applied entries. */
  applied(): void {
    this.#persister?.applied()
  }

  logPersisted(index: LogIndex): void {
    this.#persister?.logPersisted(index)
  }

  /** Resolves once everything applied is written, except batches that the log lacks on disk. */
  async flush(): Promise<void> {
    await this.#persister?.flush()
  }

  /**
   * Resolves once no write is in progress. Further changes are not written: the log has their
   * entries.
   */
  async stop(): Promise<void> {
    await this.#persister?.stop()
    await this.#noting
  }

  /** Called when another state became the live one. */
  retire(): void {
    this.#retired = true
  }

  async destroy(): Promise<void> {
    const database = this.#database
    if (database === null) return
    await database.store.close()
    await this.#options.databases.destroy(database.name)
  }

  /**
   * Quarantines the database. From this call on, the database is not read anymore. Once the call
   * resolves, the next start finds no database to trust. A durable mark is written first, because
   * the last batch and closing may take long.
   *
   * @param free resolves once the previous quarantined database was removed
   */
  async quarantine(reason: string, free: Promise<unknown>): Promise<void> {
    const [database, persister] = [this.#database, this.#persister]
    this.#retired = true
    this.#database = null
    this.#persister = null
    // If the disk refuses the mark, renaming may still succeed and has the same effect.
    if (database !== null)
      await this.#options.databases.markQuarantined(database.name, reason).catch(() => undefined)
    await persister?.stop()
    await this.#noting
    if (database === null) return
    await database.store.close()
    await free
    await this.#options.databases.quarantine(database.name)
  }

  /** Flushes, then closes. */
  async close(): Promise<void> {
    await this.flush()
    await this.stop()
    await this.#database?.store.close()
  }

  #newPersister({ store }: Database): Persister {
    const { clock, limits } = this.#options
    return new Persister({
      machine: this.machine,
      ...{ store, clock, limits },
      onDisk: (applied, revision) => this.#onDisk(applied, revision),
      onFailure: (cause) => {
        if (!this.#retired) this.#options.onFailure(cause)
      },
    })
  }

  #onDisk(applied: SnapshotMeta, revision: Revision): void {
    if (this.#retired) return
    this.#appliedDisk = applied
    this.#revisionOnDisk = revision
    this.#shrinkHistory()
    this.#options.onDisk(applied.index)
  }

  /** Drops events from memory, over several turns if they are many. */
  #shrinkHistory(): void {
    if (this.#retired) return
    const { clock, limits } = this.#options
    const bounds = { events: limits.historyMemoryEventsMax, bytes: limits.historyMemoryBytesMax }
    const isDone = this.machine.state.history.shrink(this.#revisionOnDisk, bounds)
    if (isDone || this.#shrinksSoon) return
    this.#shrinksSoon = true
    clock.soon(() => {
      this.#shrinksSoon = false
      this.#shrinkHistory()
    })
  }
}
