import type { Raft } from '../core/raft.ts'
import type { NodeId } from '../core/types.ts'
import type { RaftToApi } from '../protocol/thread-messages.ts'

/** The core, as the publisher uses it. */
export type StatusCore = Pick<Raft, 'term' | 'leader' | 'quorumContacts' | 'status'>

/**
 * Publishes the status of the core to the api thread: a change of role, term, leader or
 * configuration at once, the rest periodically.
 */
export class StatusPublisher {
  readonly #core: StatusCore
  readonly #post: (message: RaftToApi) => void
  readonly #onStatus: () => void
  #publishedTerm = -1
  #publishedLeader: NodeId | null = null
  #publishedAtMs = Number.NEGATIVE_INFINITY
  #contacts = 0
  #contactAtMs: number | null = null

  /** @param onStatus called after each status was posted */
  constructor(core: StatusCore, post: (message: RaftToApi) => void, onStatus: () => void = () => undefined) {
    this.#core = core
    this.#post = post
    this.#onStatus = onStatus
  }

  /** Returns whether leader or term differ from the last published status. */
  get outdated(): boolean {
    return this.#core.term !== this.#publishedTerm || this.#core.leader !== this.#publishedLeader
  }

  publish(now: number): void {
    const status = this.#core.status()
    this.#publishedTerm = status.term
    this.#publishedLeader = status.leader
    this.#publishedAtMs = now
    const quorumContactAgeMs = this.#contactAtMs === null ? null : now - this.#contactAtMs
    this.#post({ kind: 'status', status: { ...status, quorumContactAgeMs } })
    this.#onStatus()
  }

  /** @param isIdle nothing that changes the status is in progress */
  tick(now: number, isIdle: boolean): void {
    if (now - this.#publishedAtMs >= (isIdle ? idlePeriodMs : periodMs) - EARLY_MS) this.publish(now)
  }

  /** Records the time of a contact with a quorum. Runs at the end of a turn. */
  turnEnded(now: number): void {
    if (this.#core.quorumContacts === this.#contacts) return
    this.#contacts = this.#core.quorumContacts
    this.#contactAtMs = now
  }
}

/**
 * Periods of the status in ms. It is published on the first tick after that, so that its age shows
 * whether the raft thread is alive.
 */
const periodMs = 250
const idlePeriodMs = 1000

/**
 * A tick that comes at most this many ms early publishes too: ticks are also passed when a message
 * arrives, such as a heartbeat that is a little early.
 */
const EARLY_MS = 50
