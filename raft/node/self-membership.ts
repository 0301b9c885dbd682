import type { Raft } from '../core/raft.ts'
import { noIndex } from '../core/types.ts'
import type { Configuration, LogIndex, MemberInfo, NodeId } from '../core/types.ts'
import type { Transport } from '../ports.ts'
import { initialConfiguration } from './options.ts'
import type { Joining, MemberList } from './options.ts'
import { isProof } from './refusals.ts'

export type SelfMembershipParts = {
  readonly self: NodeId
  readonly joining: Joining | undefined
  /** See `NodeOptions`. */
  readonly currentMembers?: MemberList | undefined
  readonly core: Pick<Raft, 'configuration' | 'decided'>
  readonly transport: Pick<Transport, 'setPeers'>
  /** Called once. @param cause one line */
  readonly removed: (cause: string, configurationIndex: LogIndex) => void
}

/**
 * Which peers this member talks to, and whether it is still a member itself. Peers may call as long as
 * the configuration in force or the last decided one has them: a removal that is not decided may come
 * to nothing.
 */
export class SelfMembership {
  readonly #parts: SelfMembershipParts
  /** Peers that refuse this member because of a decided configuration, and the index of that. */
  readonly #refusals = new Map<NodeId, LogIndex>()
  #toldOf: Configuration | null = null
  #toldIndex: LogIndex | null = null
  #removed = false

  constructor(parts: SelfMembershipParts) {
    this.#parts = parts
  }

  /** The configuration may have changed, or be decided. Cheap when nothing moved. */
  refresh(): void {
    const { core, transport } = this.#parts
    const { configuration, decided } = core
    if (this.#toldOf === configuration && this.#toldIndex === decided.index) return
    this.#toldOf = configuration
    this.#toldIndex = decided.index
    const peers = this.#peers(configuration, decided.configuration)
    if (peers !== null) transport.setPeers(peers, decided.index)
    const { members } = decided.configuration
    const isOut = members.length > 0 && !members.some(({ id }) => id === this.#parts.self)
    if (isOut && decided.index > this.#floor) this.#remove(decided.index)
    else this.#judge()
  }

  /**
   * A peer refuses this member: the configuration at `configurationIndex`, which is decided, does not
   * have it. One peer proves nothing; see `isProof`. Nor does one that knows less than this member: it
   * may not have heard of it yet.
   */
  onRemovedByPeer(peer: NodeId, configurationIndex: LogIndex): void {
    if (configurationIndex <= this.#floor) return
    const { members } = this.#known
    if (!members.some(({ id }) => id === peer)) return
    this.#refusals.set(peer, configurationIndex)
    this.#judge()
  }

  #judge(): void {
    const { self, core } = this.#parts
    for (const [peer, index] of this.#refusals) {
      if (index <= core.decided.index) this.#refusals.delete(peer)
    }
    if (!isProof(this.#known, self, new Set(this.#refusals.keys()))) return
    this.#remove([...this.#refusals.values()].reduce((least, index) => (index < least ? index : least)))
  }

  /** The last configuration that this member can count on. */
  get #known(): Configuration {
    const { core, joining } = this.#parts
    if (core.decided.configuration.members.length > 0) return core.decided.configuration
    if (core.configuration.members.length > 0) return core.configuration
    return initialConfiguration(joining?.members ?? [])
  }

  /** @returns null: nothing is known of them now, so those of before stay */
  #peers(inForce: Configuration, decided: Configuration): readonly MemberInfo[] | null {
    // Until the log says who is who, those whom the cluster named on joining are the peers.
    const { joining, currentMembers, core } = this.#parts
    const isNews = currentMembers !== undefined && currentMembers.configurationIndex > core.decided.index
    const told = isNews ? currentMembers.members : []
    if (inForce.members.length === 0) {
      return joining === undefined && !isNews ? null : union(told, joining?.members ?? [])
    }
    return union(union(told, inForce.members), decided.members)
  }

  /** Before it was added it was no member either. */
  get #floor(): LogIndex {
    return this.#parts.joining?.configurationIndex ?? noIndex
  }

  #remove(index: LogIndex): void {
    if (this.#removed) return
    this.#removed = true
    this.#parts.removed(removedBecause(index), index)
  }
}

/** All of `first`, and those of `second` that it does not have. */
function union(first: readonly MemberInfo[], second: readonly MemberInfo[]): readonly MemberInfo[] {
  return [...first, ...second.filter(({ id }) => !first.some((member) => member.id === id))]
}

/** One line for the operator of a member that was removed. */
export function removedBecause(index: LogIndex): string {
  return (
    `this member was removed from its cluster, by entry ${index} or before: ` +
    'empty its data directory, and add it as a new member if it shall come back'
  )
}
