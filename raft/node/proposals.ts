import { Deferred } from '../../base/deferred.ts'
import type { Clock } from '../../base/clock.ts'
import type { ProposalResult } from '../consensus.ts'
import { noTerm } from '../core/types.ts'
import type { Term } from '../core/types.ts'
import type { SettledProposal } from '../ports.ts'
import { DeadlineSweep } from './deadline-sweep.ts'
import { encodeEnvelope, envelopeBytes } from '../protocol/envelope.ts'
import type { TryRefused } from '../protocol/thread-messages.ts'

export type ProposalsOptions = {
  /** Random, once per process. */
  readonly session: number
  readonly clock: Clock
  /** Limit of the pending proposals. Above it a proposal ends as `not-applied`, `overloaded`. */
  readonly countMax: number
  /** Limit of the bytes of pending payloads. Above it a proposal ends as `not-applied`, too. */
  readonly bytesMax: number
  /** Limit of one envelope. A larger one ends as `not-applied`, `too-large`. */
  readonly entryBytesMax: number
  /** A try without an outcome for this long may be lost: it is sent again. */
  readonly resendMs: number
  /** Interval of the check of deadlines and retries. */
  readonly sweepMs: number
  readonly send: (term: Term, proposals: readonly Uint8Array[]) => void
}

/**
 * Pending proposals of this process. Each is settled exactly once.
 *
 * Every try carries the term that it was made for and is void in any other term. So a try certainly
 * has no effect when it was dropped or found void, or when an entry of a later term was applied,
 * because terms only grow along the log. While that holds for every try of a proposal, the proposal
 * is *open for retry*, and ends as `not-applied` at its deadline; otherwise it ends as `unknown`.
 * All tries share one sequence number; the state machine applies at most one entry with that
 * number.
 */
export class Proposals<Outcome> {
  readonly #options: ProposalsOptions
  /** The pending proposals, by ascending sequence. */
  readonly #pending = new Map<number, Pending<Outcome>>()
  #bytes = 0
  #nextSequence = 1
  #lowest = 1
  /** The leader's term as last reported; null without a leader. */
  #leaderTerm: Term | null = null
  #appliedTerm: Term = noTerm
  readonly #sweep: DeadlineSweep
  #stopped = false

  constructor(options: ProposalsOptions) {
    this.#options = options
    this.#sweep = new DeadlineSweep({
      ...{ clock: options.clock, periodMs: options.sweepMs },
      isNeeded: () => this.#pending.size > 0,
      sweep: () => this.#sweepNow(),
    })
  }

  get count(): number {
    return this.#pending.size
  }

  get bytes(): number {
    return this.#bytes
  }

  /** @param deadlineMs on the monotonic clock */
  propose(payload: Uint8Array, deadlineMs: number): Promise<ProposalResult<Outcome>> {
    const { countMax, bytesMax, entryBytesMax, clock } = this.#options
    if (this.#stopped) return Promise.resolve({ kind: 'not-applied', reason: 'stopped' })
    if (payload.byteLength + envelopeBytes > entryBytesMax) {
      return Promise.resolve({ kind: 'not-applied', reason: 'too-large' })
    }
    if (this.#pending.size >= countMax || this.#bytes + payload.byteLength > bytesMax) {
      return Promise.resolve({ kind: 'not-applied', reason: 'overloaded' })
    }
    if (deadlineMs <= clock.monotonicMs()) {
      return Promise.resolve({ kind: 'not-applied', reason: 'no-leader' })
    }
    const pending: Pending<Outcome> = {
      sequence: this.#nextSequence++,
      payload,
      deadlineMs,
      deferred: new Deferred(),
      openTries: [],
      triedMs: Number.NEGATIVE_INFINITY,
      unseen: false,
      lastDrop: null,
    }
    this.#pending.set(pending.sequence, pending)
    this.#bytes += payload.byteLength
    if (this.#leaderTerm !== null) this.#send(this.#leaderTerm, [pending])
    this.#sweep.arm()
    return pending.deferred.promise
  }

  /**
   * Takes the leader's term from the raft thread. Sends the proposals that are open for retry to a
   * new leader.
   */
  leaderIs(term: Term | null): void {
    if (this.#leaderTerm === term) return
    this.#leaderTerm = term
    this.#sendOpen()
  }

  /** Records that an entry of `term` was applied: tries for earlier terms will never be applied. */
  termApplied(term: Term): void {
    if (term <= this.#appliedTerm) return
    this.#appliedTerm = term
    for (const pending of this.#pending.values()) {
      pending.openTries = pending.openTries.filter((made) => made >= term)
    }
    this.#sendOpen()
  }

  /** Records that the raft thread or the leader dropped these tries. */
  dropped(term: Term, sequences: readonly number[], reason: TryRefused): void {
    for (const sequence of sequences) {
      const pending = this.#pending.get(sequence)
      if (pending === undefined) continue
      removeOne(pending.openTries, term)
      pending.lastDrop = reason
      if (reason === 'unreadable' && certain(pending)) this.#end(pending, { kind: 'not-applied', reason })
    }
    // A leader that drops tries because it has too many or transfers its leadership would drop an
    // immediate retry too, so the sweep retries a little later.
    if (this.#leaderTerm !== null && this.#leaderTerm !== term) this.#sendOpen()
  }

  /** Takes the outcomes of the entries of this session that the state machine applied. */
  settle(settled: readonly SettledProposal<Outcome>[]): void {
    for (const { sequence, index, result } of settled) {
      const pending = this.#pending.get(sequence)
      if (pending === undefined) continue
      if (result.kind === 'applied') this.#end(pending, { kind: 'applied', index, outcome: result.outcome })
      // A void try needs no record: its term is over, and `termApplied` handles that.
    }
  }

  /**
   * Records that a snapshot replaced entries that this member never applied. Earlier tries may have
   * taken effect in these entries, so their proposals must not be reported as not applied. Sending
   * them again is safe, and may reveal the outcome.
   */
  entriesSkipped(): void {
    for (const pending of this.#pending.values()) {
      if (pending.openTries.length > 0) pending.unseen = true
    }
  }

  /** Ends all pending proposals. */
  stop(): void {
    this.#stopped = true
    this.#sweep.stop()
    for (const pending of [...this.#pending.values()]) {
      this.#end(pending, certain(pending) ? { kind: 'not-applied', reason: 'stopped' } : { kind: 'unknown' })
    }
  }

  #sendOpen(): void {
    const term = this.#leaderTerm
    if (term === null || this.#stopped) return
    const now = this.#options.clock.monotonicMs()
    const open: Pending<Outcome>[] = []
    for (const pending of this.#pending.values()) {
      // After a stall beyond a deadline, a new leader may be reported before the sweep runs: do not
      // send an expired proposal.
      if (pending.openTries.length === 0 && pending.deadlineMs > now) open.push(pending)
    }
    this.#send(term, open)
  }

  #send(term: Term, batch: readonly Pending<Outcome>[]): void {
    // An entry of a later term was applied, so the leader in the reported status is deposed.
    if (batch.length === 0 || term < this.#appliedTerm) return
    const now = this.#options.clock.monotonicMs()
    while (this.#lowest < this.#nextSequence && !this.#pending.has(this.#lowest)) this.#lowest++
    const proposals = batch.map((pending) => {
      pending.openTries.push(term)
      pending.triedMs = now
      return encodeEnvelope({
        session: this.#options.session,
        sequence: pending.sequence,
        acknowledgedBelow: this.#lowest,
        expectedTerm: term,
        payload: pending.payload,
      })
    })
    this.#options.send(term, proposals)
  }

  #sweepNow(): void {
    const now = this.#options.clock.monotonicMs()
    const again: Pending<Outcome>[] = []
    for (const pending of [...this.#pending.values()]) {
      if (pending.deadlineMs <= now) this.#expire(pending)
      else if (pending.openTries.length === 0) again.push(pending)
      else if (now - pending.triedMs >= this.#options.resendMs && pending.openTries.length < triesMax) {
        again.push(pending)
      }
    }
    if (this.#leaderTerm !== null) this.#send(this.#leaderTerm, again)
  }

  #expire(pending: Pending<Outcome>): void {
    if (!certain(pending)) this.#end(pending, { kind: 'unknown' })
    else {
      const reason = pending.lastDrop === 'too-many-uncommitted' ? 'overloaded' : 'no-leader'
      this.#end(pending, { kind: 'not-applied', reason })
    }
  }

  #end(pending: Pending<Outcome>, result: ProposalResult<Outcome>): void {
    this.#pending.delete(pending.sequence)
    this.#bytes -= pending.payload.byteLength
    this.#sweep.rest()
    pending.deferred.resolve(result)
  }
}

/** Limit of the tries of one proposal that may still take effect. */
const triesMax = 5

type Pending<Outcome> = {
  readonly sequence: number
  readonly payload: Uint8Array
  readonly deadlineMs: number
  readonly deferred: Deferred<ProposalResult<Outcome>>
  /** The term of each try that may still take effect. */
  openTries: Term[]
  /** A try may have taken effect in entries that this member skipped. */
  unseen: boolean
  triedMs: number
  lastDrop: TryRefused | null
}

/** Returns whether the proposal certainly has no effect, now and later. */
function certain(pending: { readonly openTries: readonly Term[]; readonly unseen: boolean }): boolean {
  return pending.openTries.length === 0 && !pending.unseen
}

function removeOne(terms: Term[], term: Term): void {
  const at = terms.indexOf(term)
  if (at >= 0) terms.splice(at, 1)
}
