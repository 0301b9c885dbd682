import type { Clock, Timer } from '../../base/clock.ts'
import { ConsensusFailure } from '../../raft/index.ts'
import type { Consensus } from '../../raft/index.ts'

/** While it succeeds; while it does not. */
const periodMs = { well: 1000, ill: 50 } as const
const attemptMsMax = 1000
/** Three attempts and a little: one that is lost makes nobody unready. */
const proofMsMax = 3500

/**
 * Whether this member has what the cluster has. A member that just came back hears its leader before it knows how far
 * behind it is, so its own indexes cannot tell. A read barrier can: it opens only when memory holds
 * everything acknowledged before it was asked. One is asked for each second.
 */
export class CaughtUp {
  readonly #consensus: Pick<Consensus<never>, 'barrier'>
  readonly #clock: Clock
  #provenMs = Number.NEGATIVE_INFINITY
  #timer: Timer | null = null
  #closed = false

  constructor(parts: { readonly consensus: Pick<Consensus<never>, 'barrier'>; readonly clock: Clock }) {
    this.#consensus = parts.consensus
    this.#clock = parts.clock
  }

  start(): void {
    void this.#ask()
  }

  close(): void {
    this.#closed = true
    this.#timer?.cancel()
  }

  /** How long ago it was proven, in ms; Infinity before the first time. */
  ageMs(): number {
    return this.#clock.monotonicMs() - this.#provenMs
  }

  /** null: it has, or had within the last seconds. */
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
      // What was proven is as old as the question.
      this.#provenMs = askedMs
      well = true
    } catch (cause) {
      if (!(cause instanceof ConsensusFailure)) throw cause
    }
    if (this.#closed) return
    this.#timer = this.#clock.after(well ? periodMs.well : periodMs.ill, () => void this.#ask())
  }
}
