import type { Clock } from '../../base/clock.ts'
import type { KeyPrefix } from '../store/key.ts'
import type { ObjectStore, StoreEvent, WatchCursor } from '../store/object-store.ts'
import { StoreError } from '../store/store-errors.ts'
import { isSealed } from './envelope.ts'

export type PlainTextWatchOptions = {
  /** The objects as stored. */
  readonly store: ObjectStore
  readonly clock: Clock
  /** An object in plain text was applied, or may have been. */
  readonly onPlain: () => void
}

const eventsPerTurn = 128
/**
 * Delay before following again after events were lost, or the store was quarantined or refused a
 * watch.
 */
const retryMs = 1000

/**
 * Follows the events of encrypted resources, and reports objects in plain text: another member that
 * is configured differently may write one, and it may be gone when objects are counted.
 */
export class PlainTextWatch {
  readonly #options: PlainTextWatchOptions
  readonly #cursors = new Map<string, WatchCursor | null>()

  constructor(options: PlainTextWatchOptions) {
    this.#options = options
  }

  /** Follows the resources with these prefixes from now on; see `sealedPrefixesOf`. */
  follow(places: readonly string[]): void {
    for (const [place, cursor] of this.#cursors) {
      if (places.includes(place)) continue
      cursor?.close()
      this.#cursors.delete(place)
    }
    for (const place of places) if (!this.#cursors.has(place)) this.#open(place)
  }

  close(): void {
    this.follow([])
  }

  #open(place: string): void {
    const { store } = this.#options
    this.#cursors.set(place, null)
    try {
      const cursor = store.watch(place as KeyPrefix, store.view().revision)
      this.#cursors.set(place, cursor)
      this.#pump(place, cursor)
    } catch (cause) {
      this.#missed(place, cause)
    }
  }

  #pump(place: string, cursor: WatchCursor): void {
    if (this.#cursors.get(place) !== cursor) return
    try {
      const events = cursor.next(eventsPerTurn)
      if ('length' in events) this.#take(place, cursor, events)
      else {
        events.then(
          (later) => this.#take(place, cursor, later),
          (cause: unknown) => this.#missed(place, cause),
        )
      }
    } catch (cause) {
      this.#missed(place, cause)
    }
  }

  #take(place: string, cursor: WatchCursor, events: readonly StoreEvent[]): void {
    if (this.#cursors.get(place) !== cursor) return
    if (events.some(({ object }) => !isSealed(object))) this.#options.onPlain()
    if (events.length > 0) this.#options.clock.soon(() => this.#pump(place, cursor))
    else cursor.onMore(() => this.#pump(place, cursor))
  }

  /** Events were lost, or the state was replaced: they may have had plain text. */
  #missed(place: string, cause: unknown): void {
    if (!(cause instanceof StoreError)) throw cause
    const cursor = this.#cursors.get(place)
    if (cursor === undefined || cause.code === 'stopped') return
    cursor?.close()
    this.#cursors.set(place, null)
    this.#options.onPlain()
    this.#options.clock.after(retryMs, () => {
      if (this.#cursors.get(place) === null) this.#open(place)
    })
  }
}
