import { present } from '../../../base/assert.ts'
import type { SnapshotMeta, SnapshotSink } from '../../../raft/index.ts'
import { DatabaseError } from '../store-errors.ts'
import type { StoreLimits } from '../store-limits.ts'
import type { MachineState } from '../machine/state.ts'
import type { KeyValueChange, KeyValueDatabases, KeyValuePair, KeyValueStore } from './key-value-store.ts'
import { headKey, revisionOf, sessionOf } from './machine-keys.ts'
import { loadState } from './recovery.ts'
import { FrameParser } from './snapshot-frames.ts'
import type { SnapshotFrame } from './snapshot-frames.ts'
import { decodeStoredHead } from './stored-head.ts'

export type SnapshotStageOptions = {
  readonly databases: KeyValueDatabases
  /** Name of a database that does not exist yet. */
  readonly name: string
  readonly limits: StoreLimits
  readonly snapshot: SnapshotMeta
  /** See `loadState`. */
  readonly featureLevelMax: number
  /** The state has a feature level or a format that this member does not support. */
  readonly onTooNew: (cause: DatabaseError) => void
}

/**
 * Receives another member's state into a separate database. It becomes usable only once it is
 * complete, was read back from disk, and has the digest that the sender wrote:
 *
 *   receiving ──finish──> staged ──take──> the live state
 *       └──abort, damage──> discarded <──discard──┘     (or left on disk, when the process ends)
 */
export class SnapshotStage implements SnapshotSink {
  readonly snapshot: SnapshotMeta
  readonly #options: SnapshotStageOptions
  readonly #parser = new FrameParser()
  #store: KeyValueStore | null
  #storedHead: Uint8Array | null = null
  #changes: KeyValueChange[] = []
  #changesBytes = 0
  #pairs = 0
  #ended = false
  #state: MachineState | null = null
  #discarded: Promise<void> | null = null

  static async open(options: SnapshotStageOptions): Promise<SnapshotStage> {
    return new SnapshotStage(options, await options.databases.open(options.name))
  }

  private constructor(options: SnapshotStageOptions, store: KeyValueStore) {
    this.#options = options
    this.#store = store
    this.snapshot = options.snapshot
  }

  /** @throws DatabaseError `damaged`, `unsupported`, `io`, `full`; the stage is unusable then */
  chunk(bytes: Uint8Array): Promise<void> {
    return this.#reportTooNew(async () => {
      for (const frame of this.#parser.push(bytes)) this.#take(frame)
      if (this.#changesBytes >= this.#options.limits.batchBytesMax) await this.#write([])
    })
  }

  finish(): Promise<void> {
    return this.#reportTooNew(() => this.#finish())
  }

  async #reportTooNew(step: () => Promise<void>): Promise<void> {
    try {
      await step()
    } catch (cause) {
      if (cause instanceof DatabaseError && cause.code === 'unsupported') this.#options.onTooNew(cause)
      throw cause
    }
  }

  async #finish(): Promise<void> {
    const { limits, snapshot, featureLevelMax } = this.#options
    if (!this.#ended || !this.#parser.atBorder) throw new DatabaseError('damaged', 'the snapshot ended early')
    const head = present(this.#storedHead, 'a snapshot that ended began with its head')
    // The head comes last: a database without one is known to be incomplete.
    await this.#write([{ kind: 'put', key: headKey, value: head }])
    const state = await loadState(this.#opened(), limits, featureLevelMax)
    if (state.appliedIndex !== snapshot.index || state.appliedTerm !== snapshot.term) {
      throw new DatabaseError('damaged', 'the snapshot is not the one announced')
    }
    this.#opened()
    this.#state = state
  }

  abort(): void {
    // Not awaited: a leftover is removed at the next staging or start.
    this.discard().catch(() => undefined)
  }

  /** Returns the verified state and its database, now owned by the caller. */
  take(): { readonly state: MachineState; readonly store: KeyValueStore } {
    const taken = {
      state: present(this.#state, 'a snapshot is staged before it is installed'),
      store: this.#opened(),
    }
    this.#store = null
    return taken
  }

  /** Removes the staged database; does nothing after `take`. Concurrent calls resolve together. */
  discard(): Promise<void> {
    this.#discarded ??= this.#discard()
    return this.#discarded
  }

  /**
   * Closes the staged database and leaves it on disk. The log may refer to it already: only the
   * next start can find out, and removes it otherwise.
   */
  async leave(): Promise<void> {
    const store = this.#store
    this.#store = null
    this.#state = null
    await store?.close()
  }

  async #discard(): Promise<void> {
    const store = this.#store
    if (store === null) return
    this.#store = null
    this.#state = null
    await store.close()
    await this.#options.databases.destroy(this.#options.name)
  }

  #take(frame: SnapshotFrame): void {
    if (this.#ended) throw new DatabaseError('damaged', 'the snapshot continues after its end')
    if (frame.kind === 'head') {
      if (this.#storedHead !== null) throw new DatabaseError('damaged', 'the snapshot begins twice')
      decodeStoredHead(frame.storedHead)
      this.#storedHead = frame.storedHead
      return
    }
    if (this.#storedHead === null)
      throw new DatabaseError('damaged', 'the snapshot does not begin with its head')
    if (frame.kind === 'end') {
      if (frame.pairs !== this.#pairs)
        throw new DatabaseError('damaged', 'the snapshot lost some of its pairs')
      this.#ended = true
      return
    }
    for (const pair of frame.pairs) this.#pair(pair)
  }

  #pair([key, value]: KeyValuePair): void {
    if (sessionOf(key) === null && revisionOf(key) === null) {
      throw new DatabaseError('damaged', 'the snapshot contains a key that is not part of a state')
    }
    this.#pairs++
    this.#changes.push({ kind: 'put', key, value })
    this.#changesBytes += key.byteLength + value.byteLength
  }

  async #write(more: readonly KeyValueChange[]): Promise<void> {
    const changes = [...this.#changes, ...more]
    this.#changes = []
    this.#changesBytes = 0
    await this.#opened().write(changes)
  }

  #opened(): KeyValueStore {
    const store = this.#store
    if (store === null) throw new DatabaseError('io', 'the snapshot was discarded')
    return store
  }
}
