import type { MessageKind } from '../core/message.ts'
import { noIndex } from '../core/types.ts'
import type { LogIndex, MemberInfo, NodeId } from '../core/types.ts'
import type { PeerMessage } from '../ports.ts'
import { Guests } from './guests.ts'
import type { Introduction, Patience } from './guests.ts'

/** What only a leader says, and only who follows answers. */
const wordsOfReigns: ReadonlySet<MessageKind> = new Set<MessageKind>([
  ...(['append-request', 'heartbeat'] as const),
  ...(['append-accepted', 'append-refused', 'heartbeat-response'] as const),
])

/** Who is let in and called: the peers that this member was told of, and its guests. */
export class PeerList {
  readonly #self: Pick<MemberInfo, 'id' | 'name'>
  readonly #all = new Map<NodeId, MemberInfo>()
  readonly #guests: Guests
  #listed: readonly MemberInfo[] = []
  #address = ''
  #decidedIndex: LogIndex = noIndex
  /** Nothing can have been decided without this member. */
  #votesAlone = false

  constructor(self: Pick<MemberInfo, 'id' | 'name'>, patience: Patience) {
    this.#self = self
    this.#guests = new Guests(patience)
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
    const own = peers.find(({ id }) => id === this.#self.id)
    this.#address = own?.peerAddress ?? ''
    this.#votesAlone = own?.role === 'voter' && !this.#listed.some(({ role }) => role === 'voter')
    this.#guests.settle(peers, decidedIndex)
    this.#gather()
  }

  /** Whether a caller that is not in the list may come in; then it is. See `Guests`. */
  admits(caller: Introduction): boolean {
    if (caller.id === this.#self.id || caller.name === this.#self.name || this.#votesAlone) return false
    if (!this.#guests.admits(caller, this.#decidedIndex)) return false
    this.#gather()
    return true
  }

  /** Somebody who is in the list said this. @returns whether it sent guests away */
  heard(message: PeerMessage): boolean {
    if (this.#guests.none || message.kind !== 'core' || !wordsOfReigns.has(message.message.kind)) return false
    if (!this.#listed.some(({ id }) => id === message.message.from)) return false
    if (!this.#guests.dismiss()) return false
    this.#gather()
    return true
  }

  #gather(): void {
    this.#all.clear()
    for (const peer of [...this.#listed, ...this.#guests.members()]) this.#all.set(peer.id, peer)
  }
}
