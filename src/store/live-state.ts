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
import type { Revision } from './revision.ts'

export type LiveStateOptions = {
  readonly home: KeyValueDatabases
  readonly clock: Clock
  readonly limits: StoreLimits
  /** The newest rules this member may decide by. */
  readonly featureLevelMax: number
  /**
   * The database moved on. Not called once the state was put aside or replaced; nor is `onFailure`.
   */
  readonly onDisk: (applied: LogIndex) => void
  /** The database cannot be written, or is damaged. */
  readonly onFailure: (cause: unknown) => void
}

/**
 * One state: memory, which leads, and its database, which follows. Another state takes its place as
 * a whole. Without a database it is only what was known here last.
 */
export class LiveState {
  readonly machine: Machine
  readonly samples: DigestSamples
  readonly #options: LiveStateOptions
  #database: Database | null
  #persister: Persister | null
  #appliedDisk: SnapshotMeta
  /** A record of a disagreement, on its way to disk. */
  #noting: Promise<void> = Promise.resolve()
  /** Not the state of this member any more. */
  #retired = false

  constructor(options: LiveStateOptions, state: MachineState, database: Database | null) {
    this.#options = options
    this.#database = database
    this.samples = new DigestSamples(options.limits)
    this.machine = new Machine(state, options.featureLevelMax, this.samples)
    this.#appliedDisk = this.machine.applied
    this.#persister = database === null ? null : this.#newPersister(database)
  }

  /** What the database durably holds. */
  get appliedDisk(): SnapshotMeta {
    return this.#appliedDisk
  }

  /** null once it was put aside. */
  get database(): Database | null {
    return this.#database
  }

  /** Bytes that may be applied before the database has to catch up. */
  get room(): number {
    return this.#persister === null ? 0 : this.#options.limits.backlogBytesMax - this.#persister.backlogBytes
  }

  /**
   * Makes durable that other members have another state, or that they have not. Does nothing
   * without a database.
   */
  recordDisagreement(record: DisagreementRecord | null): void {
    if (this.#database === null) return
    this.#noting = this.#database.store.write([disagreementChange(record)]).catch((cause: unknown) => {
      if (!this.#retired) this.#options.onFailure(cause)
    })
  }

  /** Memory moved on. */
  applied(): void {
    this.#persister?.applied()
  }

  logPersisted(index: LogIndex): void {
    this.#persister?.logPersisted(index)
  }

  /** Resolves once the database has everything that the log had on disk when this was called. */
  async flush(): Promise<void> {
    await this.#persister?.flush()
  }

  /** Resolves once nothing is being written; what is in memory only stays so. */
  async stop(): Promise<void> {
    await this.#persister?.stop()
    await this.#noting
  }

  /** Another state is the live one. */
  retire(): void {
    this.#retired = true
  }

  async destroy(): Promise<void> {
    const database = this.#database
    if (database === null) return
    await database.store.close()
    await this.#options.home.destroy(database.name)
  }

  /**
   * Nothing of it is read any more from this call on; durably out of sight once it resolves: should
   * the process end then, the next one finds no database to trust. So that it does not either
   * before the last batch is written and the database closed, which may take long, a note comes
   * first.
   *
   * @param free resolves once nothing else is at the place where it goes
   */
  async setAside(reason: string, free: Promise<unknown>): Promise<void> {
    const [database, persister] = [this.#database, this.#persister]
    this.#retired = true
    this.#database = null
    this.#persister = null
    // A disk that takes no note may still take the renaming, which says the same.
    if (database !== null)
      await this.#options.home.markQuarantined(database.name, reason).catch(() => undefined)
    await persister?.stop()
    await this.#noting
    if (database === null) return
    await database.store.close()
    await free
    await this.#options.home.quarantine(database.name)
  }

  /** Writes what the log allows, then closes. */
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
    const { historyMemoryEventsMax, historyMemoryBytesMax } = this.#options.limits
    this.machine.state.history.shrink(revision, {
      events: historyMemoryEventsMax,
      bytes: historyMemoryBytesMax,
    })
    this.#options.onDisk(applied.index)
  }
}
