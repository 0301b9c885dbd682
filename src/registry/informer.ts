import type { Clock } from '../../base/clock.ts'
import { StoreError } from '../store/store-errors.ts'
import type { Key, KeyPrefix } from '../store/key.ts'
import type { ObjectStore, StoredObject, StoreEvent, WatchCursor } from '../store/object-store.ts'

export type InformerChange<T> =
  | { readonly kind: 'set'; readonly key: Key; readonly value: T; readonly previous: T | null }
  | { readonly kind: 'removed'; readonly key: Key; readonly previous: T }

export type InformerDependencies<T> = {
  readonly store: ObjectStore
  readonly clock: Clock
  readonly prefix: KeyPrefix
  /** Called once per version of an object. */
  readonly parse: (stored: StoredObject) => T
  /** Whether an object belongs in the map, as if others did not exist. Unset: all do. */
  readonly keeps?: (stored: StoredObject) => boolean
  /**
   * Called for each deleted object, also for those that `keeps` leaves out. null: after a list,
   * anything may have been deleted.
   */
  readonly onDeleted?: (deleted: StoredObject | null) => void
  /** Called for each event, also for objects that `keeps` leaves out. */
  readonly onEvent?: (event: StoreEvent) => void
}

/** Events taken from the cursor in one turn before yielding. */
const eventsPerTurn = 128
/** Delay before retrying after the store refused a watch or was quarantined. */
const retryMs = 1000

/**
 * A local map of the objects under a prefix, kept current from this member's event log: list, then
 * watch, and list again after compaction. It shows what this member has applied. Holds one value
 * per object, so it is as bounded as the collection.
 */
export class Informer<T> {
  readonly #dependencies: InformerDependencies<T>
  readonly #values = new Map<Key, { readonly version: StoredObject; readonly value: T }>()
  readonly #listeners = new Set<(change: InformerChange<T>) => void>()
  #cursor: WatchCursor | null = null
  /** The read of events from disk in progress. */
  #reading: Promise<void> | null = null
  #closed = false
  #failures = 0

  constructor(dependencies: InformerDependencies<T>) {
    this.#dependencies = dependencies
  }

  /** Lists the objects, notifies the listeners, and follows the events from then on. */
  start(): void {
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

  /** How often it could not follow the store, compaction aside. */
  get failures(): number {
    return this.#failures
  }

  /** @returns a function that unsubscribes the listener */
  subscribe(listener: (change: InformerChange<T>) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /**
   * Processes everything that this member has applied by now, without waiting for its turn: once it
   * resolves, the listeners have been notified.
   *
   * @throws StoreError there is no state to follow; `stopped` if the store has closed the cursor
   */
  async takeIn(): Promise<void> {
    const { revision } = this.#dependencies.store.view()
    while (!this.#closed && (this.#cursor === null || this.#cursor.revision < revision)) {
      if (this.#reading !== null) {
        await this.#reading
        continue
      }
      const before = { cursor: this.#cursor, revision: this.#cursor?.revision }
      this.#catchUp()
      const isSame = this.#cursor === before.cursor && this.#cursor?.revision === before.revision
      // A closed cursor never moves.
      if (isSame && this.#reading === null) throw new StoreError('stopped', 'the watch was closed')
    }
  }

  close(): void {
    this.#closed = true
    this.#cursor?.close()
    this.#cursor = null
    this.#listeners.clear()
  }

  /** Synchronous, so that no event is missed between the list and the cursor. */
  #relist(): void {
    const { store, prefix } = this.#dependencies
    const view = store.view()
    const objects = view.list(prefix, { after: null, limit: null }).objects.filter((one) => this.#keeps(one))
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
      if (this.#cursor === null) this.#relist()
      this.#step()
    } catch (cause) {
      if (!(cause instanceof StoreError) || cause.code !== 'compacted') throw cause
      this.#relist()
      this.#step()
    }
  }

  /** Processes the next events. @throws StoreError */
  #step(): void {
    const cursor = this.#cursor
    // The pending read continues from there.
    if (this.#closed || cursor === null || this.#reading !== null) return
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
      if (event.kind === 'deleted' || !this.#keeps(event.object)) this.#remove(event.key)
      else this.#set(event.object)
      if (event.kind === 'deleted') this.#dependencies.onDeleted?.(event.object)
      this.#dependencies.onEvent?.(event)
    }
    if (events.length > 0) this.#dependencies.clock.soon(() => this.#pump())
    else cursor.onMore(() => this.#pump())
  }

  /**
   * Lists again after compaction, later if the store is overloaded; does nothing once it is
   * stopped.
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
      this.#relist()
      this.#pump()
    } catch (cause) {
      this.#recover(cause)
    }
  }

  #keeps(stored: StoredObject): boolean {
    return this.#dependencies.keeps?.(stored) ?? true
  }

  #set(version: StoredObject): void {
    const value = this.#dependencies.parse(version)
    const previous = this.#values.get(version.key)?.value ?? null
    this.#values.set(version.key, { version, value })
    this.#notify({ kind: 'set', key: version.key, value, previous })
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
  return known?.revision === stored.revision && Buffer.compare(known.bytes, stored.bytes) === 0
}
