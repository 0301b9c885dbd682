import { assert, present } from '../../../raft/base/assert.ts'
import type { Key, KeyPrefix } from '../key.ts'
import type { Version } from './version.ts'

/**
 * The newest version of every object: found by key at once, walked in key order by prefix.
 *
 * Order is kept in sorted chunks, as in a B+ tree of two levels: a search takes about 18 comparisons for
 * 200,000 objects, an insertion moves at most one chunk of pointers. Keys compare by UTF-16 code units,
 * the same on every member.
 */
export class ObjectTable {
  readonly #byKey = new Map<Key, Version>()
  /** None is empty, unless it is the only one. Every key of a chunk is below every key of the next. */
  readonly #chunks: Version[][] = [[]]

  get size(): number {
    return this.#byKey.size
  }

  get(key: Key): Version | null {
    return this.#byKey.get(key) ?? null
  }

  set(version: Version): void {
    const known = this.#byKey.has(version.key)
    this.#byKey.set(version.key, version)
    const place = this.#seek(version.key)
    const chunk = this.#chunk(place.chunk)
    if (known) {
      chunk[place.slot] = version
      return
    }
    chunk.splice(place.slot, 0, version)
    if (chunk.length > chunkObjectsMax) this.#split(place.chunk)
  }

  delete(key: Key): void {
    assert(this.#byKey.delete(key), 'a deleted object was there')
    const place = this.#seek(key)
    const chunk = this.#chunk(place.chunk)
    chunk.splice(place.slot, 1)
    this.#merge(place.chunk)
  }

  /**
   * Objects under `prefix` behind the key `after`, in key order.
   * @param limit at most so many; null for all
   */
  list(
    prefix: KeyPrefix | '',
    after: Key | null,
    limit: number | null,
  ): { readonly objects: Version[]; readonly more: boolean } {
    const end = this.#end(prefix)
    const start = after !== null && after >= prefix ? this.#behind(after) : this.#seek(prefix)
    const objects: Version[] = []
    const most = limit ?? Number.MAX_SAFE_INTEGER
    let slot = start.slot
    for (let at = start.chunk; at <= end.chunk && at < this.#chunks.length; at++) {
      const chunk = this.#chunk(at)
      const stop = at === end.chunk ? end.slot : chunk.length
      for (; slot < stop; slot++) {
        if (objects.length === most) return { objects, more: true }
        objects.push(present(chunk[slot], 'a slot below the length is filled'))
      }
      slot = 0
    }
    return { objects, more: false }
  }

  /** Adds up whole chunks, so it costs little even for many objects. */
  count(prefix: KeyPrefix | ''): number {
    const start = this.#seek(prefix)
    const end = this.#end(prefix)
    if (start.chunk === end.chunk) return end.slot - start.slot
    let count = this.#chunk(start.chunk).length - start.slot + end.slot
    for (let at = start.chunk + 1; at < end.chunk; at++) count += this.#chunk(at).length
    return count
  }

  /** The first object under `prefix` that `accept` wants. */
  first(prefix: string, accept: (version: Version) => boolean): Version | null {
    const start = this.#seek(prefix)
    let slot = start.slot
    for (let at = start.chunk; at < this.#chunks.length; at++) {
      const chunk = this.#chunk(at)
      for (; slot < chunk.length; slot++) {
        const version = present(chunk[slot], 'a slot below the length is filled')
        if (!version.key.startsWith(prefix)) return null
        if (accept(version)) return version
      }
      slot = 0
    }
    return null
  }

  /** Where `key` is, or would be put. The slot may be behind the last of its chunk. */
  #seek(key: string): Place {
    let low = 0
    let high = this.#chunks.length - 1
    // The last chunk whose first key is not above `key`.
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

  #behind(key: Key): Place {
    const place = this.#seek(key)
    const found = this.#chunk(place.chunk)[place.slot]
    return found?.key === key ? { chunk: place.chunk, slot: place.slot + 1 } : place
  }

  /** Behind the last key under `prefix`. */
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
    // Cut near the end when keys came in ascending order, so that loading leaves full chunks.
    this.#chunks.splice(
      at + 1,
      0,
      chunk.splice(at === this.#chunks.length - 1 ? chunkObjectsMax : chunk.length >>> 1),
    )
  }

  /** Joins a chunk that became small with the one behind or before it, so that no chunk is empty. */
  #merge(at: number): void {
    if (this.#chunk(at).length > chunkObjectsMax >>> 3 || this.#chunks.length === 1) return
    const left = at + 1 < this.#chunks.length ? at : at - 1
    const [first, second] = [this.#chunk(left), this.#chunk(left + 1)]
    if (first.length + second.length > chunkObjectsMax && second.length > 0 && first.length > 0) return
    this.#chunks.splice(left, 2, first.concat(second))
  }

  #chunk(at: number): Version[] {
    return present(this.#chunks[at], 'a chunk is there')
  }
}

type Place = { readonly chunk: number; readonly slot: number }

/** Moving 256 pointers on average costs less than comparing two long keys. */
const chunkObjectsMax = 512

function keyAt(chunk: readonly Version[], slot: number): string {
  return present(chunk[slot], 'a slot below the length is filled').key
}
