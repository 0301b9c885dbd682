import type { MessageKind } from '../core/message.ts'
import type { PeerMessage } from '../ports.ts'
import type { ApiToRaft } from '../protocol/thread-messages.ts'

/**
 * Ms after the last activity until a member counts as idle. Short: a member that is active wakes
 * for every few ticks, and even a cluster without clients writes now and then.
 */
const ACTIVE_MS = 100

/**
 * Messages of peers that do not end the idle time of a member: heartbeats, reports, and the reads
 * by which each member checks that it is up to date. A read on an idle member does not wait for a
 * timer: it is sent at once, and again with the next heartbeat.
 */
const IDLE_PEER_KINDS = new Set<PeerMessage['kind'] | MessageKind>([
  ...(['heartbeat', 'heartbeat-response', 'report', 'read-request', 'read-response'] as const),
])
const IDLE_API_KINDS = new Set<ApiToRaft['kind']>(['lease', 'report', 'read', 'applied', 'applied-disk'])

/** Decides whether a member is idle: for a while it exchanged only messages of the kinds above. */
export class Idleness {
  #activeUntilMs = Number.NEGATIVE_INFINITY

  /** Records a message of a peer. */
  received(message: PeerMessage, nowMs: number): void {
    const { kind } = message.kind === 'core' ? message.message : message
    if (!IDLE_PEER_KINDS.has(kind)) this.#activeUntilMs = nowMs + ACTIVE_MS
  }

  /** Records a message of the api thread. */
  taken({ kind }: ApiToRaft, nowMs: number): void {
    if (!IDLE_API_KINDS.has(kind)) this.#activeUntilMs = nowMs + ACTIVE_MS
  }

  isIdle(nowMs: number): boolean {
    return nowMs >= this.#activeUntilMs
  }
}
