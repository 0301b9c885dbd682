import { noIndex } from '../core/types.ts'
import type { LogIndex, MemberInfo, NodeId } from '../core/types.ts'
import { Guests } from './guests.ts'
import type { Introduction } from './guests.ts'

/** Who is let in and called: the peers that this member was told of, and its guests. */
export class PeerList {
  readonly #self: Pick<MemberInfo, 'id' | 'name'>
  readonly #all = new Map<NodeId, MemberInfo>()
  readonly #guests = new Guests()
  #listed: readonly MemberInfo[] = []
  #address = ''
  #decidedIndex: LogIndex = noIndex

  constructor(self: Pick<MemberInfo, 'id' | 'name'>) {
    this.#self = self
  }

  /** Always the same map; without this member. */
  get all(): ReadonlyMap<NodeId, MemberInfo> {
    return this.#all
  }

  /** See `Transport.setPeers`. */
  get decidedIndex(): LogIndex {
    return this.#decidedIndex
  }

  /** How this member makes itself known. */
  get introduction(): Introduction {
    const { id, name } = this.#self
    return { id, name, peerAddress: this.#address, decidedIndex: this.#decidedIndex }
  }

  /** See `Transport.setPeers`. */
  set(peers: readonly MemberInfo[], decidedIndex: LogIndex): void {
    this.#decidedIndex = decidedIndex
    this.#listed = peers.filter(({ id }) => id !== this.#self.id)
    this.#address = peers.find(({ id }) => id === this.#self.id)?.peerAddress ?? ''
    this.#guests.settle(peers, decidedIndex)
    this.#gather()
  }

  /** Whether a caller that is not in the list may come in; then it is. See `Guests`. */
  admits(caller: Introduction): boolean {
    if (caller.id === this.#self.id || caller.name === this.#self.name) return false
    if (!this.#guests.admits(caller, this.#decidedIndex)) return false
    this.#gather()
    return true
  }

  #gather(): void {
    this.#all.clear()
    for (const peer of [...this.#listed, ...this.#guests.members()]) this.#all.set(peer.id, peer)
  }
}
