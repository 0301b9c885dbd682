import type { LogIndex, MemberInfo, NodeId } from '../core/types.ts'
import type { Clock } from '../../base/clock.ts'
import type { PeerMessage } from '../ports.ts'
import { repairLogBytesMin } from './log-needs.ts'
import type { LogNeed } from './log-needs.ts'

/** What the relay asks of the driver. */
export interface RepairRelayNeeds {
  readonly self: NodeId
  readonly leader: NodeId | null
  readonly members: readonly MemberInfo[]
  /** Where the log begins: it does not follow on a state before that. */
  readonly logBase: LogIndex
  send(message: PeerMessage): void
  /** Streams the state to a member that asked for it. */
  sendState(peer: NodeId, atLeast: LogIndex): void
}

/**
 * Requests for state: a member whose own is not to be trusted asks its leader, again and again
 * until it has one. The wish fades when it is not repeated, so that nothing is taken that is not
 * wanted any more.
 */
export class RepairRelay {
  readonly #needs: RepairRelayNeeds
  readonly #clock: Clock
  #request: StateRequest | null = null

  constructor(needs: RepairRelayNeeds, clock: Clock) {
    this.#needs = needs
    this.#clock = clock
  }

  /** The index from which on a state is welcome here; null: none is wanted. */
  get wanted(): LogIndex | null {
    const request = this.#current
    return request === null ? null : later(request.atLeast, this.#needs.logBase)
  }

  /**
   * A state is asked for, and may be on its way: so that it is not passed before it comes, some log
   * is kept for it.
   */
  get logNeed(): LogNeed | null {
    const request = this.#current
    return request === null ? null : { from: request.sentFrom, stateBytes: repairLogBytesMin }
  }

  get #current(): StateRequest | null {
    const request = this.#request
    return request !== null && this.#clock.monotonicMs() < request.untilMs ? request : null
  }

  /** The api thread of this member. A leader has nobody to ask: it has to give way first. */
  local(atLeast: LogIndex): void {
    const { self, leader, logBase } = this.#needs
    const sentFrom = later(atLeast, logBase)
    this.#request = { atLeast, sentFrom, untilMs: this.#clock.monotonicMs() + requestMsMax }
    if (leader !== null && leader !== self)
      this.#needs.send({ kind: 'state-wanted', from: self, to: leader, atLeast: sentFrom })
  }

  /**
   * A state was installed. Another, sent for the same wish, would come over one that is trusted and
   * applies on.
   */
  fulfilled(): void {
    this.#request = null
  }

  /** A peer. Only a leader answers, because only its state is sure to reach as far as it must. */
  requested(from: NodeId, atLeast: LogIndex): void {
    const { self, leader, members } = this.#needs
    if (leader === self && members.some(({ id }) => id === from)) this.#needs.sendState(from, atLeast)
  }
}

type StateRequest = {
  readonly atLeast: LogIndex
  /** What the leader was told: where the log began then, if that was later. */
  readonly sentFrom: LogIndex
  readonly untilMs: number
}

function later(a: LogIndex, b: LogIndex): LogIndex {
  return a > b ? a : b
}

/** A few times the period in which wishes are repeated. */
const requestMsMax = 5000
