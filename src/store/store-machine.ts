import { assert } from '../../base/assert.ts'
import type {
  Configuration,
  Entry,
  LogIndex,
  SettledProposal,
  SnapshotMeta,
  SnapshotSink,
  SnapshotSource,
  StateMachine,
} from '../../raft/index.ts'
import type { Outcome } from './command.ts'
import { databaseName } from './disk/database-names.ts'
import type { KeyValueStore } from './disk/key-value-store.ts'
import { isDamage, openLiveDatabase } from './disk/live-database.ts'
import type { Database, LiveDatabase } from './disk/live-database.ts'
import { QuarantinedDatabase } from './disk/quarantined-database.ts'
import { SnapshotReader, unconfirmedError } from './disk/snapshot-reader.ts'
import { readVersions } from './disk/version-reader.ts'
import { DatabaseError } from './store-errors.ts'
import type { StoreError } from './store-errors.ts'
import { LiveState } from './live-state.ts'
import type { DigestSample } from './machine/digest-samples.ts'
import { digestOf } from './machine/digest.ts'
import { hashText } from './machine/hash.ts'
import type { MachineState } from './machine/state.ts'
import type { Version } from './machine/object-version.ts'
import { emptyAt, quarantinedError, repairWaitMs } from './quarantine.ts'
import type { Disagreement, Quarantine, QuarantineCause } from './quarantine.ts'
import type { Revision } from './revision.ts'
import { Staging } from './staging.ts'
import { levelMaxOf } from './store-machine-options.ts'
import type { StoreMachineOptions } from './store-machine-options.ts'

/**
 * The replicated state of one member: memory, which leads, and the database, which follows.
 * Implements the state machine of the consensus library; requests come through `Store`.
 *
 *   trusted ──damage, or repair by an operator──> quarantined ──snapshot installed──> trusted
 *      └──other members have another state──> suspect ──confirmed, or operator──> trusted
 *
 * Only a trusted state is served. A suspect one follows the log; damage or repair quarantines it.
 */
export class StoreMachine implements StateMachine<Outcome> {
  readonly #options: StoreMachineOptions
  readonly #quarantined: QuarantinedDatabase
  readonly #staging: Staging
  /** Has no database once it is quarantined. */
  #live: LiveState
  #quarantine: Quarantine | null = null
  /** When the state of another member may be requested, in ms of the monotonic clock. */
  #repairAtMs = 0
  /** See `Quarantine.times`. */
  #timesDamaged = 0
  #trustedSinceMs: number
  /** Number of quarantines since the start, by cause. */
  readonly quarantines: Record<QuarantineCause, number> = { damaged: 0, disagreement: 0, operator: 0 }
  /** Move of the quarantined database in progress. */
  #quarantining: Promise<void> = Promise.resolve()
  readonly #listeners = new Set<() => void>()
  readonly #quarantineListeners = new Set<() => void>()
  #onCapacity: () => void = () => undefined
  #failure: Error | null = null

  /**
   * Opens, verifies and loads the live database; removes leftovers. Without an undamaged one, a log
   * that has its first entry rebuilds the state; with any other log, the machine is in quarantine.
   *
   * @throws DatabaseError `beyond-log`, `unsupported`, `io`, `full`
   */
  static async open(options: StoreMachineOptions): Promise<StoreMachine> {
    const found = await openLiveDatabase({ ...options, featureLevelMax: levelMaxOf(options) })
    if (found.damaged !== null && found.open !== null) options.onReplay?.(found.damaged)
    if (found.missing && found.open !== null) options.onMissing?.()
    const machine = new StoreMachine(options, found)
    if (found.open === null) machine.enterQuarantine(found.damaged ?? 'there is no database')
    else if (found.damaged === null) await machine.#quarantined.remove()
    else machine.#quarantined.keepUntil(options.logLast)
    const disagreement = found.open?.disagreement ?? null
    if (disagreement !== null) machine.#begin({ cause: 'disagreement', ...disagreement })
    return machine
  }

  private constructor(options: StoreMachineOptions, { open }: LiveDatabase) {
    this.#options = options
    this.#quarantined = new QuarantinedDatabase(options.databases, options.onQuarantinedDatabase)
    this.#staging = this.#newStaging()
    this.#live = this.#newLive(open?.state ?? emptyAt(options.logBase), open?.database ?? null)
    this.#trustedSinceMs = options.clock.monotonicMs()
  }

  get appliedMemory(): LogIndex {
    return this.#live.machine.state.appliedIndex
  }

  get appliedDisk(): SnapshotMeta {
    return this.#live.appliedDisk
  }

  /**
   * Read-only. Replaced when a snapshot is installed.
   * @throws StoreError `quarantined`, as readers of it serve clients
   */
  get state(): MachineState {
    if (this.#quarantine !== null) throw quarantinedError()
    return this.#live.machine.state
  }

  /**
   * Digest of the state; equal on all members at equal indexes.
   *
   * @throws StoreError `quarantined`
   */
  get digest(): string {
    return hashText(digestOf(this.state))
  }

  /** The current or last state, trusted or not. Its objects are never served. */
  get lastState(): MachineState {
    return this.#live.machine.state
  }

  get capacity(): number {
    return this.#live.capacity
  }

  /** The configuration as of the newest applied entry. */
  get configuration(): Configuration {
    return this.#live.machine.applied.configuration
  }

  /** The live database, for the scrub and `removeTrimmed`; null in quarantine. */
  get database(): KeyValueStore | null {
    return this.#quarantine === null ? (this.#live.database?.store ?? null) : null
  }

  /** null: the state is trusted. */
  get quarantine(): Quarantine | null {
    return this.#quarantine
  }

  get wanted(): LogIndex | null {
    const fetching = this.#fetching
    if (fetching === null || this.#options.clock.monotonicMs() < this.#repairAtMs) return null
    return fetching.atLeast
  }

  get isQuarantined(): boolean {
    return this.#fetching !== null
  }

  /** Digests for other members to compare, ascending by index; empty without a state. */
  get samples(): readonly DigestSample[] {
    return this.#fetching === null ? this.#live.samples.samples : []
  }

  /** Takes a digest at the current index. */
  sampleNow(): void {
    if (this.#fetching === null) this.#live.samples.take(this.#live.machine.state)
  }

  /** Requests a digest at a future index. */
  sampleAt(index: LogIndex): void {
    if (this.#fetching === null) this.#live.samples.request(index, this.#live.machine.state)
  }

  /** Quarantines a damaged state and begins to fetch another one. @param reason one line */
  enterQuarantine(reason: string): void {
    this.#quarantineLive(reason, 'damaged')
  }

  quarantineState(reason: string, atLeast: LogIndex): void {
    this.#quarantineLive(reason, 'damaged', atLeast)
  }

  /** Quarantines the state for an operator, and fetches another one. @param reason one line */
  repair(reason: string): void {
    this.#quarantineLive(reason, 'operator')
  }

  /**
   * Stops serving this state, also after restarts, because other members have another one.
   * @param reason one line
   */
  suspect(disagreement: Disagreement, reason: string): void {
    const known = this.#quarantine
    if (this.#failure !== null || this.#fetching !== null) return
    if (known?.cause === 'disagreement' && known.disagreement === disagreement) return
    this.#live.recordDisagreement({ disagreement, reason })
    this.#begin({ cause: 'disagreement', disagreement, reason })
  }

  /** Serves a suspect state again, after it was confirmed or on request of an operator. */
  trust(): void {
    if (this.#quarantine?.cause !== 'disagreement') return
    this.#quarantine = null
    this.#live.recordDisagreement(null)
    for (const listener of this.#listeners) listener()
  }

  onCapacity(wake: () => void): void {
    this.#onCapacity = wake
  }

  /** Calls `listener` when readers may see another state. @returns its unsubscription */
  onApplied(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Calls `listener` when the state is quarantined. @returns its unsubscription */
  onQuarantine(listener: () => void): () => void {
    this.#quarantineListeners.add(listener)
    return () => this.#quarantineListeners.delete(listener)
  }

  apply(entries: readonly Entry[], session: number): readonly SettledProposal<Outcome>[] {
    if (this.#failure !== null) throw this.#failure
    assert(this.#fetching === null, 'nothing is applied to a quarantined state')
    const settled = this.#decided(entries, session)
    this.#staging.discardObsolete(this.appliedMemory)
    this.#live.applied()
    // Listeners read the state.
    if (this.#quarantine === null) for (const listener of this.#listeners) listener()
    return settled
  }

  #decided(entries: readonly Entry[], session: number): SettledProposal<Outcome>[] {
    try {
      return this.#live.machine.apply(entries, session)
    } catch (cause) {
      // An unsupported feature level, or a contradiction: apply stops for good.
      this.#fail(cause)
      throw cause
    }
  }

  logPersisted(index: LogIndex): void {
    this.#live.logPersisted(index)
  }

  /**
   * Reads versions by revision from disk; null for one that was removed.
   * @throws StoreError `quarantined`; DatabaseError `io`
   */
  async readVersions(revisions: readonly Revision[]): Promise<readonly (Version | null)[]> {
    const database = this.#trusted()
    try {
      const versions = await readVersions(database.store, revisions)
      this.#trusted()
      return versions
    } catch (cause) {
      const now = this.#trusted()
      // The database was replaced during the read: the new one has the versions, or they are
      // compacted.
      if (now !== database) return this.readVersions(revisions)
      this.#broken(cause)
      throw this.#quarantine === null ? cause : quarantinedError()
    }
  }

  /** Data on disk contradicts memory: quarantines the state. */
  damaged(what: string): StoreError {
    this.enterQuarantine(what)
    return quarantinedError()
  }

  async produceSnapshot(atLeast: LogIndex | null = null): Promise<SnapshotSource> {
    if (this.#options.mayGive?.() === false) throw unconfirmedError()
    if (atLeast !== null && this.appliedDisk.index < atLeast) await this.#live.flush()
    const database = this.#trusted()
    const source = await SnapshotReader.open(database.store, {
      limits: this.#options.limits,
      mayGive: () =>
        this.#quarantine === null && this.#live.database === database && this.#options.mayGive?.() !== false,
      onDamage: (cause) => {
        if (this.#live.database === database) this.#broken(cause)
      },
    })
    if (atLeast === null || source.snapshot.index >= atLeast) return source
    await source.close()
    throw new DatabaseError('stale', `the durable state is at ${source.snapshot.index}, behind ${atLeast}`)
  }

  /** See `Staging`. @throws DatabaseError */
  async stageSnapshot(snapshot: SnapshotMeta): Promise<SnapshotSink> {
    if (this.#quarantine?.cause !== 'disagreement') return this.#staging.stage(snapshot)
    const remedy = 'its state is kept until an operator decides: orchctl member repair'
    throw new DatabaseError('suspect', `other members have another state than this one, ${remedy}`)
  }

  async installSnapshot(snapshot: SnapshotMeta): Promise<void> {
    const stage = this.#staging.take(snapshot)
    await this.#quarantining
    const old = this.#live
    await old.stop()
    const { store, state } = stage.take()
    this.#live = this.#newLive(state, { name: databaseName(snapshot.index), store })
    old.retire()
    if (this.#quarantine !== null) this.#trustedSinceMs = this.#options.clock.monotonicMs()
    this.#quarantine = null
    for (const listener of this.#listeners) listener()
    this.#onCapacity()
    this.#options.onInstalled?.(snapshot)
    await old.destroy()
    await this.#quarantining
    if (this.#quarantine === null) await this.#quarantined.remove()
  }

  /** Resolves once everything applied is written, except batches that the log lacks on disk. */
  async flushed(): Promise<void> {
    await this.#live.flush()
  }

  /** Flushes the database, then closes it. The log has the rest. */
  async close(): Promise<void> {
    await this.#quarantining
    await this.#staging.leave()
    await this.#live.close()
    await this.#quarantined.settled
  }

  /** null: there is a state, trusted or suspect. */
  get #fetching(): Extract<Quarantine, { readonly atLeast: LogIndex }> | null {
    const quarantine = this.#quarantine
    return quarantine === null || quarantine.cause === 'disagreement' ? null : quarantine
  }

  #quarantineLive(reason: string, cause: 'damaged' | 'operator', atLeast = this.appliedMemory): void {
    if (this.#fetching !== null || this.#failure !== null) return
    const { clock, limits } = this.#options
    const nowMs = clock.monotonicMs()
    if (nowMs - this.#trustedSinceMs >= limits.repairRowMs) this.#timesDamaged = 0
    const times = cause === 'damaged' ? ++this.#timesDamaged : 1
    const waitMs = repairWaitMs(times, limits)
    this.#repairAtMs = nowMs + waitMs
    this.#quarantining = this.#live
      .quarantine(reason, this.#quarantined.settled)
      .catch((cause: unknown) => this.#fail(cause))
    this.#begin({ cause, reason, atLeast, times, waitMs })
  }

  #begin(quarantine: Quarantine): void {
    this.#quarantine = quarantine
    this.quarantines[quarantine.cause]++
    for (const listener of this.#quarantineListeners) listener()
    this.#options.onQuarantine?.(quarantine)
  }

  #trusted(): Database {
    const { database } = this.#live
    if (database === null || this.#quarantine !== null) throw quarantinedError()
    return database
  }

  #newLive(state: MachineState, database: Database | null): LiveState {
    const { databases, clock, limits } = this.#options
    return new LiveState(
      {
        ...{ databases, clock, limits, featureLevelMax: levelMaxOf(this.#options) },
        onDisk: (applied) => {
          this.#quarantined.durable(applied)
          if (this.capacity > 0) this.#onCapacity()
        },
        onFailure: (cause) => this.#broken(cause),
      },
      state,
      database,
    )
  }

  #newStaging(): Staging {
    const { databases, limits } = this.#options
    const appliedMemory = (): LogIndex => this.appliedMemory
    const wanted = (): LogIndex | null => this.wanted
    return new Staging({
      ...{ databases, limits, featureLevelMax: levelMaxOf(this.#options) },
      get appliedMemory() {
        return appliedMemory()
      },
      get wanted() {
        return wanted()
      },
      settled: () => this.#quarantining,
      failed: (cause) => this.#fail(cause),
    })
  }

  /** Replaces the database if it is at fault; stops if the disk is. */
  #broken(cause: unknown): void {
    if (cause instanceof DatabaseError && isDamage(cause)) this.enterQuarantine(cause.message)
    else this.#fail(cause)
  }

  #fail(cause: unknown): void {
    if (this.#failure !== null) return
    this.#failure = cause instanceof Error ? cause : new DatabaseError('io', String(cause))
    this.#options.onFailure(cause)
  }
}
