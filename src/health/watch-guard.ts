import type { Clock, Timer } from '../../base/clock.ts'

export type WatchGuardParts = {
  readonly clock: Clock
  /** How long ago this member proved that it has what the cluster has. */
  readonly proofAgeMs: () => number
  readonly ageMsMax: number
  readonly endWatches: () => void
}

const periodMs = 1000

/**
 * A watch that tells nothing looks like a cluster in which nothing happens. On a member that has lost the quorum for
 * longer than a bound that would be a lie, so its watches end and their clients resume on another member.
 */
export class WatchGuard {
  readonly #parts: WatchGuardParts
  #timer: Timer | null = null

  constructor(parts: WatchGuardParts) {
    this.#parts = parts
  }

  start(): void {
    const { clock, proofAgeMs, ageMsMax, endWatches } = this.#parts
    this.#timer = clock.every(periodMs, () => {
      if (proofAgeMs() > ageMsMax) endWatches()
    })
  }

  close(): void {
    this.#timer?.cancel()
  }
}
