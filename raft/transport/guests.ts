import { membersMax } from '../core/config.ts'
import type { LogIndex, MemberInfo, NodeId } from '../core/types.ts'

/** A caller whom no configuration here has. */
export type Introduction = {
  readonly id: NodeId
  /** As its certificate says. */
  readonly name: string
  /** Where it says that it can be dialed; empty: it does not. */
  readonly peerAddress: string
  /** Of the latest configuration that it knows to be decided. */
  readonly decidedIndex: LogIndex
}

export type Patience = {
  /** Monotonic ms. */
  readonly now: () => number
  /**
   * Nobody is a guest sooner than this many ms after the first one asked, with no known peer leading or following since
   * then. More than an election takes: a cluster that is well needs no guests.
   */
  readonly guestsAfterMs: number
}

/**
 * Members that this one does not know of yet. While it was away, or before it had a log, everybody whom it knows may have
 * been replaced; those who took their places call it, as they know that it is a member. Where no known peer leads it, or
 * follows it, for a while, a caller that knows of a later decision than this member is let in and called back until this
 * member's own log says who is who: a server has to hear a leader that its own configuration does not have (thesis §4.1).
 *
 * Which decisions a caller knows is only its word, and whoever was removed may have kept its keys. So as soon as a known peer
 * leads or follows, guests have to go: the log of that one has what they may know.
 *
 * Bounded. When full: those who come are strangers, as without all this.
 */
export class Guests {
  readonly #patience: Patience
  readonly #guests = new Map<NodeId, Introduction>()
  /** When the first one asked since a known peer led or followed; null: none did. */
  #askedAtMs: number | null = null

  constructor(patience: Patience) {
    this.#patience = patience
  }

  /** Nobody is here, or waits to be let in. */
  get none(): boolean {
    return this.#askedAtMs === null
  }

  /** Whether the caller may come in, and be called back. @param decidedIndex that this member knows of */
  admits(caller: Introduction, decidedIndex: LogIndex): boolean {
    const hasRoom = this.#guests.has(caller.id) || this.#guests.size < membersMax
    if (caller.decidedIndex <= decidedIndex || caller.peerAddress === '' || !hasRoom) return false
    const now = this.#patience.now()
    this.#askedAtMs ??= now
    if (now - this.#askedAtMs < this.#patience.guestsAfterMs) return false
    this.#guests.set(caller.id, caller)
    return true
  }

  /** A known peer leads this member, or follows it. @returns whether somebody had to go */
  dismiss(): boolean {
    const any = this.#guests.size > 0
    this.#askedAtMs = null
    this.#guests.clear()
    return any
  }

  /** This member knows more by itself now. @param listed who are its peers by that */
  settle(listed: readonly Pick<MemberInfo, 'id'>[], decidedIndex: LogIndex): void {
    for (const { id } of listed) this.#guests.delete(id)
    for (const guest of this.#guests.values()) {
      if (guest.decidedIndex <= decidedIndex) this.#guests.delete(guest.id)
    }
  }

  /** As far as a link needs to know them. */
  members(): readonly MemberInfo[] {
    return [...this.#guests.values()].map(({ id, name, peerAddress }) => ({
      ...{ id, name, peerAddress, clientAddress: '' },
      ...{ role: 'learner', wantedRole: 'learner', version: '', featureLevel: 0, replaces: null, addedMs: 0 },
    }))
  }
}
