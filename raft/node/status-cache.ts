import type { ConsensusStatus } from '../consensus.ts'
import { noIndex } from '../core/types.ts'
import type { LogIndex, NodeId, Term } from '../core/types.ts'
import { Listeners } from './listeners.ts'
import type { RaftStatus } from '../protocol/thread-messages.ts'
import { emptyStatus } from '../protocol/consensus-status.ts'

/** How far the state machine is, which its own thread knows best. */
export type Progress = {
  readonly appliedMemory: LogIndex
  readonly appliedDisk: LogIndex
  readonly commit: LogIndex
}

/**
 * The status of a member: the raft thread tells the whole now and then, this thread knows three
 * numbers better.
 */
export class StatusCache {
  readonly #progress: () => Progress | null
  readonly #listeners = new Listeners<ConsensusStatus>()
  #status: ConsensusStatus

  /** @param progress null: there is no state machine yet */
  constructor(id: NodeId, progress: () => Progress | null) {
    this.#status = emptyStatus(id)
    this.#progress = progress
  }

  get status(): ConsensusStatus {
    const progress = this.#progress()
    if (progress === null) return this.#status
    const { appliedMemory, appliedDisk, commit } = progress
    const known = this.#status
    const same = known.appliedMemory === appliedMemory && known.appliedDisk === appliedDisk
    if (same && known.commit >= commit) return known
    this.#status = {
      ...known,
      appliedMemory,
      appliedDisk,
      commit: known.commit > commit ? known.commit : commit,
    }
    return this.#status
  }

  /** Cheaper than `status`. */
  get term(): Term {
    return this.#status.term
  }

  /** The raft thread's word, before `tell`. @returns whether another leads, or in another term */
  take({ quorumContactAgeMs, ...core }: RaftStatus, nowMs: number): boolean {
    const before = this.#status
    const progress = this.#progress()
    this.#status = {
      ...core,
      appliedMemory: progress?.appliedMemory ?? noIndex,
      appliedDisk: progress?.appliedDisk ?? noIndex,
      quorumContactMs: quorumContactAgeMs === null ? null : nowMs - quorumContactAgeMs,
      removed: before.removed,
    }
    return before.leader !== core.leader || before.term !== core.term
  }

  /** This member belongs to the cluster no more, and never will. */
  removed(cause: string): void {
    this.#status = { ...this.#status, removed: cause }
    this.notify(this.#status)
  }

  /** Calls everybody who listens. */
  notify(status: ConsensusStatus): void {
    this.#listeners.notify(status)
  }

  onStatus(listener: (status: ConsensusStatus) => void): () => void {
    return this.#listeners.add(listener)
  }
}
