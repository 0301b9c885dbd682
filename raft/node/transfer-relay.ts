import type { TransferAnswer } from '../core/errors.ts'
import type { NodeId } from '../core/types.ts'
import type { PeerMessage } from '../ports.ts'

/** What the relay asks of the driver. */
export interface TransferRelayNeeds {
  readonly self: NodeId
  readonly leader: NodeId | null
  transferLeadership(to: NodeId): TransferAnswer
  send(message: PeerMessage): void
  /** To the api thread of this member: only a voter can lead. */
  transferRefused(request: number): void
}

/** Requests to hand leadership on, from whichever member was asked to the leader. Asked again until it happened. */
export class TransferRelay {
  readonly #needs: TransferRelayNeeds

  constructor(needs: TransferRelayNeeds) {
    this.#needs = needs
  }

  /** The api thread of this member. */
  local(request: number, target: NodeId): void {
    const { self, leader } = this.#needs
    if (leader === null) return
    if (leader !== self) return this.#needs.send({ kind: 'transfer-wanted', from: self, to: leader, target })
    const answer = this.#needs.transferLeadership(target)
    if (answer.kind === 'refused' && answer.reason === 'not-a-voter') this.#needs.transferRefused(request)
  }

  /** A peer. The change of leader is the answer. */
  requested(target: NodeId): void {
    if (this.#needs.leader === this.#needs.self) this.#needs.transferLeadership(target)
  }
}
