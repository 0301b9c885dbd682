import type { Clock, Timer } from '../../base/clock.ts'
import { ConsensusError } from '../../raft/index.ts'
import type { Consensus } from '../../raft/index.ts'

/** The period while reads succeed, and while they fail. */
const periodMs = { well: 1500, ill: 50 } as const
const attemptMsMax = 1000
/** Long enough that one lost attempt does not make the member unready. */
const proofMsMax = 3500

/**
 * Determines whether this member is up to date with the cluster. A member that just restarted
 * receives messages of its leader before it learns how far behind it is, so its own indexes do not
 * show it. A read barrier does: it opens only when memory contains everything that was acknowledged
 * before the request. A member requests one every 1.5 seconds, and more often after a failure.
 */
export class CaughtUp {
  readonly #consensus: Pick<Consensus<never>, 'barrier'>
  readonly #clock: Clock
  #provenMs = Number.NEGATIVE_INFINITY
  #timer: Timer | null = null
  #closed = false

  constructor(dependencies: {
    readonly consensus: Pick<Consensus<never>, 'barrier'>
    readonly clock: Clock
  }) {
    this.#consensus = dependencies.consensus
    this.#clock = dependencies.clock
  }

  start(): void {
    void this.#ask()
  }

  close(): void {
    this.#closed = true
    this.#timer?.cancel()
  }

  /** Returns the age of the last proof, in ms; Infinity before the first. */
  ageMs(): number {
    return this.#clock.monotonicMs() - this.#provenMs
  }

  /** Returns null if the member was up to date within the last `proofMsMax`. */
  failure(): string | null {
    if (this.ageMs() <= proofMsMax) return null
    return this.#provenMs === Number.NEGATIVE_INFINITY
      ? 'this member has not caught up yet'
      : 'no most-recent read succeeded lately'
  }

  async #ask(): Promise<void> {
    const askedMs = this.#clock.monotonicMs()
    let well = false
    try {
      await this.#consensus.barrier(askedMs + attemptMsMax)
      // The proof is as old as the request.
      this.#provenMs = askedMs
      well = true
    } catch (cause) {
      if (!(cause instanceof ConsensusError)) throw cause
    }
    if (this.#closed) return
    this.#timer = this.#clock.after(well ? periodMs.well : periodMs.ill, () => void this.#ask())
  }
}
