import type { ReadPort } from '../../raft/index.ts'
import type { ClusterIdentity, Command, Outcome, Settings } from './command.ts'
import type { Key, KeyPrefix } from './key.ts'
import type { Revision } from './revision.ts'

/**
 * Read and write interface of the replicated state on one member, for verbs, auth and controllers.
 * While the state is quarantined, every method except `onReadable` throws StoreError
 * `quarantined`, and so does reading `settings`.
 */
export interface ObjectStore {
  /** null before the cluster's first command was applied, and in quarantine. */
  readonly identity: ClusterIdentity | null
  readonly settings: Settings
  /** Feature level of the cluster; see `featureLevelMax`. */
  readonly featureLevel: number
  readonly storage: StorageFill
  /** Returns the newest state in this member's memory. Cheap; valid until the next `await`. */
  view(): View
  /**
   * Resolves once memory has everything acknowledged by any member before the call.
   * @throws StoreError
   */
  barrier(deadlineMs: number): Promise<void>
  /** How current memory is. Only `probe` starts a round with other members. */
  readonly reads: StoreReads
  /**
   * Returns the state exactly at `revision`, for pages and Exact reads. Superseded versions may
   * have to be read from disk. Pins nothing: each call may find the revision compacted.
   * @throws StoreError `compacted`, `future`
   */
  viewAt(revision: Revision): PastView
  /**
   * Resolves when memory has reached `revision`.
   * @throws StoreError `future` at `deadlineMs`; `overloaded`, `stopped`
   */
  waitFor(revision: Revision, deadlineMs: number): Promise<void>
  /**
   * Proposes a command and waits until this member applied it: a later read here sees it.
   * @throws StoreError
   */
  write(command: Command, deadlineMs: number): Promise<Outcome>
  /**
   * Returns a cursor over events under `prefix` after `after`.
   * @param interest events that wake a waiting cursor; it may return others too. Unset: all under
   * the prefix
   * @throws StoreError `compacted`, `overloaded`, `quarantined`, `stopped`
   */
  watch(prefix: KeyPrefix, after: Revision, interest?: WatchInterest | null): WatchCursor
  /**
   * Calls the listener when objects that could not be decrypted may have become readable.
   * @returns a function that unsubscribes the listener
   */
  onReadable(listener: () => void): () => void
}

/** As `ReadPort`. @throws StoreError from `reached` */
export type StoreReads = Pick<ReadPort, 'term' | 'freshness' | 'probe' | 'lease' | 'reached'>

/** Usage of the replicated storage, as applied on this member. */
export interface StorageFill {
  /** See `StorageUsage`. */
  readonly usedBytes: number
  /** null: no quota before feature level 2. */
  readonly bytesMax: number | null
  /** Writes that grow the storage are refused until usage is well below the quota. */
  readonly alarm: boolean
  /** Returns the largest resources, at most `count`, in descending order. */
  readonly largest: (count: number) => readonly ResourceUsage[]
  /** Returns pairs of resource and namespace with the most bytes, at most ten, largest first. */
  readonly largestPlaces: () => readonly PlaceUsage[]
}

/** Usage of one resource. */
export type ResourceUsage = {
  /** `configmaps`, or with its group `leases.coordination.k8s.io`. */
  readonly resource: string
  /** Bytes of its current objects and of their history. */
  readonly bytes: number
  readonly objects: number
}

/** Usage of one resource in one namespace. */
export type PlaceUsage = ResourceUsage & {
  /** null: cluster-scoped resource. */
  readonly namespace: string | null
}

/** A consistent view of all objects at one revision. */
export interface View {
  readonly revision: Revision
  get(key: Key): StoredObject | null
  /**
   * Returns objects in key order.
   * @param after continue after this key; null from the start
   * @param limit maximum number; null for all
   */
  list(prefix: KeyPrefix, options: { readonly after: Key | null; readonly limit: number | null }): ListSlice
  /** Returns the number of objects under a prefix. */
  count(prefix: KeyPrefix): number
}

/** As `View`, at a past revision. @throws StoreError `compacted` from every method */
export interface PastView {
  readonly revision: Revision
  get(key: Key): Promise<StoredObject | null>
  list(
    prefix: KeyPrefix,
    options: { readonly after: Key | null; readonly limit: number | null },
  ): Promise<ListSlice>
  /** Returns the number of objects under a prefix. */
  count(prefix: KeyPrefix): Promise<number>
}

export type ListSlice = {
  readonly objects: readonly StoredObject[]
  /** Whether there are more after the last one. */
  readonly more: boolean
}

/**
 * One version of one object. Immutable and shared by all readers: its bytes must not be changed.
 */
export interface StoredObject {
  readonly key: Key
  readonly revision: Revision
  readonly uid: string
  readonly labels: Readonly<Record<string, string>> | null
  /** Complete JSON, `resourceVersion` included. Each access may compose it again: read it once. */
  readonly bytes: Uint8Array
  /** Length of `bytes`, without composing them. */
  readonly byteLength: number
  /**
   * Copies `bytes` from an offset on, if they fit: cheaper than to copy `bytes`.
   *
   * @param to position in `target`
   * @param from at most `itemOffset`
   * @returns their length, also if `target` is too short and has nothing of them
   */
  copyTo(target: Uint8Array, to: number, from: number): number
  /**
   * The first of `bytes`, at least those before the revision, without composing the rest. For use
   * within the turn: they may be a view of a larger memory.
   */
  readonly beginning: Uint8Array
  /** See `EncodedObject.itemOffset`. */
  readonly itemOffset: number
  /** See `EncodedObject.terminating`. */
  readonly terminating: boolean
  /**
   * The object that this one was made from, for example by a conversion: the same instance in each
   * read of a version. Set only if the result depends on nothing but that object and the definition
   * of the kind.
   */
  readonly origin?: StoredObject
}

export type StoreEvent = {
  readonly kind: 'created' | 'updated' | 'deleted'
  readonly revision: Revision
  readonly key: Key
  /**
   * The version that the event created; for `deleted`: the last version with the resourceVersion of
   * the event.
   */
  readonly object: StoredObject
  /** The replaced version; null for `created`. */
  readonly previous: StoredObject | null
}

/**
 * The events under a prefix that concern a watch: those of one object, or of objects with one value
 * in an index.
 */
export type WatchInterest =
  | { readonly kind: 'key'; readonly key: Key }
  | { readonly kind: 'value'; readonly index: EventIndex; readonly value: string }

/** Index of events by value. All watches that use it share one object. */
export type EventIndex = {
  /**
   * Values of the object before and after the event. Called for each event under a prefix while a
   * watch of that prefix waits by this index.
   */
  readonly valuesOf: (event: StoreEvent) => readonly string[]
}

/**
 * A position in the event log, advanced by its owner: no events are queued per watch. A cursor
 * before the history window fails; one before the events in memory reads from disk.
 */
export interface WatchCursor {
  /** Each event up to here was returned, or does not concern the watch. */
  readonly revision: Revision
  /**
   * Returns the next events in order, whole commands, at most about `limit`. Empty: caught up. A
   * promise only when they must be read from disk; one call at a time.
   * @throws StoreError `compacted` outside of the history window; `quarantined`
   * @throws DatabaseError when they cannot be read from disk
   */
  next(limit: number): readonly StoreEvent[] | Promise<readonly StoreEvent[]>
  /** Calls `wake` once, soon after an event beyond `revision`. Replaces the previous callback. */
  onMore(wake: () => void): void
  close(): void
}
