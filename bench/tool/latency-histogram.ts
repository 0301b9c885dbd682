import { assert } from '../../base/assert.ts'

/** Buckets per doubling: values are precise to within 1/64. */
const perDoubling = 64
const bucketCount = 26 * perDoubling
const valueMax = 2 ** 31 - 1

export type LatencyCounts = {
  readonly counts: Uint32Array
  readonly maxUs: number
}

/**
 * A histogram of durations from 1 us to 35 minutes, in 6.5 KiB whatever their number. Histograms of
 * several threads can be added.
 */
export class LatencyHistogram {
  readonly #counts: Uint32Array
  #maxUs: number
  #total = 0

  constructor(from?: LatencyCounts) {
    this.#counts = from?.counts ?? new Uint32Array(bucketCount)
    this.#maxUs = from?.maxUs ?? 0
    assert(this.#counts.length === bucketCount, 'a histogram has all its buckets')
    for (const count of this.#counts) this.#total += count
  }

  get total(): number {
    return this.#total
  }

  /** @param ms below 1 us counts as 1 us */
  record(ms: number): void {
    const us = Math.min(valueMax, Math.max(1, Math.round(ms * 1000)))
    const bucket = bucketOf(us)
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1
    this.#total++
    if (us > this.#maxUs) this.#maxUs = us
  }

  add(other: LatencyCounts): void {
    other.counts.forEach((count, bucket) => {
      this.#counts[bucket] = (this.#counts[bucket] ?? 0) + count
      this.#total += count
    })
    this.#maxUs = Math.max(this.#maxUs, other.maxUs)
  }

  /**
   * Returns a quantile by nearest rank, rounded up to the largest value of its bucket.
   *
   * @param share above 0, at most 1; 1 returns the exact maximum
   * @returns ms; 0 when no value was recorded
   */
  quantile(share: number): number {
    const rank = Math.max(1, Math.ceil(share * this.#total))
    if (rank >= this.#total) return this.#maxUs / 1000
    let seen = 0
    for (let bucket = 0; bucket < bucketCount; bucket++) {
      seen += this.#counts[bucket] ?? 0
      if (seen >= rank) return Math.min(this.#maxUs, largestOf(bucket)) / 1000
    }
    return this.#maxUs / 1000
  }

  /** Returns the counts without a copy, to send them to another thread. */
  counts(): LatencyCounts {
    return { counts: this.#counts, maxUs: this.#maxUs }
  }
}

/** Each value below 64 us has a bucket of its own; above, each doubling has 64 buckets. */
function bucketOf(us: number): number {
  if (us < perDoubling) return us
  const doublings = 25 - Math.clz32(us)
  return doublings * perDoubling + (us >>> doublings)
}

function largestOf(bucket: number): number {
  if (bucket < 2 * perDoubling) return bucket
  const doublings = Math.floor(bucket / perDoubling) - 1
  const lead = bucket - doublings * perDoubling
  return (lead + 1) * 2 ** doublings - 1
}
