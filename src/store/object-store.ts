import type { ReadPort } from '../../raft/index.ts'
import type { ClusterIdentity, Command, Outcome, Settings } from './command.ts'
import type { Key, KeyPrefix } from './key.ts'
import type { PlaceUsage, ResourceUsage } from './machine/storage-usage.ts'
import type { Revision } from './revision.ts'

/**
 * The request side of the replicated state: what verbs, auth and controllers see of one member.
 * While that is not to be trusted, everything here throws StoreError `quarantined`.
 */
export interface ObjectStore {
  /** null until the cluster's first command was applied here, and in quarantine. */
  readonly identity: ClusterIdentity | null
  readonly settings: Settings
  /** By which rules the cluster decides; see `featureLevelMax`. */
  readonly featureLevel: number
  readonly storage: StorageFill
  /**
   * The newest state in this member's memory. Cheap; good for as long as it is held, without
   * awaiting.
   */
  view(): View
  /** Memory holds everything acknowledged by any member before the call. @throws StoreError */
  barrier(deadlineMs: number): Promise<void>
  /** What is known of memory without asking anybody. */
  readonly reads: StoreReads
  /**
   * The state exactly at `revision`, for pages and Exact reads. Superseded versions may have to
   * come from disk. Pins nothing: every call may find the revision compacted meanwhile.
   * @throws StoreError `compacted`, `future`
   */
  viewAt(revision: Revision): PastView
  /**
   * Resolves when memory reached `revision`. @throws StoreError `future` when `deadlineMs` came
   * first
   */
  waitFor(revision: Revision, deadlineMs: number): Promise<void>
  /**
   * Proposes a command and waits until this member applied it: a read here afterwards sees it.
   * @throws StoreError
   */
  write(command: Command, deadlineMs: number): Promise<Outcome>
  /**
   * Events under `prefix` after `after`, to be pulled.
   * @param interest whoever waits is woken for these only; others may be returned too. Unset: all
   * under the prefix
   * @throws StoreError `compacted`
   */
  watch(prefix: KeyPrefix, after: Revision, interest?: WatchInterest | null): WatchCursor
}

/** As `ReadPort`. @throws StoreError from `reached` */
export type StoreReads = Pick<ReadPort, 'term' | 'freshness' | 'probe' | 'lease' | 'reached'>

/** How full the replicated storage is, as far as this member has applied. */
export interface StorageFill {
  /** See `StorageUsage`. */
  readonly usedBytes: number
  /** null: there is no quota before feature level 2. */
  readonly bytesMax: number | null
  /** What would grow it is refused until it is well below the quota. */
  readonly alarm: boolean
  /** The resources that take most, at most `count`, the largest first. */
  readonly largest: (count: number) => readonly ResourceUsage[]
  /** The namespaces of resources that take most, ten at most, the largest first. */
  readonly largestPlaces: () => readonly PlaceUsage[]
}

/** A consistent picture of all objects at one revision. */
export interface View {
  readonly revision: Revision
  get(key: Key): StoredObject | null
  /**
   * In key order.
   * @param after continue behind this key; null from the start
   * @param limit at most so many; null for all
   */
  list(prefix: KeyPrefix, options: { readonly after: Key | null; readonly limit: number | null }): ListSlice
  /** Objects under a prefix; exact for the newest view, else counted. */
  count(prefix: KeyPrefix): number
}

/** As `View`, at a revision of the past. @throws StoreError `compacted` from every method */
export interface PastView {
  readonly revision: Revision
  get(key: Key): Promise<StoredObject | null>
  list(
    prefix: KeyPrefix,
    options: { readonly after: Key | null; readonly limit: number | null },
  ): Promise<ListSlice>
  /** Objects under a prefix, exactly. */
  count(prefix: KeyPrefix): Promise<number>
}

export type ListSlice = {
  readonly objects: readonly StoredObject[]
  /** Whether there is more behind the last one. */
  readonly more: boolean
}

/** One version of one object. Immutable, shared by all readers; never change its bytes. */
export interface StoredObject {
  readonly key: Key
  readonly revision: Revision
  readonly uid: string
  readonly labels: Readonly<Record<string, string>> | null
  /** Complete JSON, `resourceVersion` included. */
  readonly bytes: Uint8Array
  /** See `EncodedObject.itemOffset`. */
  readonly itemOffset: number
  /** See `EncodedObject.terminating`. */
  readonly terminating: boolean
}

export type StoreEvent = {
  readonly kind: 'created' | 'updated' | 'deleted'
  readonly revision: Revision
  readonly key: Key
  /**
   * The version this event made; for `deleted`: the last version, its resourceVersion being the
   * event's.
   */
  readonly object: StoredObject
  /** The version before; null for `created`. */
  readonly previous: StoredObject | null
}

/**
 * Which events under a prefix concern a watch: those of one object, or of objects with one value in
 * an index.
 */
export type WatchInterest =
  | { readonly kind: 'key'; readonly key: Key }
  | { readonly kind: 'value'; readonly index: EventIndex; readonly value: string }

/** What events are found by. One object for all watches that are found by the same. */
export type EventIndex = {
  /**
   * Of the object as the event leaves it, and as it was. Asked once for each event, while somebody
   * waits by this index.
   */
  readonly valuesOf: (event: StoreEvent) => readonly string[]
}

/**
 * A place in the event log, advanced by its owner: nothing is queued per watcher. A cursor that
 * falls out of the window is told so; one behind memory reads from disk.
 */
export interface WatchCursor {
  /** Everything up to here was returned, or concerned other keys. */
  readonly revision: Revision
  /**
   * The next events in order, whole commands at a time, at most about `limit`. Empty: caught up. A
   * promise only when they have to come from disk; one call at a time.
   * @throws StoreError `compacted` when it fell out of the window
   */
  next(limit: number): readonly StoreEvent[] | Promise<readonly StoreEvent[]>
  /**
   * Calls `wake` once, soon after there is something beyond `revision`. Replaces the one set
   * before.
   */
  onMore(wake: () => void): void
  close(): void
}
