import { assert, present } from '../../base/assert.ts'
import { entryBytes } from './types.ts'
import type { Entry, LogIndex } from './types.ts'

/**
 * The end of the log in memory: everything that is not persisted or not committed yet, and as many
 * earlier entries as its limit allows, for followers that lag a little.
 *
 *     evicted │ kept while they fit │ always kept │
 *   ──────────┼─────────────────────┼─────────────┤
 *             first      min(persisted, commit)   last
 */
export class EntryCache {
  readonly #bytesMax: number
  /**
   * Slots before `#head` are empty; they are removed together once they are half of all, and at
   * least 64.
   */
  #slots: (Entry | undefined)[] = []
  #head = 0
  /** Index of the first entry, or of the next one when empty. */
  #first: LogIndex
  #bytes = 0

  constructor(next: LogIndex, bytesMax: number) {
    this.#first = next
    this.#bytesMax = bytesMax
  }

  get first(): LogIndex {
    return this.#first
  }

  /** One past the last entry. */
  get next(): LogIndex {
    return (this.#first + this.#slots.length - this.#head) as LogIndex
  }

  get bytes(): number {
    return this.#bytes
  }

  has(index: LogIndex): boolean {
    return index >= this.#first && index < this.next
  }

  at(index: LogIndex): Entry {
    assert(this.has(index), `entry ${index} is in memory`)
    return present(this.#slots[this.#head + index - this.#first], 'a held slot is filled')
  }

  append(entry: Entry): void {
    assert(entry.index === this.next, `entry ${entry.index} follows the last one in memory`)
    this.#slots.push(entry)
    this.#bytes += entryBytes(entry)
  }

  truncateFrom(index: LogIndex): void {
    if (index <= this.#first) {
      this.reset(index)
      return
    }
    while (this.next > index) this.#bytes -= entryBytes(present(this.#slots.pop(), 'a held slot is filled'))
  }

  /**
   * Removes everything.
   *
   * @param next the index of the next entry
   */
  reset(next: LogIndex): void {
    this.#slots = []
    this.#head = 0
    this.#first = next
    this.#bytes = 0
  }

  /** Removes the oldest entries, at most up to `evictable`, until the rest fits the limit. */
  evict(evictable: LogIndex): void {
    while (this.#bytes > this.#bytesMax && this.#first <= evictable && this.#first < this.next)
      this.#dropFirst()
  }

  /** Removes everything at and below `index`. */
  compact(index: LogIndex): void {
    if (index + 1 >= this.next) this.reset(Math.max(this.next, index + 1) as LogIndex)
    while (this.#first <= index) this.#dropFirst()
  }

  /** Returns consecutive entries from `from` on, as many as fit `bytesMax`, but at least one. */
  slice(from: LogIndex, bytesMax: number): readonly Entry[] {
    const entries: Entry[] = [this.at(from)]
    let bytes = entryBytes(this.at(from))
    for (let index = (from + 1) as LogIndex; index < this.next; index++) {
      const entry = this.at(index)
      bytes += entryBytes(entry)
      if (bytes > bytesMax) break
      entries.push(entry)
    }
    return entries
  }

  #dropFirst(): void {
    this.#bytes -= entryBytes(this.at(this.#first))
    this.#slots[this.#head++] = undefined
    this.#first = (this.#first + 1) as LogIndex
    if (this.#head < 64 || this.#head * 2 < this.#slots.length) return
    this.#slots.splice(0, this.#head)
    this.#head = 0
  }
}
