import type { LogIndex, SnapshotMeta } from '../core/types.ts'
import type { LogNeed } from './log-needs.ts'

export type CompactionLimits = {
  /** A follower that lags no further than both of these is brought back by log, not by snapshot. */
  readonly retentionEntries: number
  readonly retentionBytes: number
}

/**
 * Decides where the log may be cut: at a point the database durably held, far enough behind the end
 * that slow followers find what they need. For whoever is in touch more is kept than the retention,
 * `lengthFactorMax` times its bytes at most, or as much as the state has that it was sent: whoever
 * is further behind is sent a state.
 *
 * What a process found in its log it knows the size of, and no point to cut at. So that short lives
 * do not add up, a log as a whole is cut when it has `lengthFactorMax` times the retention, though
 * less than the retention is left then.
 */
export class CompactionPlanner {
  readonly #limits: CompactionLimits
  /** Points the database reached, ascending; `bytes` had been appended by then. */
  #points: Point[] = []
  /** Where the log begins. */
  #base: Point
  #bytes: number

  /** @param bytes of the entries above `base` that the log has already */
  constructor(limits: CompactionLimits, base: SnapshotMeta, bytes: number) {
    this.#limits = limits
    this.#base = { snapshot: base, bytes: 0 }
    this.#bytes = bytes
  }

  appended(bytes: number): void {
    this.#bytes += bytes
  }

  durable(snapshot: SnapshotMeta): void {
    const last = this.#points[this.#points.length - 1]
    if (last !== undefined && last.snapshot.index >= snapshot.index) return
    this.#points.push({ snapshot, bytes: this.#bytes })
    // Every second point goes when there are many: where exactly the log is cut matters little.
    if (this.#points.length > pointsMax) this.#points = this.#points.filter((_, at) => at % 2 === 1)
  }

  /** The log was replaced, and begins behind `base`. */
  reset(base: SnapshotMeta): void {
    this.#points = []
    this.#base = { snapshot: base, bytes: this.#bytes }
  }

  /** The log begins behind `base` now, whatever was planned, and goes on from there as it did. */
  beginsBehind(base: SnapshotMeta): void {
    const gone = this.#points.filter(({ snapshot }) => snapshot.index <= base.index)
    this.#base = { snapshot: base, bytes: gone.at(-1)?.bytes ?? this.#base.bytes }
    this.#points.splice(0, gone.length)
  }

  /**
   * @returns where to cut now; null: nowhere
   */
  next(lastIndex: LogIndex, needs: readonly LogNeed[]): SnapshotMeta | null {
    let base = this.#base
    let count = 0
    for (const point of this.#points) {
      if (needs.some((need) => this.#isKeptFor(need, base, point))) break
      if (!this.#leavesEnough(point, lastIndex) && !this.#isTooLong(base, lastIndex)) break
      base = point
      count++
    }
    if (count === 0) return null
    this.#points.splice(0, count)
    this.#base = base
    return base.snapshot
  }

  /**
   * Nothing of what was planned is durable any more, or ever was: points have to be reached anew.
   */
  forgetPoints(): void {
    this.#points = []
  }

  /** Whether the log has `lengthFactorMax` times the retention. */
  isFull(lastIndex: LogIndex): boolean {
    return this.#isTooLong(this.#base, lastIndex)
  }

  /** @param base where the log would begin otherwise */
  #isKeptFor({ from, stateBytes }: LogNeed, base: Point, { snapshot }: Point): boolean {
    const bytesMax = Math.max(lengthFactorMax * this.#limits.retentionBytes, stateBytes)
    return snapshot.index > from && this.#bytes - base.bytes < bytesMax
  }

  #leavesEnough({ snapshot, bytes }: Point, lastIndex: LogIndex): boolean {
    const { retentionEntries, retentionBytes } = this.#limits
    return lastIndex - snapshot.index >= retentionEntries || this.#bytes - bytes >= retentionBytes
  }

  #isTooLong({ snapshot, bytes }: Point, lastIndex: LogIndex): boolean {
    const { retentionEntries, retentionBytes } = this.#limits
    const entries = lastIndex - snapshot.index
    return (
      entries >= lengthFactorMax * retentionEntries || this.#bytes - bytes >= lengthFactorMax * retentionBytes
    )
  }
}

type Point = { readonly snapshot: SnapshotMeta; readonly bytes: number }

const pointsMax = 256
/**
 * So many times the retention the log may be, unless a state has more that somebody goes on from.
 */
const lengthFactorMax = 4
