import type { Operation } from '../../store/command.ts'
import type { KeyPrefix } from '../../store/key.ts'
import type {
  ObjectStore,
  StoredObject,
  StoreEvent,
  WatchCursor,
  WatchInterest,
} from '../../store/object-store.ts'
import type { Revision } from '../../store/revision.ts'

/** A store in one version of a kind. */
export interface ConvertibleStore extends ObjectStore {
  /**
   * Unset: the bytes of each object can be read immediately. Set: a webhook converts objects, so
   * they must be made readable first; until then, their `bytes` throw `ApiError`.
   */
  readonly conversions?: StoreConversions
}

/** Returns the objects of an event that a watch reads. */
export type ObjectsRead = (event: StoreEvent) => readonly StoredObject[]

export interface StoreConversions {
  isReadable(stored: StoredObject): boolean
  /**
   * Returns objects of this store, in the same order, with bytes that can be read.
   *
   * @throws ApiError they cannot be converted
   */
  readable(objects: readonly StoredObject[], deadlineMs: number): Promise<readonly StoredObject[]>
  /** Converts what a dry run would write. @throws ApiError it cannot be converted */
  dryRun(operations: readonly Operation[], deadlineMs: number): Promise<void>
  /**
   * As `ObjectStore.watch`. Those objects of an event that `read` returns are readable. If one
   * cannot be converted, `next` throws ApiError, and the cursor cannot be used any longer.
   */
  watch(prefix: KeyPrefix, after: Revision, interest: WatchInterest | null, read: ObjectsRead): WatchCursor
}
