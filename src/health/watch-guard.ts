import type { Clock, Timer } from '../../base/clock.ts'

export type WatchGuardDependencies = {
  readonly clock: Clock
  /** Returns the age of the last proof that this member is up to date. */
  readonly proofAgeMs: () => number
  readonly ageMsMax: number
  readonly endWatches: () => void
}

const periodMs = 1000

/**
 * A watch without events looks like a cluster without changes. That may be wrong on a member that
 * has had no proof of being up to date for `ageMsMax`, so its watches end and their clients resume
 * on another member.
 */
export class WatchGuard {
  readonly #dependencies: WatchGuardDependencies
  #timer: Timer | null = null

  constructor(dependencies: WatchGuardDependencies) {
    this.#dependencies = dependencies
  }

  start(): void {
    const { clock, proofAgeMs, ageMsMax, endWatches } = this.#dependencies
    this.#timer = clock.every(periodMs, () => {
      if (proofAgeMs() > ageMsMax) endWatches()
    })
  }

  close(): void {
    this.#timer?.cancel()
  }
}
