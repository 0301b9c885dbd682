import { Deferred } from '../../base/deferred.ts'
import type { Clock } from '../../base/clock.ts'
import type { Freshness } from '../consensus.ts'
import type { LogIndex } from '../core/types.ts'
import { noIndex } from '../core/types.ts'
import { DeadlineSweep } from './deadline-sweep.ts'
import { ConsensusError } from '../protocol/node-errors.ts'

export type ReadBarrierOptions = {
  readonly clock: Clock
  /** Limit of the waiting callers. Above it a call fails with `overloaded`. */
  readonly waitersMax: number
  /** Limit of the rounds without a response. At the limit callers gather in the open round. */
  readonly roundsMax: number
  /**
   * A round without a response for this long is presumed lost, and its callers join the next one.
   * The time grows with the response time, up to `retryFactorMax` times this value.
   */
  readonly retryMs: number
  /** Interval of the check for deadlines and lost rounds. */
  readonly sweepMs: number
  /** @param withHeartbeat the round may wait for the next heartbeat of the leader */
  readonly send: (round: number, withHeartbeat: boolean) => void
}

/**
 * Barriers by ReadIndex, with one round for all callers that wait when the round is sent (Raft
 * thesis §6.4).
 *
 *   callers ──join──> open ──send──> under way ──index──> waiting for applied >= index ──> resolved
 *                      ^                 │
 *                      └── not confirmed, lost, leader changed
 *
 * A caller never joins a round that was sent already: its index may not cover writes that were
 * acknowledged before the call. Round numbers are never reused, so a late response matches no
 * round.
 *
 * Each applied round also proves how fresh memory is: as of the time it was sent. The time of the
 * response does not count, as more may have been acknowledged elsewhere while it was on its way.
 */
export class ReadBarrier {
  readonly #options: ReadBarrierOptions
  #open: Waiter[] = []
  /** A round is to be sent even if no caller waits. */
  #probing = false
  readonly #sent = new Map<number, { readonly waiters: Waiter[]; readonly sentMs: number }>()
  /** A round without callers that goes with the next heartbeats. */
  #patient: { readonly round: number; readonly sentMs: number } | null = null
  #confirmed: Confirmed[] = []
  #applied: LogIndex = noIndex
  #freshness: Freshness | null = null
  /**
   * Time after which a round counts as lost. It must exceed the round-trip time to the leader, else
   * no read would ever succeed.
   */
  #retryAfterMs: number
  #nextRound = 1
  #waiting = 0
  #flushPlanned = false
  readonly #sweep: DeadlineSweep
  #stopped = false

  constructor(options: ReadBarrierOptions) {
    this.#options = options
    this.#sweep = new DeadlineSweep({
      ...{ clock: options.clock, periodMs: options.sweepMs },
      isNeeded: () => this.#waiting > 0,
      sweep: () => this.#sweepNow(),
    })
    this.#retryAfterMs = options.retryMs
  }

  get waiting(): number {
    return this.#waiting
  }

  /** See `ReadPort.freshness`. */
  get freshness(): Freshness | null {
    return this.#freshness
  }

  /**
   * See `Consensus.barrier`.
   *
   * @param deadlineMs on the monotonic clock
   * @throws ConsensusError `timed-out`, `overloaded`, `stopped`
   */
  wait(deadlineMs: number): Promise<LogIndex> {
    const refusal = this.#refusal()
    if (refusal !== null) return Promise.reject(refusal)
    const waiter: Waiter = { deadlineMs, deferred: new Deferred() }
    this.#waiting++
    this.#open.push(waiter)
    this.#planFlush()
    this.#sweep.arm()
    return waiter.deferred.promise
  }

  /**
   * Resolves once everything up to `index` is applied here.
   *
   * @param deadlineMs on the monotonic clock
   * @throws ConsensusError `timed-out`, `overloaded`, `stopped`
   */
  async reached(index: LogIndex, deadlineMs: number): Promise<void> {
    if (index <= this.#applied) return
    const refusal = this.#refusal()
    if (refusal !== null) throw refusal
    const waiter: Waiter = { deadlineMs, deferred: new Deferred() }
    this.#waiting++
    this.#confirmed.push({ index, waiters: [waiter], freshness: null })
    this.#sweep.arm()
    await waiter.deferred.promise
  }

  /** Sends a round without a caller, unless one is in progress or planned. */
  probe(): void {
    const now = this.#options.clock.monotonicMs()
    for (const [round, sent] of this.#sent) {
      // The round is lost. Without a caller the sweep may not have run.
      if (sent.waiters.length === 0 && now - sent.sentMs >= this.#retryAfterMs) this.#sent.delete(round)
    }
    if (this.#open.length > 0 || this.#sent.size > 0) return
    this.#probing = true
    this.#planFlush()
  }

  /**
   * Sends a round without a caller that goes with the next heartbeats, unless one is in progress.
   */
  probeWithHeartbeat(): void {
    const now = this.#options.clock.monotonicMs()
    if (this.#stopped || (this.#patient !== null && now - this.#patient.sentMs < patientMs)) return
    this.#patient = { round: this.#nextRound++, sentMs: now }
    this.#options.send(this.#patient.round, true)
  }

  /**
   * Handles the result of a round.
   *
   * @param index null: not confirmed
   */
  answered(round: number, index: LogIndex | null): void {
    if (round === this.#patient?.round) {
      const { sentMs } = this.#patient
      this.#patient = null
      // Its duration is not that of a usual round.
      if (index !== null) this.#confirm(index, [], sentMs)
      return
    }
    const sent = this.#sent.get(round)
    if (sent === undefined) return
    this.#sent.delete(round)
    if (index === null) {
      // The sweep retries, not this call: the member that refused needs a moment to learn the new
      // leader.
      this.#open.push(...sent.waiters)
      return
    }
    this.#setRetryAfter(2 * (this.#options.clock.monotonicMs() - sent.sentMs))
    this.#confirm(index, sent.waiters, sent.sentMs)
    if (this.#open.length > 0) this.#planFlush()
  }

  #confirm(index: LogIndex, waiters: Waiter[], asOfMs: number): void {
    const confirmedMs = this.#options.clock.monotonicMs()
    const confirmed = { index, waiters, freshness: { asOfMs, confirmedMs } }
    if (index <= this.#applied) this.#pass(confirmed)
    // One proof without callers is enough: its index is applied before that of a later one.
    else if (waiters.length > 0 || this.#confirmed.every((other) => other.waiters.length > 0)) {
      this.#confirmed.push(confirmed)
    }
  }

  /** Records that memory holds everything up to `index`, and resolves the rounds up to there. */
  appliedUpTo(index: LogIndex): void {
    // Another state replaced a quarantined one.
    if (index < this.#applied) this.#freshness = null
    this.#applied = index
    if (this.#confirmed.length === 0) return
    const rest = []
    for (const round of this.#confirmed) {
      if (round.index <= index) this.#pass(round)
      else rest.push(round)
    }
    this.#confirmed = rest
  }

  /** Sends a new round for the callers of the pending ones, which the previous leader received. */
  leaderChanged(): void {
    for (const sent of this.#sent.values()) this.#open.push(...sent.waiters)
    this.#sent.clear()
    this.#patient = null
    if (this.#open.length > 0) this.#planFlush()
  }

  stop(): void {
    this.#stopped = true
    this.#sweep.stop()
    const failure = new ConsensusError('stopped', 'this member is stopping')
    for (const waiters of this.#groups()) for (const waiter of waiters) waiter.deferred.reject(failure)
    this.#open = []
    this.#sent.clear()
    this.#confirmed = []
    this.#waiting = 0
  }

  #refusal(): ConsensusError | null {
    if (this.#stopped) return new ConsensusError('stopped', 'this member is stopping')
    if (this.#waiting < this.#options.waitersMax) return null
    return new ConsensusError('overloaded', 'too many reads wait for a barrier')
  }

  #planFlush(): void {
    if (this.#flushPlanned || this.#sent.size >= this.#options.roundsMax) return
    this.#flushPlanned = true
    this.#options.clock.soon(() => {
      this.#flushPlanned = false
      this.#flush()
    })
  }

  #flush(): void {
    if (this.#stopped || this.#sent.size >= this.#options.roundsMax) return
    if (this.#open.length === 0 && !this.#probing) return
    this.#probing = false
    const round = this.#nextRound++
    this.#sent.set(round, { waiters: this.#open, sentMs: this.#options.clock.monotonicMs() })
    this.#open = []
    this.#options.send(round, false)
  }

  /** Resolves a round whose index is applied. */
  #pass({ waiters, freshness }: Confirmed): void {
    if (freshness !== null && freshness.asOfMs >= (this.#freshness?.asOfMs ?? -Infinity)) {
      this.#freshness = freshness
    }
    this.#waiting -= waiters.length
    for (const waiter of waiters) waiter.deferred.resolve(this.#applied)
    this.#sweep.rest()
  }

  #sweepNow(): void {
    const now = this.#options.clock.monotonicMs()
    let lost = false
    for (const [round, sent] of this.#sent) {
      if (now - sent.sentMs < this.#retryAfterMs) continue
      lost = true
      this.#sent.delete(round)
      this.#open.push(...sent.waiters)
    }
    if (lost) this.#setRetryAfter(2 * this.#retryAfterMs)
    for (const waiters of this.#groups()) this.#expire(waiters, now)
    this.#confirmed = this.#confirmed.filter((round) => round.waiters.length > 0)
    if (this.#open.length > 0) this.#planFlush()
  }

  #setRetryAfter(ms: number): void {
    const { retryMs } = this.#options
    this.#retryAfterMs = Math.min(Math.max(ms, retryMs), retryFactorMax * retryMs)
  }

  /** Removes expired callers from `waiters`, in place. */
  #expire(waiters: Waiter[], now: number): void {
    let kept = 0
    for (const waiter of waiters) {
      if (waiter.deadlineMs > now) waiters[kept++] = waiter
      else waiter.deferred.reject(new ConsensusError('timed-out', timedOut))
    }
    this.#waiting -= waiters.length - kept
    waiters.length = kept
  }

  #groups(): Waiter[][] {
    return [
      this.#open,
      ...[...this.#sent.values()].map((sent) => sent.waiters),
      ...this.#confirmed.map((round) => round.waiters),
    ]
  }
}

const retryFactorMax = 16

/**
 * Ms after which a round that goes with the heartbeats is presumed lost: the request may wait for a
 * heartbeat, and then the round for another.
 */
const patientMs = 2000
const timedOut = 'the read was not confirmed by a quorum, or its index not applied here, in time'

/** @param freshness what the round proves once applied; null: it was not a quorum round */
type Confirmed = {
  readonly index: LogIndex
  readonly waiters: Waiter[]
  readonly freshness: Freshness | null
}

type Waiter = { readonly deadlineMs: number; readonly deferred: Deferred<LogIndex> }
