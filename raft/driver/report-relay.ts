import type { MemberInfo, NodeId } from '../core/types.ts'
import type { PeerMessage } from '../ports.ts'
import type { RaftToApi } from '../protocol/thread-messages.ts'

/** What the relay asks of the driver. */
export interface ReportRelayNeeds {
  readonly self: NodeId
  readonly members: readonly MemberInfo[]
  send(message: PeerMessage): void
  post(message: RaftToApi): void
}

/**
 * Reports between the api threads of members. Of several that one turn brings from one member the
 * latest goes on: so there are never more under way than members.
 */
export class ReportRelay {
  readonly #needs: ReportRelayNeeds
  readonly #latest = new Map<NodeId, Uint8Array>()

  constructor(needs: ReportRelayNeeds) {
    this.#needs = needs
  }

  /** @param to null: everyone else */
  local(to: NodeId | null, bytes: Uint8Array): void {
    const { self, members } = this.#needs
    for (const { id } of members) {
      if (id === self || (to !== null && id !== to)) continue
      this.#needs.send({ kind: 'report', from: self, to: id, bytes })
    }
  }

  received(from: NodeId, bytes: Uint8Array): void {
    if (this.#needs.members.some(({ id }) => id === from)) this.#latest.set(from, bytes)
  }

  /** The end of a turn's inputs. */
  flush(): void {
    for (const [from, bytes] of this.#latest) this.#needs.post({ kind: 'report', from, bytes })
    this.#latest.clear()
  }
}
