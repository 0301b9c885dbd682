import { assert, present } from '../../raft/base/assert.ts'
import type { Clock } from '../../raft/base/clock.ts'
import { noIndex } from '../../raft/index.ts'
import type {
  Entry,
  LogIndex,
  SettledProposal,
  SnapshotMeta,
  SnapshotSink,
  SnapshotSource,
  StateMachine,
} from '../../raft/index.ts'
import { featureLevelMax as newestLevel } from '../version.ts'
import type { Outcome } from './command.ts'
import { databaseName, indexOfDatabase } from './disk/database-names.ts'
import type { KeyValueHome, KeyValueStore } from './disk/key-value-store.ts'
import { Persister } from './disk/persister.ts'
import { headKey } from './disk/machine-keys.ts'
import { loadState } from './disk/recovery.ts'
import { SnapshotReader } from './disk/snapshot-reader.ts'
import { SnapshotStage } from './disk/snapshot-stage.ts'
import { decodeStoredHead } from './disk/stored-head.ts'
import { readVersions } from './disk/version-reader.ts'
import { StorageFailure } from './errors.ts'
import type { StoreLimits } from './limits.ts'
import { digestOf } from './machine/digest.ts'
import { hashText } from './machine/hash.ts'
import { Machine } from './machine/machine.ts'
import type { MachineState } from './machine/state.ts'
import type { Version } from './machine/version.ts'
import type { Revision } from './revision.ts'

export type StoreMachineOptions = {
  readonly home: KeyValueHome
  readonly clock: Clock
  readonly limits: StoreLimits
  /** Where the recovered log begins: tells which database is the live one. */
  readonly logBase: SnapshotMeta
  /** Where it ends: the database never passed it, unless the log lost entries. */
  readonly logLast: LogIndex
  /** The newest rules this member may decide by; unset: all that the program knows. */
  readonly featureLevelMax?: number
  /** The database cannot be trusted or written any more: the member must stop. Called once at most. */
  readonly onFailure: (cause: unknown) => void
  /** Another member's state took the place of this one's. Unset: nobody wants to know. */
  readonly onInstalled?: (snapshot: SnapshotMeta) => void
}

/**
 * The replicated state of one member: memory, which leads, and the database, which follows. Fills the
 * socket of the consensus library; requests come through `Store`.
 */
export class StoreMachine implements StateMachine<Outcome> {
  readonly #options: StoreMachineOptions
  #database: Database
  #machine: Machine
  #persister: Persister
  #appliedDisk: SnapshotMeta
  #staged: SnapshotStage | null = null
  /** Stagings follow one another: each begins once the one before has gone. */
  #staging: Promise<void> = Promise.resolve()
  readonly #listeners = new Set<() => void>()
  #onRoom: () => void = () => undefined
  #failure: Error | null = null

  /**
   * Opens the live database, proves it whole and reads it into memory; removes leftovers of others.
   * @throws StorageFailure
   */
  static async open(options: StoreMachineOptions): Promise<StoreMachine> {
    const name = await liveDatabase(options.home, options.logBase)
    const store = await opened(options.home, name)
    try {
      const state = await loadState(store, options.limits, levelMaxOf(options))
      if (state.appliedIndex < options.logBase.index) {
        throw new StorageFailure(
          'behind-log',
          `the database is at index ${state.appliedIndex}, the log begins behind ${options.logBase.index}: ` +
            'bring back the database that belongs to this log',
        )
      }
      if (state.appliedIndex > options.logLast) {
        throw new StorageFailure(
          'beyond-log',
          `the database is at index ${state.appliedIndex}, the log ends at ${options.logLast}: ` +
            'the log lost entries; bring back the one that belongs to this database',
        )
      }
      return new StoreMachine(options, { name, store }, state)
    } catch (cause) {
      await store.close()
      throw naming(name, cause)
    }
  }

  private constructor(options: StoreMachineOptions, database: Database, state: MachineState) {
    this.#options = options
    this.#database = database
    this.#machine = new Machine(state, levelMaxOf(options))
    this.#appliedDisk = this.#machine.applied
    this.#persister = this.#newPersister()
  }

  get appliedMemory(): LogIndex {
    return this.#machine.state.appliedIndex
  }

  get appliedDisk(): SnapshotMeta {
    return this.#appliedDisk
  }

  /** Only to be read. A snapshot's installation replaces it. */
  get state(): MachineState {
    return this.#machine.state
  }

  /** Fingerprint of the state in memory; equal on all members at equal indexes. */
  get digest(): string {
    return hashText(digestOf(this.#machine.state))
  }

  get room(): number {
    return this.#options.limits.backlogBytesMax - this.#persister.backlogBytes
  }

  onRoom(wake: () => void): void {
    this.#onRoom = wake
  }

  /** Calls `listener` after each batch was applied, and after a snapshot was installed. @returns stops it */
  onApplied(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  apply(entries: readonly Entry[], session: number): readonly SettledProposal<Outcome>[] {
    if (this.#failure !== null) throw this.#failure
    const settled = this.#decided(entries, session)
    if (this.#staged !== null && this.#staged.snapshot.index <= this.appliedMemory) this.#dropStaged()
    this.#persister.applied()
    for (const listener of this.#listeners) listener()
    return settled
  }

  #decided(entries: readonly Entry[], session: number): SettledProposal<Outcome>[] {
    try {
      return this.#machine.apply(entries, session)
    } catch (cause) {
      // Rules that this member does not know, or a contradiction: either way it decides nothing more.
      this.#fail(cause)
      throw cause
    }
  }

  logPersisted(index: LogIndex): void {
    this.#persister.logPersisted(index)
  }

  /**
   * Versions by revision, from disk; null for one that left meanwhile.
   * @throws StorageFailure
   */
  async readVersions(revisions: readonly Revision[]): Promise<readonly (Version | null)[]> {
    const { store } = this.#database
    try {
      return await readVersions(store, revisions)
    } catch (cause) {
      // Another database took its place while we read: what it held is there, or is compacted.
      if (store !== this.#database.store) return readVersions(this.#database.store, revisions)
      this.#fail(cause)
      throw cause
    }
  }

  /** What was read from disk contradicts memory: nothing more is served. */
  damaged(what: string): StorageFailure {
    const failure = new StorageFailure('damaged', what)
    this.#fail(failure)
    return failure
  }

  async produceSnapshot(): Promise<SnapshotSource> {
    return SnapshotReader.open(this.#database.store, this.#options.limits)
  }

  /**
   * One at a time: a new stage takes the place of one that was not installed.
   * @throws StorageFailure
   */
  stageSnapshot(snapshot: SnapshotMeta): Promise<SnapshotSink> {
    const staging = this.#staging.then(() => this.#stage(snapshot))
    this.#staging = staging.then(
      () => undefined,
      () => undefined,
    )
    return staging
  }

  async installSnapshot(snapshot: SnapshotMeta): Promise<void> {
    const stage = present(this.#staged, 'an installed snapshot was staged')
    assert(stage.snapshot.index === snapshot.index, 'the installed snapshot is the one staged last')
    this.#staged = null
    await this.#persister.stop()
    const old = this.#database
    const { store, state } = stage.take()
    this.#database = { name: databaseName(snapshot.index), store }
    this.#machine = new Machine(state, levelMaxOf(this.#options))
    this.#appliedDisk = this.#machine.applied
    this.#persister = this.#newPersister()
    for (const listener of this.#listeners) listener()
    this.#onRoom()
    this.#options.onInstalled?.(snapshot)
    await old.store.close()
    await this.#options.home.destroy(old.name)
  }

  /** Resolves once the database has everything that the log had on disk when this was called. */
  async flushed(): Promise<void> {
    await this.#persister.flush()
  }

  /** Writes what the log allows, then closes. What is missing on disk is in the log. */
  async close(): Promise<void> {
    await this.#staging
    await this.#staged?.leave()
    this.#staged = null
    await this.#persister.flush()
    await this.#persister.stop()
    await this.#database.store.close()
  }

  async #stage(snapshot: SnapshotMeta): Promise<SnapshotStage> {
    await this.#staged?.discard()
    this.#staged = null
    // A leader that missed our answer may send once more what is live by now.
    if (snapshot.index <= this.appliedMemory) {
      throw new StorageFailure('stale', `a snapshot at ${snapshot.index} is behind ${this.appliedMemory}`)
    }
    const { home, limits } = this.#options
    const featureLevelMax = levelMaxOf(this.#options)
    const name = databaseName(snapshot.index)
    await home.destroy(name)
    this.#staged = await SnapshotStage.open({
      ...{ home, name, limits, snapshot, featureLevelMax },
      // No snapshot that would be sent after it is any older.
      onTooNew: (cause) => this.#fail(cause),
    })
    return this.#staged
  }

  /** The log brought this member beyond the staged state, which keeps a whole copy in memory for nothing. */
  #dropStaged(): void {
    const stage = this.#staged
    this.#staged = null
    this.#staging = this.#staging.then(() => stage?.discard()).catch((cause: unknown) => this.#fail(cause))
  }

  #newPersister(): Persister {
    const machine = this.#machine
    return new Persister({
      machine,
      store: this.#database.store,
      clock: this.#options.clock,
      limits: this.#options.limits,
      onDisk: (applied, revision) => this.#onDisk(machine, applied, revision),
      onFailure: (cause) => this.#fail(cause),
    })
  }

  #onDisk(machine: Machine, applied: SnapshotMeta, revision: Revision): void {
    if (machine !== this.#machine) return
    this.#appliedDisk = applied
    const { historyMemoryEventsMax, historyMemoryBytesMax } = this.#options.limits
    machine.state.history.shrink(revision, { events: historyMemoryEventsMax, bytes: historyMemoryBytesMax })
    if (this.room > 0) this.#onRoom()
  }

  #fail(cause: unknown): void {
    if (this.#failure !== null) return
    this.#failure = cause instanceof Error ? cause : new StorageFailure('io', String(cause))
    this.#options.onFailure(cause)
  }
}

function levelMaxOf({ featureLevelMax = newestLevel }: StoreMachineOptions): number {
  return featureLevelMax
}

type Database = { readonly name: string; readonly store: KeyValueStore }

/**
 * The one that is furthest among those not beyond the log's base. One beyond it was staged and never became
 * the state, because the log record that says so is the commit point. One at or below it may have been
 * staged and passed over, since entries overtook it: then the live one is further by now, or the log
 * could not have been cut up to there.
 */
async function liveDatabase(home: KeyValueHome, logBase: SnapshotMeta): Promise<string> {
  const found: { readonly name: string; readonly index: LogIndex }[] = []
  for (const name of await home.list()) {
    const index = indexOfDatabase(name)
    if (index !== null) found.push({ name, index })
  }
  const possible = found.filter(({ index }) => index <= logBase.index)
  let live = possible[0]?.name ?? databaseName(noIndex)
  if (possible.length > 1) {
    let furthest = -1
    for (const { name } of possible) {
      const applied = await appliedIn(home, name)
      if (applied > furthest) [furthest, live] = [applied, name]
    }
  }
  for (const { name } of found) if (name !== live) await home.destroy(name)
  return live
}

/** @throws StorageFailure */
async function opened(home: KeyValueHome, name: string): Promise<KeyValueStore> {
  try {
    return await home.open(name)
  } catch (cause) {
    throw naming(name, cause)
  }
}

/** A refusal as its operator reads it: which database, and what to do. */
function naming(name: string, cause: unknown): unknown {
  if (!(cause instanceof StorageFailure)) return cause
  const { code, message } = cause
  const isDamage = code === 'damaged' || code === 'digest' || code === 'io'
  const remedy = isDamage ? ': bring back an undamaged copy of the data directory' : ''
  return new StorageFailure(code, `database ${name}: ${message}${remedy}`, { cause })
}

/** How far a database is; -1 for one without a head, which was never whole. @throws StorageFailure */
async function appliedIn(home: KeyValueHome, name: string): Promise<number> {
  const store = await opened(home, name)
  try {
    const [stored] = await store.getMany([headKey])
    return stored === null || stored === undefined ? -1 : decodeStoredHead(stored).head.appliedIndex
  } catch (cause) {
    throw naming(name, cause)
  } finally {
    await store.close()
  }
}
