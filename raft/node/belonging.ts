import type { Raft } from '../core/raft.ts'
import { noIndex } from '../core/types.ts'
import type { Configuration, LogIndex, MemberInfo, NodeId } from '../core/types.ts'
import type { Transport } from '../ports.ts'
import type { Joining } from './options.ts'

export type BelongingParts = {
  readonly self: NodeId
  readonly joining: Joining | undefined
  readonly core: Pick<Raft, 'configuration' | 'decided'>
  readonly transport: Pick<Transport, 'setPeers'>
  /** Called once. @param cause one line */
  readonly removed: (cause: string, configurationIndex: LogIndex) => void
}

/**
 * Who this member speaks with, and whether it belongs to them still. Members are let in as long as the configuration in
 * force or the last decided one has them: a removal that is not decided may come to nothing.
 */
export class Belonging {
  readonly #parts: BelongingParts
  #toldOf: Configuration | null = null
  #toldIndex: LogIndex | null = null
  #removed = false

  constructor(parts: BelongingParts) {
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
  }

  /**
   * A peer says that the configuration at `configurationIndex`, which is decided, does not have this member. One that
   * knows less than this member proves nothing: it may not have heard of it yet.
   */
  disowned(configurationIndex: LogIndex): void {
    if (configurationIndex > this.#floor && configurationIndex > this.#parts.core.decided.index) {
      this.#remove(configurationIndex)
    }
  }

  /** @returns null: nothing is known of them now, so those of before stay */
  #peers(inForce: Configuration, decided: Configuration): readonly MemberInfo[] | null {
    // Until the log says who is who, those whom the cluster named on joining are the peers.
    if (inForce.members.length === 0) return this.#parts.joining?.members ?? null
    const leaving = decided.members.filter(({ id }) => !inForce.members.some((member) => member.id === id))
    return [...inForce.members, ...leaving]
  }

  /** Before it was added it was no member either. */
  get #floor(): LogIndex {
    return this.#parts.joining?.configurationIndex ?? noIndex
  }

  #remove(index: LogIndex): void {
    if (this.#removed) return
    this.#removed = true
    const cause =
      `this member was removed from its cluster, by entry ${index} or before: ` +
      'empty its data directory, and add it as a new member if it shall come back'
    this.#parts.removed(cause, index)
  }
}
