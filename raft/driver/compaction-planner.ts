import type { LogIndex, SnapshotMeta } from '../core/types.ts'
import type { LogNeed } from './log-needs.ts'

export type CompactionLimits = {
  /**
   * The log keeps at least this many entries or bytes. A follower that lags by less than both of
   * these catches up from the log, without a snapshot.
   */
  readonly retentionEntries: number
  readonly retentionBytes: number
}

/**
 * Decides up to which index the log may be compacted: an index that the database durably holds, and
 * far enough from the end that slow followers still find their entries. For followers in contact
 * more than the retention is kept, up to `lengthFactorMax` times its bytes or the size of the
 * snapshot that they were sent. A follower that lags further receives a snapshot.
 *
 * Of the entries found at start only the total size is known, so the log cannot be compacted to an
 * index between them. A log that reaches `lengthFactorMax` times the retention is compacted beyond
 * all of them, even if less than the retention remains then; otherwise the log would grow with
 * each short run of the process.
 */
export class CompactionPlanner {
  readonly #limits: CompactionLimits
  /** Indexes that the database reached, ascending, each with the bytes appended until then. */
  #points: Point[] = []
  /** The base of the log. */
  #base: Point
  #bytes: number

  /** @param bytes size of the entries above `base` in the log */
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
    // Every second point is dropped when there are many: the exact index of a compaction matters
    // little.
    if (this.#points.length > pointsMax) this.#points = this.#points.filter((_, at) => at % 2 === 1)
  }

  /** Records that the log was replaced and has this base now. */
  reset(base: SnapshotMeta): void {
    this.#points = []
    this.#base = { snapshot: base, bytes: this.#bytes }
  }

  /** Records that the log has this base now, even if another one was planned. */
  beginsAfter(base: SnapshotMeta): void {
    const gone = this.#points.filter(({ snapshot }) => snapshot.index <= base.index)
    this.#base = { snapshot: base, bytes: gone.at(-1)?.bytes ?? this.#base.bytes }
    this.#points.splice(0, gone.length)
  }

  /** @returns the base to compact to now; null: do not compact */
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

  /** Removes all points, because no database holds them. */
  forgetPoints(): void {
    this.#points = []
  }

  /** Returns whether the log has reached `lengthFactorMax` times the retention. */
  isFull(lastIndex: LogIndex): boolean {
    return this.#isTooLong(this.#base, lastIndex)
  }

  /**
   * Returns whether a peer needs entries that a compaction to the point would remove.
   *
   * @param base the base of the log without this compaction
   */
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
 * The log may grow to this multiple of the retention, or further for a follower that received a
 * larger snapshot.
 */
const lengthFactorMax = 4
