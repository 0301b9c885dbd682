import { assert } from '../../base/assert.ts'
import type { Random } from '../../base/random.ts'
import { Wal } from '../../raft/index.ts'
import type { LogDisk, NodeId, SnapshotMeta } from '../../raft/index.ts'
import { databaseName } from '../store/disk/database-names.ts'
import type { KeyValueChange, KeyValueDatabases, KeyValueStore } from '../store/disk/key-value-store.ts'
import { headKey, versionKey } from '../store/disk/machine-keys.ts'
import { loadState } from '../store/disk/recovery.ts'
import { encodeStoredHead } from '../store/disk/stored-head.ts'
import { defaultStoreLimits } from '../store/store-limits.ts'
import { addHash, hashText, newHash } from '../store/machine/hash.ts'
import { encodeHead } from '../store/machine/head.ts'
import type { Head } from '../store/machine/head.ts'
import { FileClusterRecord } from '../data-dir/cluster-record-file.ts'
import { recordNoPromise } from '../data-dir/lease-promise.ts'
import { isJoinRecord } from '../membership/stored-join-records.ts'
import { hashOf, movedVersion, recordBytes, recordOf } from '../store/machine/object-version.ts'
import type { Version } from '../store/machine/object-version.ts'
import { revision } from '../store/revision.ts'
import { featureLevelMax } from '../version.ts'
import { digestOfIncarnation, firstRevision, headOfIncarnation } from './incarnation.ts'
import type { IncarnationOptions } from './incarnation.ts'
import { backupLimits } from './limits.ts'

export type NewStateOptions = Omit<IncarnationOptions, 'usedBytes' | 'objects'> & {
  /** Identity of the copied state. */
  readonly old: Head
  readonly databases: KeyValueDatabases
}

/** The created state. */
export type NewState = { readonly base: SnapshotMeta; readonly head: Head; readonly digest: string }

/**
 * Creates the first database of an incarnation. Each object gets a revision of its own above the
 * first revision, which no client has seen. Join tokens are not copied: they belong to another
 * cluster. The same copy and incarnation give the same state on every member.
 */
export class NewStateBuilder {
  readonly #options: NewStateOptions
  readonly #name: string
  readonly #store: KeyValueStore
  readonly #first: number
  readonly #sum = newHash()
  readonly #hash = newHash()
  #changes: KeyValueChange[] = []
  #changesBytes = 0
  #usedBytes = 0
  #objects = 0

  static async open(options: NewStateOptions): Promise<NewStateBuilder> {
    const name = databaseName(options.old.appliedIndex)
    return new NewStateBuilder(options, name, await options.databases.open(name))
  }

  private constructor(options: NewStateOptions, name: string, store: KeyValueStore) {
    this.#options = options
    this.#name = name
    this.#store = store
    this.#first = firstRevision(options.old.revision, options.incarnation)
  }

  /** Adds an existing object. The caller adds objects in ascending order of their revisions. */
  take(version: Version): void {
    if (isJoinRecord(version.key)) return
    const moved = movedVersion(version, revision(this.#first + ++this.#objects))
    this.#changes.push({ kind: 'put', key: versionKey(moved.revision), value: recordOf(moved) })
    this.#changesBytes += recordBytes(moved)
    this.#usedBytes += recordBytes(moved)
    addHash(this.#sum, hashOf(moved, this.#hash))
  }

  /**
   * Writes the pending batch if it is full. The caller calls this after each object, or after each
   * chunk of a snapshot file.
   */
  async flush(): Promise<void> {
    if (this.#changesBytes >= backupLimits.batchBytesMax) await this.#write([])
  }

  /**
   * Completes the database durably and reads it back. The head is written last: a database without
   * a head is incomplete.
   */
  async finish(): Promise<NewState> {
    const { old } = this.#options
    const counts = { usedBytes: this.#usedBytes, objects: this.#objects }
    const head = headOfIncarnation(old, { ...this.#options, ...counts })
    const digest = digestOfIncarnation(head, this.#sum)
    await this.#write([{ kind: 'put', key: headKey, value: encodeStoredHead(encodeHead(head), digest) }])
    await loadState(this.#store, defaultStoreLimits, featureLevelMax)
    await this.#store.close()
    const { appliedIndex: index, appliedTerm: term, configuration } = head
    return { base: { index, term, configuration }, head, digest: hashText(digest) }
  }

  /** Closes a database that will not be completed. */
  async abandon(): Promise<void> {
    await this.#store.close()
    await this.#options.databases.destroy(this.#name)
  }

  async #write(more: readonly KeyValueChange[]): Promise<void> {
    const changes = [...this.#changes, ...more]
    this.#changes = []
    this.#changesBytes = 0
    await this.#store.write(changes)
  }
}

/**
 * Records that the directory holds the first state of an incarnation, that this state was not
 * founded yet, and that no lease was promised. All members of the state must take part in its
 * founding, which rejects a directory that was created a second time: that one has another log.
 */
export function recordCluster(directory: string, { head }: Pick<NewState, 'head'>): void {
  const clusterId = head.identity?.clusterId
  assert(clusterId !== undefined, 'a restored state belongs to a founded cluster')
  new FileClusterRecord(directory).write({ clusterId: '', founded: false, founders: [], restored: clusterId })
  recordNoPromise(directory)
}

/** Creates an empty log without a vote for a state at `base`. */
export function makeLog(
  disk: LogDisk,
  of: { readonly owner: NodeId; readonly random: Random; readonly base: SnapshotMeta },
): void {
  const { owner, random, base } = of
  const log = Wal.open({ disk, random, owner })
  const hardState = { term: base.term, vote: null, commit: base.index }
  log.append([{ snapshot: base, entries: [], hardState }])
  log.close()
}
