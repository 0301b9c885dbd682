import { configurationFault } from '../core/configuration-fault.ts'
import type { Raft } from '../core/raft.ts'
import { noIndex } from '../core/types.ts'
import type { Configuration, LogIndex, MemberInfo, NodeId } from '../core/types.ts'
import type { PeerMessage, Transport } from '../ports.ts'
import { initialConfiguration } from '../protocol/node-options.ts'
import type { Joining, MemberList } from '../protocol/node-options.ts'
import { isProof } from './refusals.ts'

export type SelfMembershipOptions = {
  readonly self: NodeId
  readonly joining: Joining | undefined
  /** See `NodeOptions`. */
  readonly currentMembers?: MemberList | undefined
  readonly core: Pick<Raft, 'configuration' | 'decided'>
  readonly transport: Pick<Transport, 'setPeers'>
  readonly send: (message: PeerMessage) => void
  /** Called once. @param cause one line */
  readonly removed: (cause: string, configurationIndex: LogIndex) => void
}

/**
 * Which peers this member talks to, and whether it is still a member itself. Peers may call as long
 * as the configuration in force or the last decided one has them: a removal that is not decided may
 * come to nothing.
 */
export class SelfMembership {
  readonly #options: SelfMembershipOptions
  /** Peers that refuse this member because of a decided configuration, and the index of that. */
  readonly #refusals = new Map<NodeId, LogIndex>()
  /** By the operator, or by a peer since; null: nothing beside the log. */
  #current: MemberList | null
  /** Monotonic ms: since when no leader is known, and when peers were asked last. */
  #leaderlessMs: number | null = null
  #askedMs = 0
  #reported: Configuration | null = null
  #reportedIndex: LogIndex | null = null
  #removed = false

  constructor(options: SelfMembershipOptions) {
    this.#options = options
    this.#current = options.currentMembers ?? null
  }

  /**
   * Asks peers who the members are while no leader is known: it may be one that this member's log
   * does not have yet, and whose calls are refused therefore.
   */
  tick(nowMs: number, hasLeader: boolean): void {
    if (hasLeader) this.#leaderlessMs = null
    else this.#leaderlessMs ??= nowMs
    if (this.#leaderlessMs === null || nowMs - this.#leaderlessMs < askAfterMs) return
    if (nowMs - this.#askedMs < askAfterMs) return
    this.#askedMs = nowMs
    const { self, core, send } = this.#options
    for (const { id } of this.#known.members) {
      if (id !== self) send({ kind: 'members-wanted', from: self, to: id, index: core.decided.index })
    }
  }

  /**
   * A peer asks for the members, or says who they are. Only those that this member's own log, or
   * the cluster on joining, named are believed, and only whom to talk to: what counts is the log.
   */
  receive(message: Extract<PeerMessage, { readonly kind: 'members-wanted' | 'members' }>): void {
    const { self, core, send } = this.#options
    const { from, index } = message
    if (message.kind === 'members-wanted') {
      const { decided } = core
      const knowsMore = decided.index > index && decided.configuration.members.some(({ id }) => id === from)
      if (!knowsMore) return
      send({
        kind: 'members',
        from: self,
        to: from,
        index: decided.index,
        configuration: decided.configuration,
      })
      return
    }
    const { members } = message.configuration
    const isTrusted = this.#known.members.some(({ id }) => id === from)
    const isNewer = index > Math.max(core.decided.index, this.#current?.configurationIndex ?? noIndex)
    if (!isTrusted || !isNewer || !members.some(({ id }) => id === self)) return
    if (configurationFault(message.configuration) !== null) return
    this.#current = { members, configurationIndex: index }
    this.#reported = null
    this.refresh()
  }

  /** The configuration may have changed, or be decided. Cheap when nothing moved. */
  refresh(): void {
    const { core, transport } = this.#options
    const { configuration, decided } = core
    if (this.#reported === configuration && this.#reportedIndex === decided.index) return
    this.#reported = configuration
    this.#reportedIndex = decided.index
    const peers = this.#peers(configuration, decided.configuration)
    if (peers !== null) transport.setPeers(peers, decided.index)
    const { members } = decided.configuration
    const isRemoved = members.length > 0 && !members.some(({ id }) => id === this.#options.self)
    if (isRemoved && decided.index > this.#floor) this.#remove(decided.index)
    else this.#checkRemoved()
  }

  /**
   * A peer refuses this member: the configuration at `configurationIndex`, which is decided, does
   * not have it. One peer proves nothing; see `isProof`. Nor does one that knows less than this
   * member: it may not have heard of it yet.
   */
  onRemovedByPeer(peer: NodeId, configurationIndex: LogIndex): void {
    if (configurationIndex <= this.#floor) return
    const { members } = this.#known
    if (!members.some(({ id }) => id === peer)) return
    this.#refusals.set(peer, configurationIndex)
    this.#checkRemoved()
  }

  #checkRemoved(): void {
    const { self, core } = this.#options
    for (const [peer, index] of this.#refusals) {
      if (index <= core.decided.index) this.#refusals.delete(peer)
    }
    if (!isProof(this.#known, self, new Set(this.#refusals.keys()))) return
    this.#remove([...this.#refusals.values()].reduce((least, index) => (index < least ? index : least)))
  }

  /** The last configuration that this member can count on. */
  get #known(): Configuration {
    const { core, joining } = this.#options
    if (core.decided.configuration.members.length > 0) return core.decided.configuration
    if (core.configuration.members.length > 0) return core.configuration
    return initialConfiguration(joining?.members ?? [])
  }

  /** @returns null: nothing is known of them now, so those of before stay */
  #peers(inForce: Configuration, decided: Configuration): readonly MemberInfo[] | null {
    // Until the log says who is who, those whom the cluster named on joining are the peers.
    const { joining, core } = this.#options
    const current = this.#current
    const isNewer = current !== null && current.configurationIndex > core.decided.index
    const listed = isNewer ? current.members : []
    if (inForce.members.length === 0) {
      return joining === undefined && !isNewer ? null : union(listed, joining?.members ?? [])
    }
    return union(union(listed, inForce.members), decided.members)
  }

  /** Before it was added it was no member either. */
  get #floor(): LogIndex {
    return this.#options.joining?.configurationIndex ?? noIndex
  }

  #remove(index: LogIndex): void {
    if (this.#removed) return
    this.#removed = true
    this.#options.removed(removedBecause(index), index)
  }
}

/** Longer than elections take: a cluster that is well needs none of this. */
const askAfterMs = 1000

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
