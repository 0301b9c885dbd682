import type { MemberInfo, NodeId } from '../core/types.ts'
import type { PeerMessage } from '../ports.ts'
import type { RaftToApi } from '../protocol/thread-messages.ts'

/** The driver, as the relay uses it. */
export interface ReportRelayDependencies {
  readonly self: NodeId
  readonly members: readonly MemberInfo[]
  send(message: PeerMessage): void
  post(message: RaftToApi): void
}

/**
 * Passes reports between the api threads of members. Of several reports of one member in one turn
 * only the latest is passed on.
 */
export class ReportRelay {
  readonly #dependencies: ReportRelayDependencies
  readonly #latest = new Map<NodeId, Uint8Array>()

  constructor(dependencies: ReportRelayDependencies) {
    this.#dependencies = dependencies
  }

  /**
   * Sends a report of this member.
   *
   * @param to null: all other members
   */
  local(to: NodeId | null, bytes: Uint8Array): void {
    const { self, members } = this.#dependencies
    for (const { id } of members) {
      if (id === self || (to !== null && id !== to)) continue
      this.#dependencies.send({ kind: 'report', from: self, to: id, bytes })
    }
  }

  received(from: NodeId, bytes: Uint8Array): void {
    if (this.#dependencies.members.some(({ id }) => id === from)) this.#latest.set(from, bytes)
  }

  /** Passes the collected reports to the api thread. Runs after the inputs of a turn. */
  flush(): void {
    for (const [from, bytes] of this.#latest) this.#dependencies.post({ kind: 'report', from, bytes })
    this.#latest.clear()
  }
}
