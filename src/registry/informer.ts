import type { Clock } from '../../base/clock.ts'
import { StoreError } from '../store/store-errors.ts'
import { partsOf } from '../store/key.ts'
import type { Key, KeyPrefix } from '../store/key.ts'
import type { ListSlice, ObjectStore, StoredObject, StoreEvent, WatchCursor } from '../store/object-store.ts'
import type { Revision } from '../store/revision.ts'
import { ListedSlices } from './listed-slices.ts'
import { SealedObjectError } from './shared/sealed-object-error.ts'
import { SealedRetries } from './sealed-retries.ts'

export type InformerChange<T> =
  | { readonly kind: 'set'; readonly key: Key; readonly value: T; readonly previous: T | null }
  | { readonly kind: 'removed'; readonly key: Key; readonly previous: T }

export type InformerDependencies<T> = {
  readonly store: ObjectStore
  readonly clock: Clock
  readonly prefix: KeyPrefix
  /** Called for each new version of an object, again if it could not be decrypted before. */
  readonly parse: (stored: StoredObject) => T
  /** Whether an object belongs in the map, which leaves out the others. Unset: all do. */
  readonly keeps?: (stored: StoredObject) => boolean
  /**
   * Called for each deleted object, also for those that `keeps` leaves out. null: after a list,
   * anything may have been deleted.
   */
  readonly onDeleted?: (deleted: StoredObject | null) => void
  /** Called for each event that no slice contains, also for objects that `keeps` leaves out. */
  readonly onEvent?: (event: StoreEvent) => void
  /**
   * Lists in slices and yields between them, for large collections. Until the list is complete the
   * map lacks objects, or has old ones; `takeIn` waits for the list. Unset: the list is complete
   * when `start` returns.
   */
  readonly slices?: SliceLimits
}

/** Objects of a slice, and bytes of them, before a list yields. */
export type SliceLimits = { readonly objectsMax: number; readonly bytesMax: number }

/** Parsing such a slice takes some 10 ms. */
export const defaultSlices: SliceLimits = Object.freeze({ objectsMax: 200, bytesMax: 1024 * 1024 })

/** Events taken from the cursor in one turn before yielding. */
const eventsPerTurn = 128
/** Delay before retrying after the store refused a watch or was quarantined. */
const retryMs = 1000

/**
 * A local map of the objects under a prefix, kept current from this member's event log: list, then
 * watch, and list again after compaction. It shows what this member has applied. Holds one value
 * per object, so it is as bounded as the collection. An object that this member cannot decrypt is
 * left out until it can.
 */
export class Informer<T> {
  readonly #dependencies: InformerDependencies<T>
  readonly #values = new Map<Key, { readonly version: StoredObject; readonly value: T }>()
  readonly #listeners = new Set<(change: InformerChange<T>) => void>()
  #cursor: WatchCursor | null = null
  /** The read of events from disk in progress. */
  #reading: Promise<void> | null = null
  /** The list in progress. */
  #listing: Promise<void> | null = null
  /** The slices of the last list, until the events have passed it. */
  #listed: ListedSlices | null = null
  #closed = false
  #failures = 0
  readonly #sealed: SealedRetries
  #unsubscribe: () => void = () => undefined

  constructor(dependencies: InformerDependencies<T>) {
    this.#dependencies = dependencies
    this.#sealed = new SealedRetries(dependencies.clock, (keys) => this.#readAgain(keys))
  }

  /** Lists the objects, notifies the listeners, and follows the events from then on. */
  start(): void {
    this.#unsubscribe = this.#dependencies.store.onReadable(() => this.#sealed.wake())
    this.#follow()
  }

  get(key: Key): T | null {
    return this.#values.get(key)?.value ?? null
  }

  *entries(): Generator<readonly [Key, T], void> {
    for (const [key, { value }] of this.#values) yield [key, value]
  }

  get size(): number {
    return this.#values.size
  }

  /**
   * Whether an object is left out because it cannot be decrypted.
   *
   * @param namespace null: in any namespace, or none
   */
  lacksObjectsIn(namespace: string | null): boolean {
    for (const key of this.#sealed.keys()) {
      if (namespace === null || partsOf(key).namespace === namespace) return true
    }
    return false
  }

  /** Whether the object exists and is left out because it cannot be decrypted. */
  lacks(key: Key): boolean {
    return this.#sealed.has(key)
  }

  /** How often the informer could not follow the store; compaction does not count. */
  get failures(): number {
    return this.#failures
  }

  /** @returns a function that unsubscribes the listener */
  subscribe(listener: (change: InformerChange<T>) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /**
   * Processes everything that this member has applied by now, without waiting for later turns of
   * the event loop unless a list is in progress or events must be read from disk. Once this
   * resolves, the listeners have been notified.
   *
   * @throws StoreError there is no state to follow; `stopped` if the store has closed the cursor
   */
  async takeIn(): Promise<void> {
    const { revision } = this.#dependencies.store.view()
    const isBehind = (): boolean =>
      this.#cursor === null || this.#listing !== null || this.#cursor.revision < revision
    while (!this.#closed && isBehind()) {
      const pending = this.#listing ?? this.#reading
      if (pending !== null) {
        await pending
        continue
      }
      const before = { cursor: this.#cursor, revision: this.#cursor?.revision }
      this.#catchUp()
      const isSame = this.#cursor === before.cursor && this.#cursor?.revision === before.revision
      // A closed cursor never moves.
      if (isSame && this.#reading === null && this.#listing === null)
        throw new StoreError('stopped', 'the watch was closed')
    }
  }

  close(): void {
    this.#closed = true
    this.#cursor?.close()
    this.#cursor = null
    this.#listeners.clear()
    this.#unsubscribe()
    this.#sealed.close()
  }

  /** Synchronous, so that no event is missed between the list and the cursor. */
  #relist(): void {
    const { store, prefix } = this.#dependencies
    const view = store.view()
    const all = view.list(prefix, { after: null, limit: null }).objects
    const objects = all.filter((one) => this.#keeps(one))
    this.#sealed.forgetOthers(new Set(all.map(({ key }) => key)))
    this.#cursor?.close()
    this.#reading = null
    this.#cursor = store.watch(prefix, view.revision)
    const present = new Set(objects.map(({ key }) => key))
    for (const key of [...this.#values.keys()]) if (!present.has(key)) this.#remove(key)
    for (const stored of objects) {
      if (!isSame(this.#values.get(stored.key)?.version, stored)) this.#set(stored)
    }
    this.#dependencies.onDeleted?.(null)
  }

  /** Lists at once, or begins to. @throws StoreError */
  #list(): void {
    const { store, prefix, slices } = this.#dependencies
    if (slices === undefined) {
      this.#relist()
      return
    }
    this.#cursor?.close()
    this.#reading = null
    const cursor = store.watch(prefix, store.view().revision)
    this.#cursor = cursor
    const listing = this.#listSlices(cursor, slices).catch((cause: unknown) =>
      this.#endListing(cursor, cause),
    )
    this.#listing = listing
    void listing.then(() => {
      if (this.#listing !== listing) return
      this.#listing = null
      this.#pump()
    })
  }

  /** @throws StoreError */
  async #listSlices(cursor: WatchCursor, limits: SliceLimits): Promise<void> {
    const { clock, onDeleted } = this.#dependencies
    const listed = new ListedSlices()
    const missing = new Set(this.#values.keys())
    const present = new Set<Key>()
    for (let after: Key | null = null; ;) {
      const slice = this.#slice(after, limits)
      for (const stored of slice.objects) {
        if (this.#keeps(stored)) {
          missing.delete(stored.key)
          if (!isSame(this.#values.get(stored.key)?.version, stored)) this.#set(stored)
        }
        if (this.#sealed.has(stored.key)) present.add(stored.key)
      }
      after = slice.objects.at(-1)?.key ?? after
      listed.add(slice.more ? after : null, slice.revision)
      if (!slice.more) break
      await new Promise<void>((resolve) => clock.soon(resolve))
      if (this.#closed || cursor !== this.#cursor) return
    }
    this.#listed = listed
    for (const key of missing) this.#remove(key)
    this.#sealed.forgetOthers(present)
    onDeleted?.(null)
  }

  #slice(
    after: Key | null,
    { objectsMax, bytesMax }: SliceLimits,
  ): ListSlice & { readonly revision: Revision } {
    const { store, prefix } = this.#dependencies
    const view = store.view()
    const { objects, more } = view.list(prefix, { after, limit: objectsMax })
    let bytes = 0
    const beyond = objects.findIndex((stored) => {
      bytes += stored.byteLength
      return bytes > bytesMax
    })
    // The first object beyond the limit is the last of the slice.
    const isWhole = beyond === -1 || beyond === objects.length - 1
    return {
      objects: isWhole ? objects : objects.slice(0, beyond + 1),
      more: more || !isWhole,
      revision: view.revision,
    }
  }

  #endListing(cursor: WatchCursor, cause: unknown): void {
    if (!(cause instanceof StoreError)) throw cause
    if (cursor !== this.#cursor) return
    cursor.close()
    this.#cursor = null
    this.#recover(cause)
  }

  #pump(): void {
    try {
      this.#step()
    } catch (cause) {
      this.#recover(cause)
    }
  }

  /** @throws StoreError */
  #catchUp(): void {
    try {
      if (this.#cursor === null) this.#list()
      this.#step()
    } catch (cause) {
      if (!(cause instanceof StoreError) || cause.code !== 'compacted') throw cause
      this.#list()
      this.#step()
    }
  }

  /** Processes the next events. @throws StoreError */
  #step(): void {
    const cursor = this.#cursor
    // A list or read in progress continues with this step when it has ended.
    if (this.#closed || cursor === null || this.#listing !== null || this.#reading !== null) return
    const events = cursor.next(eventsPerTurn)
    if ('length' in events) {
      this.#take(cursor, events)
      return
    }
    const reading = this.#takeLater(cursor, events).finally(() => {
      if (this.#reading === reading) this.#reading = null
    })
    this.#reading = reading
  }

  async #takeLater(cursor: WatchCursor, later: Promise<readonly StoreEvent[]>): Promise<void> {
    let events: readonly StoreEvent[]
    try {
      events = await later
    } catch (cause) {
      this.#recover(cause)
      return
    }
    if (cursor === this.#cursor) this.#take(cursor, events)
  }

  #take(cursor: WatchCursor, events: readonly StoreEvent[]): void {
    for (const event of events) {
      if (this.#listed?.isOver(event.revision) === true) this.#listed = null
      if (this.#listed?.contains(event.key, event.revision) === true) continue
      if (event.kind === 'deleted' || !this.#keeps(event.object)) this.#remove(event.key)
      else this.#set(event.object)
      if (event.kind === 'deleted') this.#sealed.forget(event.key)
      if (event.kind === 'deleted') this.#dependencies.onDeleted?.(event.object)
      this.#dependencies.onEvent?.(event)
    }
    if (events.length > 0) this.#dependencies.clock.soon(() => this.#pump())
    else cursor.onMore(() => this.#pump())
  }

  /**
   * Lists again: immediately after compaction, after a pause for other errors of the store, and not
   * at all when the store has stopped.
   */
  #recover(cause: unknown): void {
    if (!(cause instanceof StoreError)) throw cause
    if (this.#closed || cause.code === 'stopped') return
    const { clock } = this.#dependencies
    if (cause.code === 'compacted') {
      clock.soon(() => this.#follow())
      return
    }
    this.#failures++
    clock.after(retryMs, () => this.#follow())
  }

  #follow(): void {
    if (this.#closed) return
    try {
      this.#list()
      this.#pump()
    } catch (cause) {
      this.#recover(cause)
    }
  }

  #keeps(stored: StoredObject): boolean {
    const { keeps } = this.#dependencies
    return keeps === undefined || (this.#sealed.attempt(stored.key, () => keeps(stored)) ?? false)
  }

  #set(version: StoredObject): void {
    const { key } = version
    const read = this.#sealed.attempt(key, () => ({ value: this.#dependencies.parse(version) }))
    if (read === null) {
      this.#remove(key)
      return
    }
    const { value } = read
    const previous = this.#values.get(key)?.value ?? null
    this.#values.set(key, { version, value })
    this.#notify({ kind: 'set', key, value, previous })
  }

  /**
   * Reads objects again that could not be decrypted. The map then has them before their events
   * arrive, which set them once more.
   */
  #readAgain(keys: readonly Key[]): void {
    if (this.#closed) return
    try {
      const view = this.#dependencies.store.view()
      for (const key of keys) {
        const stored = view.get(key)
        if (stored === null) this.#sealed.forget(key)
        else if (this.#keeps(stored)) this.#set(stored)
      }
    } catch (cause) {
      // The state is quarantined: everything is listed again afterwards.
      if (!(cause instanceof StoreError)) throw cause
    }
  }

  #remove(key: Key): void {
    const known = this.#values.get(key)
    if (known === undefined) return
    this.#values.delete(key)
    this.#notify({ kind: 'removed', key, previous: known.value })
  }

  #notify(change: InformerChange<T>): void {
    for (const listener of this.#listeners) listener(change)
  }
}

/** Compares contents too: a quarantined state may have used a revision for other contents. */
function isSame(known: StoredObject | undefined, stored: StoredObject): boolean {
  if (known?.revision !== stored.revision) return false
  if (known === stored) return true
  try {
    return Buffer.compare(known.bytes, stored.bytes) === 0
  } catch (cause) {
    if (cause instanceof SealedObjectError) return false
    throw cause
  }
}
