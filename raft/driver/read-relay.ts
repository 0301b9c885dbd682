import type { Random } from '../../base/random.ts'
import type { ReadAnswer } from '../core/errors.ts'
import type { ReadContext } from '../core/message.ts'
import type { LogIndex, NodeId, Term } from '../core/types.ts'
import type { PeerMessage } from '../ports.ts'

/** What the relay asks of the core and of the shell around it. */
export interface ReadRelayNeeds {
  readonly self: NodeId
  readonly term: Term
  readonly leader: NodeId | null
  readIndex(): ReadAnswer
  send(message: PeerMessage): void
  /** To the api thread of this member; null: not confirmed. */
  answer(round: number, index: LogIndex | null): void
}

export type ReadRelayLimits = {
  /**
   * Requests of peers gathered in one turn, and rounds sent to a leader without answer; more fail
   * at once.
   */
  readonly waitingMax: number
}

/**
 * Gathers the read rounds of one turn, of this member and of followers, into one question: to the
 * core of the leader here, or to the leader elsewhere.
 *
 * A round sent to a leader is named by a number this process has not used before, nor a former life
 * of it: otherwise an answer that was late by a restart would confirm a younger read.
 */
export class ReadRelay {
  readonly #needs: ReadRelayNeeds
  readonly #limits: ReadRelayLimits
  #waiting: Requester[] = []
  /** On the leader: who waits for which of the core's rounds. */
  readonly #rounds = new Map<ReadContext, Round>()
  /** On a follower: rounds of the api thread that wait for the leader's answer, oldest first. */
  readonly #sent = new Map<number, SentRequest>()
  #nextRound: number

  constructor(needs: ReadRelayNeeds, limits: ReadRelayLimits, random: Random) {
    this.#needs = needs
    this.#limits = limits
    // 2^48 starting points, far apart for as long as any process lives.
    this.#nextRound = random.below(2 ** 32) * 2 ** 20 + random.below(2 ** 16) * 2 ** 4
  }

  local(round: number): void {
    this.#waiting.push({ from: null, round })
  }

  requested(message: PeerMessage & { readonly kind: 'read-request' }): void {
    const requester: Requester = { from: message.from, round: message.round }
    if (this.#waiting.length >= this.#limits.waitingMax) this.#answer(requester, null)
    else this.#waiting.push(requester)
  }

  /** @returns why the answer cannot be true; null: it was taken, or came too late */
  responded(message: PeerMessage & { readonly kind: 'read-response' }): string | null {
    const sent = this.#sent.get(message.round)
    if (sent === undefined) return null
    if (sent.leader !== message.from) return `it answers a read that member ${sent.leader} was asked`
    this.#sent.delete(message.round)
    for (const round of sent.rounds) this.#needs.answer(round, message.index)
    return null
  }

  confirmed(context: ReadContext, index: LogIndex): void {
    this.#settle(context, index)
  }

  failed(context: ReadContext): void {
    this.#settle(context, null)
  }

  /** Whom we asked leads no more, or not in that term. */
  leaderChanged(): void {
    const sent = [...this.#sent.values()]
    this.#sent.clear()
    for (const { rounds } of sent) for (const round of rounds) this.#needs.answer(round, null)
  }

  /** The end of a turn's inputs. */
  flush(): void {
    if (this.#waiting.length === 0) return
    const waiting = this.#waiting
    this.#waiting = []
    if (this.#needs.leader === this.#needs.self) this.#openRound(waiting)
    else this.#forward(waiting)
  }

  #openRound(waiting: readonly Requester[]): void {
    const answer = this.#needs.readIndex()
    if (answer.kind === 'accepted') {
      const before = this.#rounds.get(answer.context)
      const requesters = before === undefined ? waiting : [...before.requesters, ...waiting]
      this.#rounds.set(answer.context, { term: this.#needs.term, requesters })
    } else for (const requester of waiting) this.#answer(requester, null)
  }

  #forward(waiting: readonly Requester[]): void {
    const { leader, self, term } = this.#needs
    const local: number[] = []
    for (const requester of waiting) {
      if (requester.from === null && leader !== null) local.push(requester.round)
      else this.#answer(requester, null)
    }
    if (local.length === 0 || leader === null) return
    if (this.#sent.size >= this.#limits.waitingMax) this.#dropOldest()
    const round = this.#nextRound++
    this.#sent.set(round, { leader, rounds: local })
    this.#needs.send({ kind: 'read-request', from: self, to: leader, term, round })
  }

  /** The oldest is the likeliest to be lost. */
  #dropOldest(): void {
    for (const [oldest, { rounds }] of this.#sent) {
      this.#sent.delete(oldest)
      for (const round of rounds) this.#needs.answer(round, null)
      return
    }
  }

  #settle(context: ReadContext, index: LogIndex | null): void {
    const round = this.#rounds.get(context)
    this.#rounds.delete(context)
    for (const requester of round?.requesters ?? []) this.#answer(requester, index, round?.term)
  }

  #answer(requester: Requester, index: LogIndex | null, term = this.#needs.term): void {
    if (requester.from === null) this.#needs.answer(requester.round, index)
    else {
      this.#needs.send({
        kind: 'read-response',
        from: this.#needs.self,
        to: requester.from,
        term,
        round: requester.round,
        index,
      })
    }
  }
}

/** @param from null: the api thread of this member */
type Requester = { readonly from: NodeId | null; readonly round: number }

/** Rounds of the api thread that one question to a leader stands for. */
type SentRequest = { readonly leader: NodeId; readonly rounds: readonly number[] }

/** @param term in which this member leads, and asked the others */
type Round = { readonly term: Term; readonly requesters: readonly Requester[] }
