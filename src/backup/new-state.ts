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
  /** Where the copy stood. */
  readonly old: Head
  readonly home: KeyValueDatabases
}

/** What was made. */
export type NewState = { readonly base: SnapshotMeta; readonly head: Head; readonly digest: string }

/**
 * Makes the first database of a new life: each object under a revision of its own, numbered from where the life's begin,
 * so that none has one that a client may know. Join tokens are left behind: they were given for another cluster. The
 * same copy and the same life make the same state on every member.
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
    return new NewStateBuilder(options, name, await options.home.open(name))
  }

  private constructor(options: NewStateOptions, name: string, store: KeyValueStore) {
    this.#options = options
    this.#name = name
    this.#store = store
    this.#first = firstRevision(options.old.revision, options.incarnation)
  }

  /** An object that is there now, ascending by revision. */
  take(version: Version): void {
    if (isJoinRecord(version.key)) return
    const moved = movedVersion(version, revision(this.#first + ++this.#objects))
    this.#changes.push({ kind: 'put', key: versionKey(moved.revision), value: recordOf(moved) })
    this.#changesBytes += recordBytes(moved)
    this.#usedBytes += recordBytes(moved)
    addHash(this.#sum, hashOf(moved, this.#hash))
  }

  /** Call now and then; holds about one batch. */
  async flush(): Promise<void> {
    if (this.#changesBytes >= backupLimits.batchBytesMax) await this.#write([])
  }

  /** Complete, durable, and read back. The head comes last: a database without one is known to be incomplete. */
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

  /** Closes what nobody will finish. */
  async abandon(): Promise<void> {
    await this.#store.close()
    await this.#options.home.destroy(this.#name)
  }

  async #write(more: readonly KeyValueChange[]): Promise<void> {
    const changes = [...this.#changes, ...more]
    this.#changes = []
    this.#changesBytes = 0
    await this.#store.write(changes)
  }
}

/**
 * Writes down with which state the member begins, which is the same on all that were made for one life. Their cluster is
 * still to be founded, by all members that the state names: a directory that is made again has another log, and must not
 * take the place of the first. Nobody has promised it a lease yet.
 */
export function recordCluster(directory: string, { head }: Pick<NewState, 'head'>): void {
  const clusterId = head.identity?.clusterId
  assert(clusterId !== undefined, 'a state that is restored is of a founded cluster')
  new FileClusterRecord(directory).write({ clusterId: '', founded: false, founders: [], restored: clusterId })
  recordNoPromise(directory)
}

/** The log of a member whose state begins at `base`: nothing in it, nothing voted. */
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
