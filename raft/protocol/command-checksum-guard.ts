import type { Message } from '../core/message.ts'
import type { Entry, LogIndex, NodeId } from '../core/types.ts'
import type { PeerMessage } from '../ports.ts'
import type { TransportEvent } from '../transport/events.ts'
import { isEnvelope } from './envelope.ts'

/*
 * A command whose bytes changed in a member's memory must not be committed, because no member
 * could apply it. So its checksum is verified when the command enters a member, when it leaves the
 * member, before it becomes durable, and before it is applied. An altered command of a peer is
 * dropped like a lost message, as the peer's own copy may be intact. An altered command that this
 * member was about to send, write or apply ends the process: its memory may have changed elsewhere
 * too, where nothing detects it. Commands that are durable already were verified before.
 */

/**
 * Returns the index of the first command that differs from what its proposer sent; null: all are
 * intact. Computes one CRC-32 for each command.
 */
export function alteredIn(entries: readonly Entry[]): LogIndex | null {
  for (const entry of entries) if (entry.kind === 'command' && !isEnvelope(entry.data)) return entry.index
  return null
}

/**
 * Returns the one-line message for the operator of a member with altered memory.
 *
 * @param what the altered data, and its place
 */
export function memorySuspect(what: string): string {
  return (
    `${what} was altered in the memory of this member. ` +
    'The process ends before it is used; if this happens again, test the memory of this machine'
  )
}

/** Returns why these entries must not be written or sent; null: they may. */
export function refuseAltered(entries: readonly Entry[]): string | null {
  const index = alteredIn(entries)
  return index === null ? null : memorySuspect(`the command at index ${index}`)
}

/** The driver, as the guard uses it. */
export interface CommandChecksumGuardOptions {
  now(): number
  report(event: TransportEvent): void
}

/** Verifies commands between the raft thread and its peers. */
export class CommandChecksumGuard {
  readonly #options: CommandChecksumGuardOptions
  /** Time of the last report for each peer. */
  readonly #reportedAtMs = new Map<NodeId, number>()

  constructor(options: CommandChecksumGuardOptions) {
    this.#options = options
  }

  /**
   * Returns whether the core may take `message`. Otherwise it counts as lost, and its sender
   * retries.
   */
  admits(message: Message): boolean {
    if (message.kind !== 'append-request') return true
    const index = alteredIn(message.entries)
    if (index !== null) this.#report(message.from, index)
    return index === null
  }

  /** @returns null when `message` may be sent, otherwise why this member cannot continue */
  alterationIn(message: PeerMessage): string | null {
    if (message.kind === 'forward' && !message.proposals.every(isEnvelope)) return memorySuspect('a proposal')
    if (message.kind === 'entries-sent') return refuseAltered(message.entries)
    if (message.kind !== 'core' || message.message.kind !== 'append-request') return null
    return refuseAltered(message.message.entries)
  }

  #report(peer: NodeId, index: LogIndex): void {
    const now = this.#options.now()
    const before = this.#reportedAtMs.get(peer)
    if (before !== undefined && now - before < reportMsMin) return
    this.#reportedAtMs.set(peer, now)
    this.#options.report({ kind: 'altered', peer, index })
  }
}

/** Altered commands of one peer are reported once in this time, in ms. */
const reportMsMin = 10_000
