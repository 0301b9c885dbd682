import { noIndex } from '../core/types.ts'
import type { LogIndex, MemberInfo, NodeId } from '../core/types.ts'

/** The peers of this member: the members that may connect to it, and that it connects to. */
export class PeerList {
  readonly #self: NodeId
  readonly #all = new Map<NodeId, MemberInfo>()
  #decidedIndex: LogIndex = noIndex

  constructor(self: NodeId) {
    this.#self = self
  }

  /** The peers by id. Always the same map. */
  get all(): ReadonlyMap<NodeId, MemberInfo> {
    return this.#all
  }

  /** See `Transport.setPeers`. */
  get decidedIndex(): LogIndex {
    return this.#decidedIndex
  }

  /** See `Transport.setPeers`. */
  set(peers: readonly MemberInfo[], decidedIndex: LogIndex): void {
    this.#decidedIndex = decidedIndex
    this.#all.clear()
    for (const peer of peers) if (peer.id !== this.#self) this.#all.set(peer.id, peer)
  }
}
