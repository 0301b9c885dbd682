import type { Clock } from '../../base/clock.ts'
import { StoreError } from '../store/store-errors.ts'
import type { Key, KeyPrefix } from '../store/key.ts'
import type { ObjectStore, StoredObject, StoreEvent, WatchCursor } from '../store/object-store.ts'

export type InformerChange<T> =
  | { readonly kind: 'set'; readonly key: Key; readonly value: T; readonly previous: T | null }
  | { readonly kind: 'removed'; readonly key: Key; readonly previous: T }

export type InformerParts<T> = {
  readonly store: ObjectStore
  readonly clock: Clock
  readonly prefix: KeyPrefix
  /** Called once per version. */
  readonly parse: (stored: StoredObject) => T
}

/** Taken from the cursor in one turn; then others have theirs. */
const eventsPerTurn = 128
/** Before another try to follow a store that takes no more watches, or whose state is not to be trusted. */
const retryMs = 1000

/**
 * A local map of what lies under a prefix, kept current by this member's event log: list, then watch, and
 * list again where the log was cut. It shows what this member has applied, no more. It holds one value for
 * each object, so it is as bounded as the collection is.
 */
export class Informer<T> {
  readonly #parts: InformerParts<T>
  readonly #values = new Map<Key, { readonly version: StoredObject; readonly value: T }>()
  readonly #listeners = new Set<(change: InformerChange<T>) => void>()
  #cursor: WatchCursor | null = null
  /** Events that come from disk. */
  #reading: Promise<void> | null = null
  #closed = false

  constructor(parts: InformerParts<T>) {
    this.#parts = parts
  }

  /** Loads what is there, telling the listeners, and follows from then on. */
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

  /** @returns takes the listener off again */
  subscribe(listener: (change: InformerChange<T>) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /**
   * Takes in all that this member has applied by now, without waiting for its turn: behind it the listeners were told.
   *
   * @throws StoreError there is no state to follow; `stopped` where the store has ended what follows it
   */
  async takeIn(): Promise<void> {
    const { revision } = this.#parts.store.view()
    while (!this.#closed && (this.#cursor === null || this.#cursor.revision < revision)) {
      if (this.#reading !== null) {
        await this.#reading
        continue
      }
      const before = { cursor: this.#cursor, revision: this.#cursor?.revision }
      this.#catchUp()
      const isSame = this.#cursor === before.cursor && this.#cursor?.revision === before.revision
      // A cursor that was closed stays where it is.
      if (isSame && this.#reading === null) throw new StoreError('stopped', 'no event follows any more')
    }
  }

  close(): void {
    this.#closed = true
    this.#cursor?.close()
    this.#cursor = null
    this.#listeners.clear()
  }

  /** Synchronous, so that nothing falls between the objects and the cursor. */
  #relist(): void {
    const { store, prefix } = this.#parts
    const view = store.view()
    const { objects } = view.list(prefix, { after: null, limit: null })
    this.#cursor?.close()
    this.#reading = null
    this.#cursor = store.watch(prefix, view.revision)
    const present = new Set(objects.map(({ key }) => key))
    for (const key of [...this.#values.keys()]) if (!present.has(key)) this.#remove(key)
    for (const stored of objects) {
      if (!isSame(this.#values.get(stored.key)?.version, stored)) this.#set(stored)
    }
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

  /** The next events. @throws StoreError */
  #step(): void {
    const cursor = this.#cursor
    // Whoever reads goes on from there.
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
      if (event.kind === 'deleted') this.#remove(event.key)
      else this.#set(event.object)
    }
    if (events.length > 0) this.#parts.clock.soon(() => this.#pump())
    else cursor.onMore(() => this.#pump())
  }

  /** A cut log means another list, a crowded store a later one; one that stops has nothing more to tell. */
  #recover(cause: unknown): void {
    if (!(cause instanceof StoreError)) throw cause
    if (this.#closed || cause.code === 'stopped') return
    const { clock } = this.#parts
    if (cause.code === 'compacted') clock.soon(() => this.#follow())
    else clock.after(retryMs, () => this.#follow())
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

  #set(version: StoredObject): void {
    const value = this.#parts.parse(version)
    const previous = this.#values.get(version.key)?.value ?? null
    this.#values.set(version.key, { version, value })
    this.#tell({ kind: 'set', key: version.key, value, previous })
  }

  #remove(key: Key): void {
    const known = this.#values.get(key)
    if (known === undefined) return
    this.#values.delete(key)
    this.#tell({ kind: 'removed', key, previous: known.value })
  }

  #tell(change: InformerChange<T>): void {
    for (const listener of this.#listeners) listener(change)
  }
}

/** By content too: in a state that turned out wrong, a revision may have been another's. */
function isSame(known: StoredObject | undefined, stored: StoredObject): boolean {
  return known?.revision === stored.revision && Buffer.compare(known.bytes, stored.bytes) === 0
}
