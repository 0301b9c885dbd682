import type { Message } from '../core/message.ts'
import type { Entry, LogIndex, NodeId } from '../core/types.ts'
import type { PeerMessage } from '../ports.ts'
import type { TransportEvent } from '../transport/events.ts'
import { isEnvelope } from './envelope.ts'

/*
 * A command whose bytes changed in somebody's memory must not be committed: nobody could apply it.
 * So it is looked at wherever it comes into a member, leaves it or becomes durable, and there are
 * two answers. What a peer sent is refused like a message that was lost, as the peer's own copy may
 * be good. What this member itself was about to say or write ends the process: memory that changed
 * here once may have changed elsewhere, where nothing shows it, and what is durable was looked at
 * before. Both are what FoundationDB and TigerBeetle do.
 */

/** The first command that is not what its proposer made; null: all are. One CRC-32 over each. */
export function alteredIn(entries: readonly Entry[]): LogIndex | null {
  for (const entry of entries) if (entry.kind === 'command' && !isEnvelope(entry.data)) return entry.index
  return null
}

/** One line for the operator of a member that found its own memory wrong. @param what and where */
export function memorySuspect(what: string): string {
  return (
    `${what} is not what its proposer made: it changed in the memory of this member. ` +
    'The process ends before anybody is told or anything is written; when it happens again, have the memory of this machine tested'
  )
}

/** For `LogActor`: the last look before entries are durable. */
export function refuseAltered(entries: readonly Entry[]): string | null {
  const index = alteredIn(entries)
  return index === null ? null : memorySuspect(`the command at index ${index}`)
}

/** What the gate asks of the driver. */
export interface CommandChecksumGuardOptions {
  now(): number
  report(event: TransportEvent): void
}

/** Between the raft thread and its peers. */
export class CommandChecksumGuard {
  readonly #needs: CommandChecksumGuardOptions
  /** When it was last told of each peer. No more than members. */
  readonly #reportedAtMs = new Map<NodeId, number>()

  constructor(needs: CommandChecksumGuardOptions) {
    this.#needs = needs
  }

  /** Whether the core may take `message`. Else it is as good as lost: its sender sends again. */
  admits(message: Message): boolean {
    if (message.kind !== 'append-request') return true
    const index = alteredIn(message.entries)
    if (index !== null) this.#report(message.from, index)
    return index === null
  }

  /** @returns null when `message` may leave, else why this member cannot go on */
  holds(message: PeerMessage): string | null {
    if (message.kind === 'forward' && !message.proposals.every(isEnvelope)) return memorySuspect('a proposal')
    if (message.kind === 'entries-sent') return refuseAltered(message.entries)
    if (message.kind !== 'core' || message.message.kind !== 'append-request') return null
    return refuseAltered(message.message.entries)
  }

  #report(peer: NodeId, index: LogIndex): void {
    const now = this.#needs.now()
    const before = this.#reportedAtMs.get(peer)
    if (before !== undefined && now - before < reportMsMin) return
    this.#reportedAtMs.set(peer, now)
    this.#needs.report({ kind: 'altered', peer, index })
  }
}

/** A sender that goes on is told of once in this time. */
const reportMsMin = 10_000
