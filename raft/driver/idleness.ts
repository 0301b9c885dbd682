import type { MessageKind } from '../core/message.ts'
import type { PeerMessage } from '../ports.ts'
import { quietHeartbeats } from '../protocol/node-options.ts'
import type { ApiToRaft } from '../protocol/thread-messages.ts'

/** Ms after the last activity until a member counts as idle. */
const ACTIVE_MS = 500

/**
 * Messages of peers that do not end the idle time of a member: heartbeats, reports, and the reads
 * by which each member checks that it is up to date. A read on an idle member does not wait for a
 * timer: it is sent at once, and again with the next heartbeat.
 */
const IDLE_PEER_KINDS = new Set<PeerMessage['kind'] | MessageKind>([
  ...(['heartbeat', 'heartbeat-response', 'report', 'read-request', 'read-response'] as const),
])
const IDLE_API_KINDS = new Set<ApiToRaft['kind']>(['lease', 'report', 'read', 'applied', 'applied-disk'])

/** After this number of heartbeat intervals without a heartbeat, a follower is not idle. */
const LATE_HEARTBEATS = 1.25

/**
 * Decides whether a member is idle: it has a leader, and exchanges only messages of the kinds
 * above. The timer of an idle member fires rarely: that of a leader for its next heartbeat, that of
 * a follower when a heartbeat is late.
 */
export class Idleness {
  readonly #heartbeatMs: number
  #activeUntilMs = Number.NEGATIVE_INFINITY
  #lastHeartbeatMs = Number.NEGATIVE_INFINITY
  /** Expected ms from the last heartbeat to the next one. */
  #expectedMs: number

  constructor(heartbeatMs: number) {
    this.#heartbeatMs = heartbeatMs
    this.#expectedMs = heartbeatMs
  }

  /** Records a message of a peer. */
  received(message: PeerMessage, nowMs: number): void {
    const received = message.kind === 'core' ? message.message : message
    if (received.kind === 'heartbeat') {
      this.#lastHeartbeatMs = nowMs
      this.#expectedMs = (received.quiet === true ? quietHeartbeats : 1) * this.#heartbeatMs
    }
    if (!IDLE_PEER_KINDS.has(received.kind)) this.#activeUntilMs = nowMs + ACTIVE_MS
  }

  /**
   * Records a message of the api thread.
   *
   * @returns whether it ends an idle time
   */
  taken({ kind }: ApiToRaft, nowMs: number): boolean {
    if (IDLE_API_KINDS.has(kind)) return false
    const wasIdle = nowMs >= this.#activeUntilMs
    this.#activeUntilMs = nowMs + ACTIVE_MS
    return wasIdle
  }

  /** Returns the ms until the timer of an idle member has to fire; null: the member is not idle. */
  timerMs(role: 'leads' | 'follows' | 'has-no-leader', nowMs: number): number | null {
    if (role === 'has-no-leader' || nowMs < this.#activeUntilMs) return null
    if (role === 'leads') return this.#heartbeatMs
    const leftMs = this.#lastHeartbeatMs + LATE_HEARTBEATS * this.#expectedMs - nowMs
    return leftMs > 0 ? leftMs : null
  }
}
