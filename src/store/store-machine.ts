import { assert, present } from '../../raft/base/assert.ts'
import type { Clock } from '../../raft/base/clock.ts'
import { logIndex } from '../../raft/index.ts'
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
import { databaseName } from './disk/database-names.ts'
import type { KeyValueHome, KeyValueStore } from './disk/key-value-store.ts'
import { isDamage, openLiveDatabase } from './disk/live-database.ts'
import type { Database, LiveDatabase } from './disk/live-database.ts'
import { Persister } from './disk/persister.ts'
import { SnapshotReader, unconfirmed } from './disk/snapshot-reader.ts'
import { SnapshotStage } from './disk/snapshot-stage.ts'
import { readVersions } from './disk/version-reader.ts'
import { StorageFailure } from './errors.ts'
import type { StoreFailure } from './errors.ts'
import type { StoreLimits } from './limits.ts'
import { DigestSamples } from './machine/digest-samples.ts'
import type { DigestSample } from './machine/digest-samples.ts'
import { digestOf } from './machine/digest.ts'
import { hashText } from './machine/hash.ts'
import { Machine } from './machine/machine.ts'
import type { MachineState } from './machine/state.ts'
import type { Version } from './machine/version.ts'
import { emptyAt, quarantined } from './quarantine.ts'
import type { Quarantine } from './quarantine.ts'
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
  /** The database cannot be written any more: the member must stop. Called once at most. */
  readonly onFailure: (cause: unknown) => void
  /** Another member's state took the place of this one's. Unset: nobody wants to know. */
  readonly onInstalled?: (snapshot: SnapshotMeta) => void
  /** The state is not to be trusted; also told when it was found at the start. Unset: nobody wants to know. */
  readonly onQuarantine?: (quarantine: Quarantine) => void
  /** What was there is set aside, and the log makes it anew. Unset: nobody wants to know. */
  readonly onReplay?: (why: string) => void
  /** Whether other members know this state well enough to be sent it; see `mayGive`. Unset: always. */
  readonly mayGive?: (atLeast: LogIndex | null) => boolean
}

/**
 * The replicated state of one member: memory, which leads, and the database, which follows. Fills the
 * socket of the consensus library; requests come through `Store`.
 *
 *   trusted ──damage, or others agree on another state──> quarantine ──another member's state installed──> trusted
 *
 * In quarantine nothing is applied, read or written; the log goes on without it.
 */
export class StoreMachine implements StateMachine<Outcome> {
  readonly #options: StoreMachineOptions
  /** null in quarantine. */
  #database: Database | null
  #machine: Machine
  #samples: DigestSamples
  #persister: Persister | null
  #appliedDisk: SnapshotMeta
  #quarantine: Quarantine | null = null
  /** The database that is not trusted any more, on its way aside. */
  #condemning: Promise<void> = Promise.resolve()
  #staged: SnapshotStage | null = null
  /** Stagings follow one another: each begins once the one before has gone. */
  #staging: Promise<void> = Promise.resolve()
  readonly #listeners = new Set<() => void>()
  readonly #quarantineListeners = new Set<() => void>()
  #onRoom: () => void = () => undefined
  #failure: Error | null = null

  /**
   * Opens the live database, proves it whole and reads it into memory; removes leftovers of others. When it is damaged,
   * the log makes the state anew if it still has its first entry; else the machine begins in quarantine.
   *
   * @throws StorageFailure `beyond-log`, `unsupported`, `io`
   */
  static async open(options: StoreMachineOptions): Promise<StoreMachine> {
    const found = await openLiveDatabase({ ...options, featureLevelMax: levelMaxOf(options) })
    if (found.damaged !== null && found.open !== null) options.onReplay?.(found.damaged)
    const machine = new StoreMachine(options, found)
    if (found.open === null) machine.#enter(found.damaged ?? 'there is no database')
    return machine
  }

  private constructor(options: StoreMachineOptions, { open }: LiveDatabase) {
    this.#options = options
    this.#database = open?.database ?? null
    this.#samples = new DigestSamples(options.limits)
    this.#machine = this.#newMachine(open?.state ?? emptyAt(options.logBase))
    this.#appliedDisk = this.#machine.applied
    this.#persister = this.#database === null ? null : this.#newPersister(this.#database.store)
  }

  get appliedMemory(): LogIndex {
    return this.#machine.state.appliedIndex
  }

  get appliedDisk(): SnapshotMeta {
    return this.#appliedDisk
  }

  /**
   * Only to be read. A snapshot's installation replaces it.
   * @throws StoreFailure `quarantined`: whoever reads here serves
   */
  get state(): MachineState {
    if (this.#quarantine !== null) throw quarantined()
    return this.#machine.state
  }

  /** Fingerprint of the state in memory; equal on all members at equal indexes. @throws StoreFailure `quarantined` */
  get digest(): string {
    return hashText(digestOf(this.state))
  }

  /** What is or was here, trusted or not: for numbers an operator looks at, never to be served. */
  get lastState(): MachineState {
    return this.#machine.state
  }

  get room(): number {
    if (this.#persister === null || this.#quarantine !== null) return 0
    return this.#options.limits.backlogBytesMax - this.#persister.backlogBytes
  }

  /** For whoever looks the live database through; null in quarantine. */
  get database(): KeyValueStore | null {
    return this.#quarantine === null ? (this.#database?.store ?? null) : null
  }

  /** null: the state is trusted. */
  get quarantine(): Quarantine | null {
    return this.#quarantine
  }

  get wanted(): LogIndex | null {
    return this.#quarantine?.atLeast ?? null
  }

  /** Fingerprints for other members to compare, ascending by index; none in quarantine. */
  get samples(): readonly DigestSample[] {
    return this.#quarantine === null ? this.#samples.samples : []
  }

  /** A fingerprint where memory stands now. */
  sampleNow(): void {
    if (this.#quarantine === null) this.#samples.take(this.#machine.state)
  }

  /** A fingerprint once memory stands there. */
  sampleAt(index: LogIndex): void {
    if (this.#quarantine === null) this.#samples.wish(index, this.#machine.state)
  }

  /** The state is not to be trusted: from this moment on nothing of it is served. @param reason one line */
  condemn(reason: string): void {
    if (this.#quarantine === null && this.#failure === null) this.#enter(reason)
  }

  onRoom(wake: () => void): void {
    this.#onRoom = wake
  }

  /** Calls `listener` after each batch was applied, and after a snapshot was installed. @returns stops it */
  onApplied(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Calls `listener` when the state turned out not to be trusted. @returns stops it */
  onQuarantine(listener: () => void): () => void {
    this.#quarantineListeners.add(listener)
    return () => this.#quarantineListeners.delete(listener)
  }

  apply(entries: readonly Entry[], session: number): readonly SettledProposal<Outcome>[] {
    if (this.#failure !== null) throw this.#failure
    assert(this.#quarantine === null, 'nothing is applied to a state that is not trusted')
    const settled = this.#decided(entries, session)
    if (this.#staged !== null && this.#staged.snapshot.index <= this.appliedMemory) this.#dropStaged()
    this.#persister?.applied()
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
    this.#persister?.logPersisted(index)
  }

  /**
   * Versions by revision, from disk; null for one that left meanwhile.
   * @throws StoreFailure `quarantined`; StorageFailure `io`
   */
  async readVersions(revisions: readonly Revision[]): Promise<readonly (Version | null)[]> {
    const database = this.#trusted()
    try {
      return await readVersions(database.store, revisions)
    } catch (cause) {
      const now = this.#trusted()
      // Another database took its place while we read: what it held is there, or is compacted.
      if (now !== database) return this.readVersions(revisions)
      this.#broken(cause)
      throw this.#quarantine === null ? cause : quarantined()
    }
  }

  /** What was read from disk contradicts memory: nothing more is served. */
  damaged(what: string): StoreFailure {
    this.condemn(what)
    return quarantined()
  }

  async produceSnapshot(atLeast: LogIndex | null = null): Promise<SnapshotSource> {
    if (this.#options.mayGive?.(atLeast) === false) throw unconfirmed()
    if (atLeast !== null && this.#appliedDisk.index < atLeast) await this.#persister?.flush()
    const database = this.#trusted()
    const source = await SnapshotReader.open(database.store, {
      limits: this.#options.limits,
      mayGive: () => this.#database === database && this.#options.mayGive?.(null) !== false,
      onDamage: (cause) => {
        if (this.#database === database) this.#broken(cause)
      },
    })
    if (atLeast === null || source.snapshot.index >= atLeast) return source
    await source.close()
    throw new StorageFailure('stale', `the durable state is at ${source.snapshot.index}, behind ${atLeast}`)
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
    await this.#condemning
    await this.#persister?.stop()
    const old = this.#database
    const { store, state } = stage.take()
    this.#database = { name: databaseName(snapshot.index), store }
    this.#samples = new DigestSamples(this.#options.limits)
    this.#machine = this.#newMachine(state)
    this.#appliedDisk = this.#machine.applied
    this.#persister = this.#newPersister(store)
    this.#quarantine = null
    for (const listener of this.#listeners) listener()
    this.#onRoom()
    this.#options.onInstalled?.(snapshot)
    await old?.store.close()
    if (old !== null) await this.#options.home.destroy(old.name)
    await this.#condemning
    if (this.#quarantine === null) await this.#options.home.discardAside()
  }

  /** Resolves once the database has everything that the log had on disk when this was called. */
  async flushed(): Promise<void> {
    await this.#persister?.flush()
  }

  /** Writes what the log allows, then closes. What is missing on disk is in the log. */
  async close(): Promise<void> {
    await this.#condemning
    await this.#staging
    await this.#staged?.leave()
    this.#staged = null
    await this.#persister?.flush()
    await this.#persister?.stop()
    await this.#database?.store.close()
  }

  #enter(reason: string): void {
    const quarantine: Quarantine = { reason, atLeast: this.appliedMemory }
    this.#quarantine = quarantine
    this.#condemning = this.#setAside().catch((cause: unknown) => this.#fail(cause))
    for (const listener of this.#quarantineListeners) listener()
    this.#options.onQuarantine?.(quarantine)
  }

  /** Durably out of sight: should the process end here, the next one finds no database to trust. */
  async #setAside(): Promise<void> {
    const [database, persister] = [this.#database, this.#persister]
    this.#database = null
    this.#persister = null
    await persister?.stop()
    if (database === null) return
    await database.store.close()
    await this.#options.home.setAside(database.name)
  }

  #trusted(): Database {
    if (this.#database === null || this.#quarantine !== null) throw quarantined()
    return this.#database
  }

  async #stage(snapshot: SnapshotMeta): Promise<SnapshotStage> {
    await this.#condemning
    await this.#staged?.discard()
    this.#staged = null
    // A leader that missed our answer may send once more what is live by now.
    const lowest = this.#quarantine?.atLeast ?? logIndex(this.appliedMemory + 1)
    if (snapshot.index < lowest) {
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

  #newMachine(state: MachineState): Machine {
    return new Machine(state, levelMaxOf(this.#options), this.#samples)
  }

  #newPersister(store: KeyValueStore): Persister {
    const machine = this.#machine
    return new Persister({
      machine,
      store,
      clock: this.#options.clock,
      limits: this.#options.limits,
      onDisk: (applied, revision) => this.#onDisk(machine, applied, revision),
      onFailure: (cause) => {
        if (machine === this.#machine && this.#quarantine === null) this.#broken(cause)
      },
    })
  }

  #onDisk(machine: Machine, applied: SnapshotMeta, revision: Revision): void {
    if (machine !== this.#machine || this.#quarantine !== null) return
    this.#appliedDisk = applied
    const { historyMemoryEventsMax, historyMemoryBytesMax } = this.#options.limits
    machine.state.history.shrink(revision, { events: historyMemoryEventsMax, bytes: historyMemoryBytesMax })
    if (this.room > 0) this.#onRoom()
  }

  /** Another database helps where this one is to blame, and nothing where the disk is. */
  #broken(cause: unknown): void {
    if (cause instanceof StorageFailure && isDamage(cause)) this.condemn(cause.message)
    else this.#fail(cause)
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
