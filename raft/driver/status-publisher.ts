import type { Raft } from '../core/raft.ts'
import type { NodeId } from '../core/types.ts'
import type { RaftToApi } from '../protocol/thread-messages.ts'

/** What is told of the core. */
export type StatusCore = Pick<Raft, 'term' | 'leader' | 'quorumContacts' | 'status'>

/** Tells the api thread how the core stands: who leads at once, the rest now and then. */
export class StatusPublisher {
  readonly #core: StatusCore
  readonly #post: (message: RaftToApi) => void
  #publishedTerm = -1
  #publishedLeader: NodeId | null = null
  #publishedAtMs = Number.NEGATIVE_INFINITY
  #contacts = 0
  #contactAtMs: number | null = null

  constructor(core: StatusCore, post: (message: RaftToApi) => void) {
    this.#core = core
    this.#post = post
  }

  /** Whether another leads, or in another term, than was told last. */
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
  }

  tick(now: number): void {
    if (now - this.#publishedAtMs >= periodMs) this.publish(now)
  }

  /** The end of a turn: a quorum may have been heard in it. */
  turnEnded(now: number): void {
    if (this.#core.quorumContacts === this.#contacts) return
    this.#contacts = this.#core.quorumContacts
    this.#contactAtMs = now
  }
}

/** Without news, status is told this often, so that its age says whether the raft thread lives. */
const periodMs = 100
