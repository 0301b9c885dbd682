import { present } from '../../../base/assert.ts'
import type { Key, KeyPrefix } from '../key.ts'

/**
 * Items in the order of their keys.
 *
 * Stored in sorted chunks, as in a B+ tree of two levels: a search takes about 18 comparisons among
 * 200,000, an insertion moves at most one chunk of pointers. Keys compare by UTF-16 code units, the
 * same on every member.
 */
export class KeyOrder<T extends { readonly key: Key }> {
  /**
   * No chunk is empty, unless it is the only one. Every key of a chunk is below every key of the
   * next.
   */
  readonly #chunks: T[][] = [[]]

  get(key: Key): T | null {
    const { chunk, slot } = this.#seek(key)
    const found = this.#chunk(chunk)[slot]
    return found?.key === key ? found : null
  }

  /** Replaces the item with the same key. */
  set(item: T): void {
    const place = this.#seek(item.key)
    const chunk = this.#chunk(place.chunk)
    if (chunk[place.slot]?.key === item.key) {
      chunk[place.slot] = item
      return
    }
    chunk.splice(place.slot, 0, item)
    if (chunk.length > chunkItemsMax) this.#split(place.chunk)
  }

  /** Does nothing when the key is absent. */
  delete(key: Key): void {
    const place = this.#seek(key)
    const chunk = this.#chunk(place.chunk)
    if (chunk[place.slot]?.key !== key) return
    chunk.splice(place.slot, 1)
    this.#merge(place.chunk)
  }

  /**
   * Returns items under `prefix` after the key `after`, in order.
   * @param limit maximum number; null for all
   */
  list(
    prefix: KeyPrefix | '',
    after: Key | null,
    limit: number | null,
  ): { readonly items: T[]; readonly more: boolean } {
    const end = this.#end(prefix)
    const start = this.#start(prefix, after)
    const items: T[] = []
    const most = limit ?? Number.MAX_SAFE_INTEGER
    let slot = start.slot
    for (let at = start.chunk; at <= end.chunk && at < this.#chunks.length; at++) {
      const chunk = this.#chunk(at)
      const stop = at === end.chunk ? end.slot : chunk.length
      for (; slot < stop; slot++) {
        if (items.length === most) return { items, more: true }
        items.push(present(chunk[slot], 'a slot below the length is filled'))
      }
      slot = 0
    }
    return { items, more: false }
  }

  /** Like `list`, but lazy. Must not be used across an `await`, because changes invalidate it. */
  *walk(prefix: KeyPrefix | '', after: Key | null): Generator<T, void> {
    const end = this.#end(prefix)
    const start = this.#start(prefix, after)
    let slot = start.slot
    for (let at = start.chunk; at <= end.chunk && at < this.#chunks.length; at++) {
      const chunk = this.#chunk(at)
      const stop = at === end.chunk ? end.slot : chunk.length
      for (; slot < stop; slot++) yield present(chunk[slot], 'a slot below the length is filled')
      slot = 0
    }
  }

  /** Returns the number of items under `prefix`. Adds up the lengths of whole chunks. */
  count(prefix: KeyPrefix | ''): number {
    const start = this.#seek(prefix)
    const end = this.#end(prefix)
    if (start.chunk === end.chunk) return end.slot - start.slot
    let count = this.#chunk(start.chunk).length - start.slot + end.slot
    for (let at = start.chunk + 1; at < end.chunk; at++) count += this.#chunk(at).length
    return count
  }

  /** Returns the first item under `prefix` that `accept` accepts. */
  first(prefix: string, accept: (item: T) => boolean): T | null {
    const start = this.#seek(prefix)
    let slot = start.slot
    for (let at = start.chunk; at < this.#chunks.length; at++) {
      const chunk = this.#chunk(at)
      for (; slot < chunk.length; slot++) {
        const item = present(chunk[slot], 'a slot below the length is filled')
        if (!item.key.startsWith(prefix)) return null
        if (accept(item)) return item
      }
      slot = 0
    }
    return null
  }

  /**
   * Returns the position of `key`, or its insertion point. The slot may be after the last of its
   * chunk.
   */
  #seek(key: string): Place {
    let low = 0
    let high = this.#chunks.length - 1
    // Finds the last chunk whose first key is not above `key`.
    while (low < high) {
      const middle = (low + high + 1) >>> 1
      if (keyAt(this.#chunk(middle), 0) <= key) low = middle
      else high = middle - 1
    }
    const chunk = this.#chunk(low)
    let from = 0
    let to = chunk.length
    while (from < to) {
      const middle = (from + to) >>> 1
      if (keyAt(chunk, middle) < key) from = middle + 1
      else to = middle
    }
    return { chunk: low, slot: from }
  }

  #start(prefix: string, after: Key | null): Place {
    if (after === null || after < prefix) return this.#seek(prefix)
    const place = this.#seek(after)
    const found = this.#chunk(place.chunk)[place.slot]
    return found?.key === after ? { chunk: place.chunk, slot: place.slot + 1 } : place
  }

  /** Returns the position after the last key under `prefix`. */
  #end(prefix: string): Place {
    if (prefix === '') {
      const last = this.#chunks.length - 1
      return { chunk: last, slot: this.#chunk(last).length }
    }
    const last = prefix.charCodeAt(prefix.length - 1)
    return this.#seek(prefix.slice(0, -1) + String.fromCharCode(last + 1))
  }

  #split(at: number): void {
    const chunk = this.#chunk(at)
    // Split near the end when keys arrive in ascending order, so that loading leaves full chunks.
    this.#chunks.splice(
      at + 1,
      0,
      chunk.splice(at === this.#chunks.length - 1 ? chunkItemsMax : chunk.length >>> 1),
    )
  }

  /** Merges a small chunk with a neighbour, so that no chunk is empty. */
  #merge(at: number): void {
    if (this.#chunk(at).length > chunkItemsMax >>> 3 || this.#chunks.length === 1) return
    const left = at + 1 < this.#chunks.length ? at : at - 1
    const [first, second] = [this.#chunk(left), this.#chunk(left + 1)]
    if (first.length + second.length > chunkItemsMax && second.length > 0 && first.length > 0) return
    this.#chunks.splice(left, 2, first.concat(second))
  }

  #chunk(at: number): T[] {
    return present(this.#chunks[at], 'a chunk is there')
  }
}

type Place = { readonly chunk: number; readonly slot: number }

/** Moving 256 pointers on average costs less than comparing two long keys. */
const chunkItemsMax = 512

function keyAt(chunk: readonly { readonly key: Key }[], slot: number): string {
  return present(chunk[slot], 'a slot below the length is filled').key
}
