import type { Clock, Timer } from '../../../base/clock.ts'
import { noIndex } from '../../../raft/index.ts'
import type { LogIndex, SnapshotMeta } from '../../../raft/index.ts'
import type { StoreLimits } from '../store-limits.ts'
import { digestOf, headOf } from '../machine/digest.ts'
import { encodeHead } from '../machine/head.ts'
import type { Machine } from '../machine/machine.ts'
import { recordOf } from '../machine/object-version.ts'
import type { Revision } from '../revision.ts'
import type { KeyValueChange, KeyValueStore } from './key-value-store.ts'
import { headKey, sessionKey, versionKey } from './machine-keys.ts'
import { encodeStoredHead } from './stored-head.ts'

export type PersisterOptions = {
  readonly machine: Machine
  readonly store: KeyValueStore
  readonly clock: Clock
  readonly limits: StoreLimits
  /** A batch is durable: the database is at `applied`, with every version up to `revision`. */
  readonly onDisk: (applied: SnapshotMeta, revision: Revision) => void
  /** The disk refused a write: nothing will be written anymore. */
  readonly onFailure: (cause: unknown) => void
}

/**
 * Writes the changes of memory to the database, in batches that each hold a prefix of the log:
 *
 *   apply ──> open ──seal──> sealed, sealed ──log has it──> writing ──> on disk
 *
 * The open batch changes with memory. Sealing copies the batch together with the singular values
 * and the digest at the applied index; the sealed batch is written once this member's log has
 * everything up to that index on disk.
 */
export class Persister {
  readonly #options: PersisterOptions
  #sealed: SealedBatch[] = []
  #sealedBytes = 0
  #writing: Promise<void> | null = null
  #writingBytes = 0
  #logPersisted: LogIndex = noIndex
  #sealedIndex: LogIndex
  #timer: Timer | null = null
  #stopped = false

  constructor(options: PersisterOptions) {
    this.#options = options
    this.#sealedIndex = options.machine.state.appliedIndex
  }

  /** Bytes that are applied and not on disk. */
  get backlogBytes(): number {
    return this.#options.machine.changedBytes + this.#sealedBytes + this.#writingBytes
  }

  /** Called after memory has applied entries. */
  applied(): void {
    if (this.#stopped) return
    const { machine, limits, clock } = this.#options
    if (machine.changedBytes >= limits.batchBytesMax) {
      this.#seal()
      this.#write()
      return
    }
    this.#timer ??= clock.after(limits.batchGatherMs, () => {
      this.#timer = null
      // While the disk is busy changes accumulate: the next batch is larger.
      if (this.#writing === null && this.#sealed.length === 0) this.#seal()
      this.#write()
    })
  }

  logPersisted(index: LogIndex): void {
    if (index > this.#logPersisted) this.#logPersisted = index
    this.#write()
  }

  /**
   * Seals what was applied, and writes the sealed batches whose entries are all on disk in this
   * member's log.
   */
  async flush(): Promise<void> {
    if (this.#stopped) return
    this.#seal()
    this.#write()
    while (this.#writing !== null) await this.#writing
  }

  /** Stops after the write in progress; the log has the rest. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#timer?.cancel()
    this.#timer = null
    this.#sealed = []
    this.#sealedBytes = 0
    if (this.#writing !== null) await this.#writing
  }

  #seal(): void {
    const { machine } = this.#options
    const { state } = machine
    if (state.appliedIndex === this.#sealedIndex) return
    const { made, gone, bytes } = machine.takeChanges()
    const changes: KeyValueChange[] = []
    for (const version of made) {
      changes.push({ kind: 'put', key: versionKey(version.revision), value: recordOf(version) })
      version.pack(state.records)
    }
    // After the puts: a version may be created and removed within one batch.
    for (const version of gone) changes.push({ kind: 'delete', key: versionKey(version) })
    for (const [session, record] of state.sessions.takeChanges()) {
      const key = sessionKey(session)
      changes.push(record === null ? { kind: 'delete', key } : { kind: 'put', key, value: record })
    }
    const head = encodeStoredHead(encodeHead(headOf(state)), digestOf(state))
    changes.push({ kind: 'put', key: headKey, value: head })
    this.#sealed.push({ applied: machine.applied, revision: state.revision, changes, bytes })
    this.#sealedBytes += bytes
    this.#sealedIndex = state.appliedIndex
  }

  #write(): void {
    const cut = this.#sealed[0]
    if (this.#writing !== null || this.#stopped || cut === undefined) return
    if (cut.applied.index > this.#logPersisted) return
    this.#sealed.shift()
    this.#sealedBytes -= cut.bytes
    this.#writingBytes = cut.bytes
    this.#writing = this.#options.store.write(cut.changes).then(
      () => this.#written(cut),
      (cause: unknown) => {
        this.#writing = null
        this.#stopped = true
        this.#timer?.cancel()
        this.#options.onFailure(cause)
      },
    )
  }

  #written(cut: SealedBatch): void {
    this.#writing = null
    this.#writingBytes = 0
    this.#options.onDisk(cut.applied, cut.revision)
    this.#write()
    // Changes that accumulated may wait for a timer that fired while the disk was busy.
    if (
      this.#writing === null &&
      !this.#stopped &&
      this.#options.machine.state.appliedIndex > this.#sealedIndex
    ) {
      this.applied()
    }
  }
}

/** Changes up to a log index, ready to be written. */
type SealedBatch = {
  readonly applied: SnapshotMeta
  readonly revision: Revision
  readonly changes: readonly KeyValueChange[]
  readonly bytes: number
}
