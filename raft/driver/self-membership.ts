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
  readonly core: Pick<Raft, 'configuration' | 'decided'>
  readonly transport: Pick<Transport, 'setPeers'>
  readonly send: (message: PeerMessage) => void
  /**
   * Called once when this member was removed.
   *
   * @param cause one line
   */
  readonly removed: (cause: string, configurationIndex: LogIndex) => void
}

/**
 * Decides which peers this member connects to, and whether it is still a member itself. Peers may
 * connect if one of these configurations contains them: the one in force; the last committed one,
 * because an uncommitted removal may be reverted; and a newer one that a known peer reported.
 * Before the log contains a configuration, the list received on joining replaces the first two.
 */
export class SelfMembership {
  readonly #options: SelfMembershipOptions
  /** Peers that refused this member because of a committed configuration, with its index. */
  readonly #refusals = new Map<NodeId, LogIndex>()
  /** A newer configuration that a peer reported; null: none was reported. */
  #newer: MemberList | null = null
  /** Monotonic ms since when no leader is known. */
  #leaderlessMs: number | null = null
  #askedMs = 0
  /** The inputs of the last `refresh`; null: the next one has to update the peers. */
  #refreshed: Configuration | null = null
  #refreshedIndex: LogIndex | null = null
  #removed = false

  constructor(options: SelfMembershipOptions) {
    this.#options = options
  }

  /**
   * Requests the members from peers while no leader is known: the leader may be a member that this
   * log does not contain yet, so that its connections are refused.
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
   * Handles a request for the members, or a list of them. A list is accepted only from members in
   * the configuration of this log or, before there is one, in the list received on joining. It is
   * used only to connect: the configuration of the log stays in force.
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
    const isNewer = index > Math.max(core.decided.index, this.#newer?.configurationIndex ?? noIndex)
    if (!isTrusted || !isNewer || !members.some(({ id }) => id === self)) return
    if (configurationFault(message.configuration) !== null) return
    this.#newer = { members, configurationIndex: index }
    this.#refreshed = null
    this.refresh()
  }

  /**
   * Updates the peers after a change or commit of the configuration. Cheap when nothing changed.
   */
  refresh(): void {
    const { core, transport } = this.#options
    const { configuration, decided } = core
    if (this.#refreshed === configuration && this.#refreshedIndex === decided.index) return
    this.#refreshed = configuration
    this.#refreshedIndex = decided.index
    const peers = this.#peers(configuration, decided.configuration)
    if (peers !== null) transport.setPeers(peers, decided.index)
    const { members } = decided.configuration
    const isRemoved = members.length > 0 && !members.some(({ id }) => id === this.#options.self)
    if (isRemoved && decided.index > this.#floor) this.#remove(decided.index)
    else this.#checkRemoved()
  }

  /**
   * Handles a refusal: the peer reports that the committed configuration at `configurationIndex`
   * does not contain this member. One peer is not proof; see `isProof`. A configuration from before
   * the addition of this member does not count.
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

  /**
   * The committed configuration; before the first one, the configuration in force, or else the
   * members given on joining.
   */
  get #known(): Configuration {
    const { core, joining } = this.#options
    if (core.decided.configuration.members.length > 0) return core.decided.configuration
    if (core.configuration.members.length > 0) return core.configuration
    return initialConfiguration(joining?.members ?? [])
  }

  /** @returns null: no members are known now, so the peers stay as they are */
  #peers(inForce: Configuration, decided: Configuration): readonly MemberInfo[] | null {
    // Until the log contains a configuration, the members given on joining are the peers.
    const { joining, core } = this.#options
    const newer = this.#newer
    const isNewer = newer !== null && newer.configurationIndex > core.decided.index
    const listed = isNewer ? newer.members : []
    if (inForce.members.length === 0) {
      return joining === undefined && !isNewer ? null : union(listed, joining?.members ?? [])
    }
    return union(union(listed, inForce.members), decided.members)
  }

  /** The index of this member's addition. Earlier configurations prove no removal. */
  get #floor(): LogIndex {
    return this.#options.joining?.configurationIndex ?? noIndex
  }

  #remove(index: LogIndex): void {
    if (this.#removed) return
    this.#removed = true
    this.#options.removed(removedBecause(index), index)
  }
}

/** Longer than an election takes, in ms: a healthy cluster does not need these requests. */
const askAfterMs = 1000

/** Returns all of `first`, and those of `second` that are not in it. */
function union(first: readonly MemberInfo[], second: readonly MemberInfo[]): readonly MemberInfo[] {
  return [...first, ...second.filter(({ id }) => !first.some((member) => member.id === id))]
}

/** Returns the one-line message for the operator of a removed member. */
export function removedBecause(index: LogIndex): string {
  return (
    `this member was removed from its cluster, by entry ${index} or before: ` +
    'empty its data directory, and add it as a new member if it should return'
  )
}
