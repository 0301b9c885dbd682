import type { Random } from '../../../base/random.ts'

/** Random offsets to try before a scan: enough unless a range is almost full. */
const RANDOM_ATTEMPTS = 16

/**
 * Offsets that one scan checks. If all of them are taken, the range is reported as full: either it
 * is, or it has that many taken offsets in a row, and a later attempt begins elsewhere.
 */
const SCAN_MAX = 65_536

export type OffsetRange = {
  /** Lower offsets are never picked; clients may request them by name. */
  readonly from: number
  readonly count: number
}

/**
 * Picks free offsets of a range for one object. All picks together cost a scan of the range and
 * some attempts for each, however many they are.
 */
export class FreeOffsets {
  readonly #range: OffsetRange
  readonly #isTaken: (offset: number) => boolean
  readonly #random: Random
  readonly #picked = new Set<number>()
  /** Where the scan continues; null: it has not begun. */
  #next: number | null = null
  #scanned = 0

  constructor(range: OffsetRange, isTaken: (offset: number) => boolean, random: Random) {
    this.#range = range
    this.#isTaken = isTaken
    this.#random = random
  }

  /** @returns null: the range is full, or counts as full; see `SCAN_MAX` */
  pick(): number | null {
    const { from, count } = this.#range
    if (count <= from) return null
    for (let attempt = 0; attempt < RANDOM_ATTEMPTS && this.#next === null; attempt++) {
      const offset = this.#any()
      if (this.#take(offset)) return offset
    }
    const scanMax = Math.min(count - from, SCAN_MAX)
    let offset = this.#next ?? this.#any()
    let found: number | null = null
    for (; found === null && this.#scanned < scanMax; this.#scanned++) {
      if (this.#take(offset)) found = offset
      offset = offset + 1 < count ? offset + 1 : from
    }
    this.#next = offset
    return found
  }

  #any(): number {
    return this.#range.from + this.#random.below(this.#range.count - this.#range.from)
  }

  #take(offset: number): boolean {
    if (this.#picked.has(offset) || this.#isTaken(offset)) return false
    this.#picked.add(offset)
    return true
  }
}
