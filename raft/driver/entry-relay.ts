import type { CoreStatus } from '../core/ready.ts'
import type { Entry, LogIndex, MemberInfo, NodeId } from '../core/types.ts'
import type { PeerMessage } from '../ports.ts'

/** The driver, as the relay uses it. */
export interface EntryRelayDependencies {
  readonly self: NodeId
  readonly core: { status(): Pick<CoreStatus, 'commit' | 'persistedIndex'> }
  readonly members: readonly MemberInfo[]
  send(message: PeerMessage): void
  /** Reads the log: at least one entry from `from` on; empty when they were compacted. */
  fetch(from: LogIndex, bytesMax: number, take: (entries: readonly Entry[]) => void): void
}

/**
 * Sends committed entries to members whose own log lost them. It serves one request of each member
 * at a time.
 */
export class EntryRelay {
  readonly #dependencies: EntryRelayDependencies
  readonly #bytesMax: number
  /** Members whose requests wait for the log. */
  readonly #underWay = new Set<NodeId>()

  constructor(dependencies: EntryRelayDependencies, { bytesMax }: { readonly bytesMax: number }) {
    this.#dependencies = dependencies
    this.#bytesMax = bytesMax
  }

  /**
   * Handles a request of a peer. It is ignored unless all requested entries are committed and
   * durable on this member, because uncommitted ones may still change; the peer repeats it.
   */
  requested(from: NodeId, first: LogIndex, last: LogIndex): void {
    const { self, core, members } = this.#dependencies
    const { commit, persistedIndex } = core.status()
    if (first < 1 || first > last || last > commit || last > persistedIndex) return
    if (this.#underWay.has(from) || !members.some(({ id }) => id === from)) return
    this.#underWay.add(from)
    this.#dependencies.fetch(first, this.#bytesMax, (found) => {
      this.#underWay.delete(from)
      const entries = found.filter(({ index }) => index <= last)
      this.#dependencies.send({ kind: 'entries-sent', from: self, to: from, first, entries })
    })
  }
}
