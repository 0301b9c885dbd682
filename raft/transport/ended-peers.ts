import type { NodeId } from '../core/types.ts'

/** Reports each change of the set of peers that have ended; see `TransportReceiver.ended`. */
export class EndedPeers {
  readonly #report: (peer: NodeId, hasEnded: boolean) => void
  /** Contains at most the peers of this member. */
  readonly #ended = new Set<NodeId>()

  constructor(report: (peer: NodeId, hasEnded: boolean) => void) {
    this.#report = report
  }

  /** Records whether the peer has ended. A change is reported later, never within the call. */
  update(peer: NodeId, hasEnded: boolean): void {
    if (this.#ended.has(peer) === hasEnded) return
    if (hasEnded) this.#ended.add(peer)
    else this.#ended.delete(peer)
    queueMicrotask(() => {
      // A later change has its own report.
      if (this.#ended.has(peer) === hasEnded) this.#report(peer, hasEnded)
    })
  }
}
