import type { Clock, Timer } from '../../base/clock.ts'
import { ConsensusError, quietHeartbeats } from '../../raft/index.ts'
import type { Consensus, ReadPort } from '../../raft/index.ts'

/** Period of the look at the proof. */
const lookMs = 500
/** Age of the proof in ms from which the next one is requested, to come with the heartbeats. */
const dueMs = 1000
/**
 * Age in ms from which a proof is requested at once. One with the heartbeats takes up to a second,
 * so the next one has usually arrived by then.
 */
const overdueMs = 2500
/** Proofs are requested with the heartbeats only if they arrive within this time, in ms. */
const withHeartbeatsMsMax = 1000
/** Age in ms from which a proof is requested if proofs do not go with the heartbeats. */
const aloneMs = 1500
const attemptMsMax = 1000
/** Pause after an attempt without a proof. */
const pauseMs = 50
/** Long enough that one lost attempt does not make the member unready. */
const proofMsMax = 3500

type CaughtUpConsensus = Pick<Consensus<never>, 'barrier'> & {
  readonly reads: Pick<ReadPort, 'freshness' | 'probeWithHeartbeat'>
}

/**
 * Determines whether this member is up to date with the cluster. A member that just restarted
 * receives messages of its leader before it learns how far behind it is, so its own indexes do not
 * show it. A read barrier does: it opens only when memory contains everything that was acknowledged
 * before the request. Every barrier of this member counts, also those of clients. Without them the
 * member requests one that goes with the heartbeats, and one of its own if that does not arrive.
 *
 * Where heartbeats are so rare that it would not arrive in time, the member requests only its own,
 * and earlier. A proof that is old when the leader fails would expire before another member leads:
 * an election takes longer there, too.
 */
export class CaughtUp {
  readonly #consensus: CaughtUpConsensus
  readonly #clock: Clock
  /** Whether proofs that go with the heartbeats arrive in time. */
  readonly #withHeartbeats: boolean
  #isAsking = false
  #timer: Timer | null = null
  #closed = false

  /** @param dependencies.heartbeatMs usual heartbeat interval of the members */
  constructor(dependencies: {
    readonly consensus: CaughtUpConsensus
    readonly clock: Clock
    readonly heartbeatMs: number
  }) {
    this.#consensus = dependencies.consensus
    this.#clock = dependencies.clock
    // The request waits for one heartbeat, and the round for the next.
    this.#withHeartbeats = 2 * quietHeartbeats * dependencies.heartbeatMs <= withHeartbeatsMsMax
  }

  start(): void {
    this.#timer = this.#clock.every(lookMs, () => this.#look())
    this.#look()
  }

  close(): void {
    this.#closed = true
    this.#timer?.cancel()
  }

  /** Returns the age of the last proof of the present state, in ms; Infinity before the first. */
  ageMs(): number {
    // The proof is as old as the request. It does not count for a state that replaced another one.
    const { freshness } = this.#consensus.reads
    return freshness === null ? Infinity : this.#clock.monotonicMs() - freshness.asOfMs
  }

  /** Returns null if the member was up to date within the last `proofMsMax`. */
  failure(): string | null {
    if (this.ageMs() <= proofMsMax) return null
    return this.#consensus.reads.freshness === null
      ? 'this member has not caught up yet'
      : 'no most-recent read succeeded lately'
  }

  #look(): void {
    if (this.#isAsking) return
    const ageMs = this.ageMs()
    if (ageMs >= (this.#withHeartbeats ? overdueMs : aloneMs)) void this.#ask()
    else if (ageMs >= dueMs && this.#withHeartbeats) this.#consensus.reads.probeWithHeartbeat()
  }

  /** Requests a proof until one arrives. */
  async #ask(): Promise<void> {
    this.#isAsking = true
    while (!this.#closed && this.ageMs() >= dueMs) {
      try {
        await this.#consensus.barrier(this.#clock.monotonicMs() + attemptMsMax)
      } catch (cause) {
        if (!(cause instanceof ConsensusError)) throw cause
      }
      if (this.ageMs() < dueMs) break
      await new Promise<void>((wake) => void this.#clock.after(pauseMs, wake))
    }
    this.#isAsking = false
  }
}
