import type { TransferAnswer } from '../core/errors.ts'
import type { NodeId } from '../core/types.ts'
import type { PeerMessage, TransferRefusal } from '../ports.ts'

/** The driver, as the relay uses it. */
export interface TransferRelayDependencies {
  readonly self: NodeId
  readonly leader: NodeId | null
  transferLeadership(to: NodeId): TransferAnswer
  send(message: PeerMessage): void
  /** Reports a refusal to the api thread of this member. */
  transferRefused(request: number, reason: TransferRefusal): void
}

/**
 * Forwards requests for a leadership transfer to the leader. The api thread repeats a request until
 * the target leads, a leader refuses the request or its deadline passes, so the relay keeps no
 * state.
 */
export class TransferRelay {
  readonly #dependencies: TransferRelayDependencies

  constructor(dependencies: TransferRelayDependencies) {
    this.#dependencies = dependencies
  }

  /** Handles a request of this member's api thread. */
  local(request: number, target: NodeId): void {
    const { self, leader } = this.#dependencies
    if (leader === null) return
    if (leader !== self) {
      return this.#dependencies.send({
        kind: 'transfer-wanted',
        from: self,
        to: leader,
        round: request,
        target,
      })
    }
    const reason = this.#begin(target)
    if (reason !== null) this.#dependencies.transferRefused(request, reason)
  }

  /** Handles a request of a peer. The response is a change of leader, or a refusal. */
  requested({ from, round, target }: Extract<PeerMessage, { readonly kind: 'transfer-wanted' }>): void {
    const { self, leader } = this.#dependencies
    if (leader !== self) return
    const reason = this.#begin(target)
    if (reason !== null)
      this.#dependencies.send({ kind: 'transfer-refused', from: self, to: from, round, reason })
  }

  /** Handles a refusal of a peer; only the current leader may refuse. */
  refused({ from, round, reason }: Extract<PeerMessage, { readonly kind: 'transfer-refused' }>): void {
    if (from === this.#dependencies.leader) this.#dependencies.transferRefused(round, reason)
  }

  /** Returns why the transfer is refused; null: it began, or this member no longer leads. */
  #begin(target: NodeId): TransferRefusal | null {
    const answer = this.#dependencies.transferLeadership(target)
    return answer.kind === 'accepted' || answer.reason === 'not-leader' ? null : answer.reason
  }
}
