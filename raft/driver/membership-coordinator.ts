import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { planChange } from '../core/member-change.ts'
import { changeFault } from '../core/configuration-fault.ts'
import type { ChangeContext, MemberChange } from '../core/member-change.ts'
import type { ReadContext } from '../core/message.ts'
import type { Raft } from '../core/raft.ts'
import type { MemberInfo, NodeId } from '../core/types.ts'
import type { MembershipAnswer, PeerMessage } from '../ports.ts'
import { CatchUpRounds } from './catch-up-rounds.ts'

/** The part of the core that membership changes need. */
export type MembershipCore = Pick<
  Raft,
  'term' | 'leader' | 'configuration' | 'decided' | 'settled' | 'status' | 'changeConfiguration' | 'readIndex'
>

/** The driver, as the coordinator uses it. */
export interface MembershipCoordinatorOptions {
  readonly self: NodeId
  readonly core: MembershipCore
  readonly electionMs: number
  send(message: PeerMessage): void
  /** Sends the answer to the api thread of this member. */
  changeAnswered(request: number, answer: MembershipAnswer): void
  /** Tries for at most this long to transfer leadership to any voter that takes it. */
  transferAway(forMs: number): void
  /** Requests a turn. */
  wake(): void
}

/**
 * @param from null: the api thread of this member; then `round` is its request number
 * @param proof the read round that will prove that this member led after the request arrived;
 *   `given`: it has proved that; null: no round is open
 */
type PendingRequest = {
  readonly from: NodeId | null
  readonly round: number
  readonly change: MemberChange
  readonly untilMs: number
  readonly proof: ReadContext | 'given' | null
}

/**
 * Coordinates membership changes. A member forwards a request to the leader. The leader plans the
 * change against the configuration in force and makes it. It answers once the change is committed
 * and a read round has confirmed its leadership: a leader that does not know yet that it was
 * deposed would answer from an outdated configuration. An answered request is not remembered: if it
 * is repeated, it is planned again, and a change that is already in force counts as done. The
 * leader also promotes learners that have caught up.
 */
export class MembershipCoordinator {
  readonly #options: MembershipCoordinatorOptions
  readonly #clock: Clock
  readonly #rounds: CatchUpRounds
  /**
   * Random offset of the round numbers that this process sends: an earlier process of this member
   * is unlikely to have used the same numbers.
   */
  readonly #firstRound: number
  #requests: PendingRequest[] = []
  /**
   * The leaders that each request of this process was sent to: only they may answer it. Above
   * `requestsMax` the oldest is removed.
   */
  readonly #sentTo = new Map<number, Set<NodeId>>()
  /** The term that this member leads; null: it does not lead. */
  #leadership: { readonly term: number; readonly sinceMs: number } | null = null
  #transferSinceMs: number | null = null
  #promoteNotBeforeMs = 0

  constructor(options: MembershipCoordinatorOptions, clock: Clock, random: Random) {
    this.#options = options
    this.#clock = clock
    this.#rounds = new CatchUpRounds(options.electionMs)
    this.#firstRound = random.below(2 ** 32) * 2 ** 20
  }

  /** Handles a request of the api thread, which repeats it until it is answered. */
  local(request: number, change: MemberChange): void {
    const { self, core } = this.#options
    const { leader } = core
    const fault = changeFault(change)
    if (fault !== null) {
      const message = `the member is invalid: ${fault}`
      this.#options.changeAnswered(request, { kind: 'refused', reason: 'impossible', message })
    } else if (leader === self) this.#take(null, request, change)
    else if (leader === null) this.#options.changeAnswered(request, { kind: 'later' })
    else {
      const round = this.#firstRound + request
      this.#noteSent(round, leader)
      this.#options.send({ kind: 'change-wanted', from: self, to: leader, round, change })
    }
  }

  /** Handles a request of a peer. Returns why the request is invalid; null: it is valid. */
  requested({
    from,
    round,
    change,
  }: Extract<PeerMessage, { readonly kind: 'change-wanted' }>): string | null {
    const fault = changeFault(change)
    if (fault !== null) return `it requests an invalid member: ${fault}`
    const { self, core } = this.#options
    if (core.leader !== self) this.#answer({ from, round }, { kind: 'later' })
    else if (core.configuration.members.some(({ id }) => id === from)) this.#take(from, round, change)
    return null
  }

  /**
   * Handles the answer of a leader that the request was sent to. Other answers are ignored, such as
   * a late answer to a request that was answered or removed since.
   */
  answered({ from, round, answer }: Extract<PeerMessage, { readonly kind: 'change-answer' }>): void {
    if (this.#sentTo.get(round)?.has(from) !== true) return
    if (answer.kind !== 'later') this.#sentTo.delete(round)
    this.#options.changeAnswered(round - this.#firstRound, answer)
  }

  /** Runs at the end of a turn, when a change may be committed or leadership lost. */
  settle(): void {
    const now = this.#clock.monotonicMs()
    if (!this.#leads(now)) return
    this.#requests = this.#requests.filter(({ untilMs }) => now < untilMs)
    const unproven = new Set<PendingRequest>()
    for (const pending of [...this.#requests]) {
      if (!this.#free) break
      const answer = this.#decide(pending.change, now)
      if (answer === null) continue
      if (pending.proof === 'given') {
        this.#requests = this.#requests.filter((other) => other !== pending)
        this.#answer(pending, answer)
      } else if (pending.proof === null) unproven.add(pending)
    }
    if (unproven.size > 0) this.#prove(unproven)
  }

  /** Handles the confirmation of a read round by a quorum. */
  confirmed(context: ReadContext): void {
    this.#requests = this.#requests.map((pending) =>
      pending.proof === context ? { ...pending, proof: 'given' } : pending,
    )
  }

  /** Handles the failure of a read round. */
  failed(context: ReadContext): void {
    this.#requests = this.#requests.map((pending) =>
      pending.proof === context ? { ...pending, proof: null } : pending,
    )
  }

  /** Opens one read round for all these requests. A dropped round is retried in a later turn. */
  #prove(requests: ReadonlySet<PendingRequest>): void {
    const round = this.#options.core.readIndex()
    if (round.kind === 'dropped') return
    this.#requests = this.#requests.map((pending) =>
      requests.has(pending) ? { ...pending, proof: round.context } : pending,
    )
    this.#options.wake()
  }

  tick(): void {
    const now = this.#clock.monotonicMs()
    if (!this.#leads(now)) return
    const { core } = this.#options
    const { learners } = core.configuration
    if (learners.length === 0) return this.#rounds.clear()
    const { followers, lastIndex } = core.status()
    this.#rounds.tick(now, learners, followers, lastIndex)
    if (now >= this.#promoteNotBeforeMs && this.#free) this.#promote(now)
  }

  #noteSent(round: number, leader: NodeId): void {
    const leaders = this.#sentTo.get(round) ?? new Set()
    this.#sentTo.delete(round)
    this.#sentTo.set(round, leaders.add(leader))
    for (const oldest of this.#sentTo.keys()) {
      if (this.#sentTo.size <= requestsMax) return
      this.#sentTo.delete(oldest)
    }
  }

  /**
   * Returns whether this member leads. After a loss of leadership it answers waiting requests with
   * `later`, so that they go to the next leader.
   */
  #leads(now: number): boolean {
    const { core, self } = this.#options
    if (core.leader === self) {
      if (this.#leadership?.term !== core.term) this.#leadership = { term: core.term, sinceMs: now }
      return true
    }
    for (const pending of this.#requests.splice(0)) this.#answer(pending, { kind: 'later' })
    if (this.#leadership === null) return false
    this.#leadership = null
    this.#transferSinceMs = null
    this.#rounds.clear()
    return false
  }

  /** Returns whether no change is in progress and this leader may make one. */
  get #free(): boolean {
    const { core } = this.#options
    if (!core.settled || core.decided.configuration !== core.configuration || isJoint(core)) return false
    return core.status().transferTarget === null
  }

  #take(from: NodeId | null, round: number, change: MemberChange): void {
    const untilMs = this.#clock.monotonicMs() + requestMsMax
    const others = this.#requests.filter((pending) => pending.from !== from || pending.round !== round)
    if (others.length >= requestsMax) return this.#answer({ from, round }, { kind: 'later' })
    // A read round that was opened for a request is also proof for its repetition.
    const before = this.#requests.find((pending) => pending.from === from && pending.round === round)
    this.#requests = [...others, { from, round, change, untilMs, proof: before?.proof ?? null }]
    this.#options.wake()
  }

  /**
   * Plans a change, and makes it unless it is done already or refused.
   *
   * @returns null: no answer yet
   */
  #decide(change: MemberChange, now: number): MembershipAnswer | null {
    const { core } = this.#options
    const plan = planChange(core.configuration, change, this.#changeContext())
    switch (plan.kind) {
      case 'done': {
        const { index, configuration } = core.decided
        return { kind: 'done', index, configuration }
      }
      case 'refused':
        return isTemporary(plan.reason) || (plan.reason === 'below-live-quorum' && this.#isNewLeader(now))
          ? null
          : plan
      case 'change':
        this.#begin(plan.members, now)
        return null
    }
  }

  #promote(now: number): void {
    const { core } = this.#options
    const context = this.#changeContext()
    const next = core.configuration.members.find(
      ({ id, role, wantedRole }) => role === 'learner' && wantedRole === 'voter' && context.caughtUp.has(id),
    )
    if (next === undefined) return
    const plan = planChange(core.configuration, { kind: 'promote', id: next.id }, context)
    const begun = plan.kind === 'change' && this.#begin(plan.members, now)
    if (!begun) this.#promoteNotBeforeMs = now + promoteAgainMs
  }

  /** Makes a change. Returns whether the configuration is in force now. */
  #begin(members: readonly MemberInfo[], now: number): boolean {
    const { core, self } = this.#options
    const staysVoter = members.some(({ id, role }) => id === self && role === 'voter')
    if (!staysVoter && this.#waitsForTransfer(now)) return false
    const isAccepted = core.changeConfiguration({ members }).kind === 'accepted'
    // A dropped change is retried in a later turn; a turn right now would only drop it again.
    if (isAccepted) this.#options.wake()
    return isAccepted
  }

  /**
   * Returns whether the change waits for a leadership transfer. A leader that will lose its vote
   * lets the next leader make the change, because a transfer interrupts writes for less time than
   * an election. If no voter takes over, this leader makes the change itself and steps down
   * afterwards.
   */
  #waitsForTransfer(now: number): boolean {
    const forMs = transferTimeouts * this.#options.electionMs
    if (this.#transferSinceMs === null || now - this.#transferSinceMs > 2 * forMs) {
      this.#transferSinceMs = now
      this.#options.transferAway(forMs)
    }
    return now - this.#transferSinceMs <= forMs
  }

  #changeContext(): ChangeContext {
    const { core, self } = this.#options
    // `recentlyActive` is also true for a new follower that has not responded yet; a match index
    // above 0 shows a response in this term.
    const answering = core
      .status()
      .followers.filter(({ recentlyActive, match }) => recentlyActive && match > 0)
    return {
      configurationIndex: core.decided.index,
      pending: !this.#free,
      settled: core.settled,
      responding: new Set([self, ...answering.map(({ id }) => id)]),
      caughtUp: this.#rounds.caughtUp,
    }
  }

  /** Returns whether this leader is so new that healthy followers may not have responded yet. */
  #isNewLeader(now: number): boolean {
    return this.#leadership !== null && now - this.#leadership.sinceMs < this.#options.electionMs
  }

  #answer({ from, round }: Pick<PendingRequest, 'from' | 'round'>, answer: MembershipAnswer): void {
    if (from === null) this.#options.changeAnswered(round, answer)
    else this.#options.send({ kind: 'change-answer', from: this.#options.self, to: from, round, answer })
  }
}

function isJoint({ configuration }: MembershipCore): boolean {
  return configuration.votersOutgoing !== null
}

/** Returns whether the change may be possible soon. Such refusals are not sent to the requester. */
function isTemporary(reason: Extract<MembershipAnswer, { readonly kind: 'refused' }>['reason']): boolean {
  return reason === 'change-pending' || reason === 'term-unsettled'
}

/** Limit of the requests that wait at a leader. Above it requests are answered with `later`. */
const requestsMax = 64
/** A request that is not repeated within this time is forgotten, in ms. */
const requestMsMax = 5000
/** A promotion that was not possible is not retried for this long, in ms. */
const promoteAgainMs = 500
/** Election timeouts for which a leader that will lose its vote tries to transfer leadership. */
const transferTimeouts = 3
