import type { CoreStatus } from '../core/ready.ts'
import type { Entry, LogIndex, MemberInfo, NodeId } from '../core/types.ts'
import type { PeerMessage } from '../ports.ts'

/** What the relay asks of the driver. */
export interface EntryRelayNeeds {
  readonly self: NodeId
  readonly core: { status(): Pick<CoreStatus, 'commit' | 'persistedIndex'> }
  readonly members: readonly MemberInfo[]
  send(message: PeerMessage): void
  /** Reads the log: at least one entry from `from` on, none when they were cut. */
  fetch(from: LogIndex, bytesMax: number, take: (entries: readonly Entry[]) => void): void
}

/**
 * Gives committed entries to members whose own log lost them, one request of each member at a time.
 */
export class EntryRelay {
  readonly #needs: EntryRelayNeeds
  readonly #bytesMax: number
  /** Requests that wait for the log. No more than members. */
  readonly #underWay = new Set<NodeId>()

  constructor(needs: EntryRelayNeeds, { bytesMax }: { readonly bytesMax: number }) {
    this.#needs = needs
    this.#bytesMax = bytesMax
  }

  /**
   * A peer. What is not committed, or not durable here, may still change: asked again, it may be.
   */
  requested(from: NodeId, first: LogIndex, last: LogIndex): void {
    const { self, core, members } = this.#needs
    const { commit, persistedIndex } = core.status()
    if (first < 1 || first > last || last > commit || last > persistedIndex) return
    if (this.#underWay.has(from) || !members.some(({ id }) => id === from)) return
    this.#underWay.add(from)
    this.#needs.fetch(first, this.#bytesMax, (found) => {
      this.#underWay.delete(from)
      const entries = found.filter(({ index }) => index <= last)
      this.#needs.send({ kind: 'entries-sent', from: self, to: from, first, entries })
    })
  }
}
