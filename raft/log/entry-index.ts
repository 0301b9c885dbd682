import { assert } from '../../base/assert.ts'
import { logIndex } from '../core/types.ts'
import type { LogIndex } from '../core/types.ts'

/** The place of an entry's record, and the checksum that its own checksum continues. */
export type EntryPlace = {
  readonly segment: number
  readonly offset: number
  readonly length: number
  readonly seed: number
}

const slotsMin = 1024

/**
 * The places of the entries by index, in four flat arrays: 16 bytes per entry. It covers the
 * entries above the base, whose number compaction limits; compaction also returns memory.
 *
 *     slots   . . . . [first] . . . . . [first + count - 1] . . .
 *             ^ head: freed by compaction, removed when it is more than half
 */
export class EntryIndex {
  #segments = new Uint32Array(slotsMin)
  #offsets = new Uint32Array(slotsMin)
  #lengths = new Uint32Array(slotsMin)
  #seeds = new Uint32Array(slotsMin)
  #head = 0
  #count = 0
  #first: number

  /** @param first the index of the first entry */
  constructor(first: LogIndex) {
    this.#first = first
  }

  /** The lowest index with a place, or the index of the next entry when empty. */
  get first(): LogIndex {
    return logIndex(this.#first)
  }

  get last(): LogIndex {
    return logIndex(this.#first + this.#count - 1)
  }

  put(index: LogIndex, place: EntryPlace): void {
    if (index < this.#first) this.reset(index)
    assert(index <= this.#first + this.#count, 'places are consecutive')
    this.#count = index - this.#first
    if (this.#head + this.#count === this.#segments.length) this.#resize()
    const slot = this.#head + this.#count
    this.#segments[slot] = place.segment
    this.#offsets[slot] = place.offset
    this.#lengths[slot] = place.length
    this.#seeds[slot] = place.seed
    this.#count++
  }

  place(index: LogIndex): EntryPlace {
    const slot = this.#slot(index)
    return {
      segment: this.#segments[slot] as number,
      offset: this.#offsets[slot] as number,
      length: this.#lengths[slot] as number,
      seed: this.#seeds[slot] as number,
    }
  }

  has(index: LogIndex): boolean {
    return index >= this.#first && index < this.#first + this.#count
  }

  /** Size in bytes of all records together. Iterates over all of them. */
  get bytes(): number {
    let bytes = 0
    for (let at = 0; at < this.#count; at++) bytes += this.#lengths[this.#head + at] ?? 0
    return bytes
  }

  /** Removes everything below `first`. */
  compact(first: LogIndex): void {
    if (first <= this.#first) return
    const gone = Math.min(first - this.#first, this.#count)
    this.#head += gone
    this.#count -= gone
    this.#first = first
    if (this.#head * 2 > this.#segments.length) this.#resize()
  }

  /** Removes everything; the next entry has the index `first`. */
  reset(first: LogIndex): void {
    this.#first = first
    this.#count = 0
    this.#head = 0
    this.#resize()
  }

  #slot(index: LogIndex): number {
    assert(this.has(index), `entry ${index} has a place`)
    return this.#head + index - this.#first
  }

  #resize(): void {
    let slots = slotsMin
    while (slots < this.#count * 2) slots *= 2
    const move = (from: Uint32Array): Uint32Array<ArrayBuffer> => {
      const to = new Uint32Array(slots)
      to.set(from.subarray(this.#head, this.#head + this.#count))
      return to
    }
    this.#segments = move(this.#segments)
    this.#offsets = move(this.#offsets)
    this.#lengths = move(this.#lengths)
    this.#seeds = move(this.#seeds)
    this.#head = 0
  }
}
