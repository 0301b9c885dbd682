import type { Random } from '../../base/random.ts'
import type { ReadAnswer } from '../core/errors.ts'
import type { ReadContext } from '../core/message.ts'
import type { LogIndex, NodeId, Term } from '../core/types.ts'
import type { PeerMessage } from '../ports.ts'

/** The core and the driver, as the relay uses them. */
export interface ReadRelayDependencies {
  readonly self: NodeId
  readonly term: Term
  readonly leader: NodeId | null
  /** @param withHeartbeat the round may wait for the next heartbeat */
  readIndex(withHeartbeat: boolean): ReadAnswer
  send(message: PeerMessage): void
  /** Sends the result to the api thread of this member; null: not confirmed. */
  answer(round: number, index: LogIndex | null): void
}

export type ReadRelayLimits = {
  /**
   * Limits the requests that are collected in one turn (above it, a request of a peer fails at
   * once), the requests of one round of the leader (above it, the oldest fail), and the rounds sent
   * to a leader without a response (above it, the oldest fails).
   */
  readonly waitingMax: number
}

/**
 * Collects the read requests of one turn in one round. A leader opens a round of its core for its
 * own requests and those of followers; a follower sends its own requests to the leader.
 *
 * A request with `withHeartbeat` goes with messages that are sent anyway: the request with the
 * follower's response to a heartbeat, the round with the leader's next heartbeat.
 *
 * Round numbers sent to a leader are not reused, and begin at random, so that an earlier process of
 * this member most likely used others: a late response to that process could otherwise confirm a
 * later read of this one.
 */
export class ReadRelay {
  readonly #dependencies: ReadRelayDependencies
  readonly #limits: ReadRelayLimits
  #waiting: Requester[] = []
  /** On a follower: the latest own round that waits for the next heartbeat of the leader. */
  #patient: number | null = null
  /** On the leader: the requesters that wait for each round of the core. */
  readonly #rounds = new Map<ReadContext, Round>()
  /**
   * On a follower: rounds of the api thread that wait for a response of the leader, oldest first.
   */
  readonly #sent = new Map<number, SentRequest>()
  #nextRound: number

  constructor(dependencies: ReadRelayDependencies, limits: ReadRelayLimits, random: Random) {
    this.#dependencies = dependencies
    this.#limits = limits
    // One of 2^48 starting points below 2^52, so that no process exceeds 2^53.
    this.#nextRound = random.below(2 ** 32) * 2 ** 20 + random.below(2 ** 16) * 2 ** 4
  }

  /** Takes a request of the api thread. */
  local(round: number, withHeartbeat: boolean): void {
    const { leader, self } = this.#dependencies
    if (withHeartbeat && leader !== self) this.#patient = round
    else this.#waiting.push({ from: null, round, withHeartbeat })
  }

  /**
   * Handles a heartbeat of the leader: the request that waited for one is sent in this turn,
   * together with the response to the heartbeat.
   */
  heartbeat(): void {
    if (this.#patient === null) return
    this.#waiting.push({ from: null, round: this.#patient, withHeartbeat: true })
    this.#patient = null
  }

  requested(message: PeerMessage & { readonly kind: 'read-request' }): void {
    const { from, round, withHeartbeat } = message
    const requester: Requester = { from, round, withHeartbeat }
    if (this.#waiting.length >= this.#limits.waitingMax) this.#answer(requester, null)
    else this.#waiting.push(requester)
  }

  /** @returns why the response is impossible; null: it was taken, or came too late */
  responded(message: PeerMessage & { readonly kind: 'read-response' }): string | null {
    const sent = this.#sent.get(message.round)
    if (sent === undefined) return null
    if (sent.leader !== message.from) return `it answers a read that was sent to member ${sent.leader}`
    this.#sent.delete(message.round)
    for (const round of sent.rounds) this.#dependencies.answer(round, message.index)
    return null
  }

  confirmed(context: ReadContext, index: LogIndex): void {
    this.#settle(context, index)
  }

  failed(context: ReadContext): void {
    this.#settle(context, null)
  }

  /**
   * Fails all rounds that were sent to a leader, because the leader or the term may have changed.
   */
  leaderChanged(): void {
    const sent = [...this.#sent.values()]
    this.#sent.clear()
    for (const { rounds } of sent) for (const round of rounds) this.#dependencies.answer(round, null)
  }

  /** Opens or sends the round. Runs after the inputs of a turn. */
  flush(): void {
    if (this.#waiting.length === 0) return
    const waiting = this.#waiting
    this.#waiting = []
    if (this.#dependencies.leader === this.#dependencies.self) this.#openRound(waiting)
    else this.#forward(waiting)
  }

  #openRound(waiting: readonly Requester[]): void {
    const answer = this.#dependencies.readIndex(waiting.every(({ withHeartbeat }) => withHeartbeat))
    if (answer.kind !== 'accepted') {
      for (const requester of waiting) this.#answer(requester, null)
      return
    }
    // Requests of several turns may share a round that was not sent yet. Above the limit the oldest
    // fail: those that wait for a heartbeat.
    const requesters = [...waiting, ...(this.#rounds.get(answer.context)?.requesters ?? [])]
    for (const requester of requesters.splice(this.#limits.waitingMax)) this.#answer(requester, null)
    this.#rounds.set(answer.context, { term: this.#dependencies.term, requesters })
  }

  #forward(waiting: readonly Requester[]): void {
    const { leader, self, term } = this.#dependencies
    const local: number[] = []
    let withHeartbeat = true
    for (const requester of waiting) {
      if (requester.from === null && leader !== null) {
        local.push(requester.round)
        withHeartbeat &&= requester.withHeartbeat
      } else this.#answer(requester, null)
    }
    if (local.length === 0 || leader === null) return
    if (this.#sent.size >= this.#limits.waitingMax) this.#dropOldest()
    const round = this.#nextRound++
    this.#sent.set(round, { leader, rounds: local })
    this.#dependencies.send({ kind: 'read-request', from: self, to: leader, term, round, withHeartbeat })
  }

  /** Fails the oldest round, which is the most likely to be lost. */
  #dropOldest(): void {
    for (const [oldest, { rounds }] of this.#sent) {
      this.#sent.delete(oldest)
      for (const round of rounds) this.#dependencies.answer(round, null)
      return
    }
  }

  #settle(context: ReadContext, index: LogIndex | null): void {
    const round = this.#rounds.get(context)
    this.#rounds.delete(context)
    for (const requester of round?.requesters ?? []) this.#answer(requester, index, round?.term)
  }

  #answer(requester: Requester, index: LogIndex | null, term = this.#dependencies.term): void {
    if (requester.from === null) this.#dependencies.answer(requester.round, index)
    else {
      this.#dependencies.send({
        kind: 'read-response',
        from: this.#dependencies.self,
        to: requester.from,
        term,
        round: requester.round,
        index,
      })
    }
  }
}

/** @param from null: the api thread of this member */
type Requester = {
  readonly from: NodeId | null
  readonly round: number
  readonly withHeartbeat: boolean
}

/** A request to the leader, and the rounds of the api thread that it covers. */
type SentRequest = { readonly leader: NodeId; readonly rounds: readonly number[] }

/** @param term the term that this member led when the round was opened */
type Round = { readonly term: Term; readonly requesters: readonly Requester[] }
