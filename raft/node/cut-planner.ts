import type { LogIndex, SnapshotMeta } from '../core/types.ts'
import type { LogNeeds } from './log-needs.ts'

export type CutLimits = {
  /** A follower that lags no further than both of these is brought back by log, not by snapshot. */
  readonly retentionEntries: number
  readonly retentionBytes: number
}

/**
 * Decides where the log may be cut: at a point the database durably held, far enough behind the end that slow
 * followers find what they need. For those that are in touch more is kept than the retention, `inTouchFactor` times its
 * bytes at most: whoever is further behind is sent a state.
 */
export class CutPlanner {
  readonly #limits: CutLimits
  /** Points the database reached, ascending; `bytes` had been appended by then. */
  #points: { readonly snapshot: SnapshotMeta; readonly bytes: number }[] = []
  #bytes = 0

  constructor(limits: CutLimits) {
    this.#limits = limits
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

  /** The log was replaced. */
  reset(): void {
    this.#points = []
  }

  /**
   * @returns where to cut now; null: nowhere
   */
  next(lastIndex: LogIndex, { streams, followers }: LogNeeds): SnapshotMeta | null {
    const { retentionEntries, retentionBytes } = this.#limits
    let best = -1
    for (const [at, { snapshot, bytes }] of this.#points.entries()) {
      if (streams !== null && snapshot.index > streams) break
      const entries = lastIndex - snapshot.index
      const kept = this.#bytes - bytes
      const isNeeded = followers !== null && snapshot.index > followers
      if (isNeeded && kept < inTouchFactor * retentionBytes) break
      if (entries < retentionEntries && kept < retentionBytes) break
      best = at
    }
    if (best < 0) return null
    const cut = this.#points[best]?.snapshot ?? null
    this.#points.splice(0, best + 1)
    return cut
  }
}

const pointsMax = 256
/** So many times the retention in bytes is kept for followers that are in touch. */
const inTouchFactor = 4
