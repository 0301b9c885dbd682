import type { LogIndex, MemberInfo, NodeId } from '../core/types.ts'
import type { Clock } from '../base/clock.ts'
import type { PeerMessage } from '../ports.ts'

/** What the relay asks of the driver. */
export interface RepairRelayNeeds {
  readonly self: NodeId
  readonly leader: NodeId | null
  readonly members: readonly MemberInfo[]
  send(message: PeerMessage): void
  /** Streams the state to a member that asked for it. */
  sendState(peer: NodeId, atLeast: LogIndex): void
}

/**
 * Requests for state: a member whose own is not to be trusted asks its leader, again and again until it has one. The
 * wish fades when it is not repeated, so that nothing is taken that is not wanted any more.
 */
export class RepairRelay {
  readonly #needs: RepairRelayNeeds
  readonly #clock: Clock
  #wish: { readonly atLeast: LogIndex; readonly untilMs: number } | null = null

  constructor(needs: RepairRelayNeeds, clock: Clock) {
    this.#needs = needs
    this.#clock = clock
  }

  /** The index from which on a state is welcome here; null: none is wanted. */
  get wanted(): LogIndex | null {
    return this.#wish !== null && this.#clock.monotonicMs() < this.#wish.untilMs ? this.#wish.atLeast : null
  }

  /** The api thread of this member. A leader has nobody to ask: it has to give way first. */
  local(atLeast: LogIndex): void {
    const { self, leader } = this.#needs
    this.#wish = { atLeast, untilMs: this.#clock.monotonicMs() + wishMsMax }
    if (leader !== null && leader !== self)
      this.#needs.send({ kind: 'state-wanted', from: self, to: leader, atLeast })
  }

  /** A state was installed. Another, sent for the same wish, would come over one that is trusted and applies on. */
  fulfilled(): void {
    this.#wish = null
  }

  /** A peer. Only a leader answers, because only its state is sure to reach as far as it must. */
  requested(from: NodeId, atLeast: LogIndex): void {
    const { self, leader, members } = this.#needs
    if (leader === self && members.some(({ id }) => id === from)) this.#needs.sendState(from, atLeast)
  }
}

/** A few times the period in which wishes are repeated. */
const wishMsMax = 5000
