import type { PeerMessage } from '../ports.ts'
import type { ApiToRaft } from '../protocol/thread-messages.ts'

/** Ms after the last activity until a member counts as idle. */
const ACTIVE_MS = 500

/** After this number of heartbeat intervals without a heartbeat, a follower is not idle. */
const LATE_HEARTBEATS = 1.25

/**
 * Decides whether a member is idle: it only exchanges heartbeats with a leader. Then its timers may
 * be rare: that of a leader for the next heartbeat, that of a follower for one that is late.
 */
export class Idleness {
  readonly #heartbeatMs: number
  #activeUntilMs = Number.NEGATIVE_INFINITY
  #lastHeartbeatMs = Number.NEGATIVE_INFINITY

  constructor(heartbeatMs: number) {
    this.#heartbeatMs = heartbeatMs
  }

  /** Takes note of a message of a peer. */
  received(message: PeerMessage, nowMs: number): void {
    const kind = message.kind === 'core' ? message.message.kind : message.kind
    if (kind === 'heartbeat') this.#lastHeartbeatMs = nowMs
    else if (kind !== 'heartbeat-response' && kind !== 'report') this.#activeUntilMs = nowMs + ACTIVE_MS
  }

  /**
   * Takes note of a message of the api thread.
   *
   * @returns whether it ends an idle time
   */
  taken({ kind }: ApiToRaft, nowMs: number): boolean {
    // Idle members send these, too.
    if (kind === 'lease' || kind === 'report' || kind === 'applied' || kind === 'applied-disk') return false
    const wasIdle = nowMs >= this.#activeUntilMs
    this.#activeUntilMs = nowMs + ACTIVE_MS
    return wasIdle
  }

  /** Returns the ms until the next timer of an idle member. @returns null: it is not idle */
  timerMs(role: 'leads' | 'follows' | 'has-no-leader', nowMs: number): number | null {
    if (role === 'has-no-leader' || nowMs < this.#activeUntilMs) return null
    if (role === 'leads') return this.#heartbeatMs
    const leftMs = this.#lastHeartbeatMs + LATE_HEARTBEATS * this.#heartbeatMs - nowMs
    return leftMs > 0 ? leftMs : null
  }
}
