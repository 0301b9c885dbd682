import type { LogIndex, SnapshotMeta } from '../core/types.ts'

export type CutLimits = {
  /** A follower that lags no further than both of these is brought back by log, not by snapshot. */
  readonly retentionEntries: number
  readonly retentionBytes: number
}

/**
 * Decides where the log may be cut: at a point the database durably held, far enough behind the end that slow
 * followers find what they need, though never keeping more than the retention in entries or bytes.
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
   * @param ceiling not above this, because a peer needs what follows; null: no such peer
   * @returns where to cut now; null: nowhere
   */
  next(lastIndex: LogIndex, ceiling: LogIndex | null): SnapshotMeta | null {
    let best = -1
    for (const [at, { snapshot, bytes }] of this.#points.entries()) {
      if (ceiling !== null && snapshot.index > ceiling) break
      const entries = lastIndex - snapshot.index
      const kept = this.#bytes - bytes
      if (entries < this.#limits.retentionEntries && kept < this.#limits.retentionBytes) break
      best = at
    }
    if (best < 0) return null
    const cut = this.#points[best]?.snapshot ?? null
    this.#points.splice(0, best + 1)
    return cut
  }
}

const pointsMax = 256
