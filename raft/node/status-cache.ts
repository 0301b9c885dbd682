import type { ConsensusStatus } from '../consensus.ts'
import { noIndex } from '../core/types.ts'
import type { LogIndex, NodeId, Term } from '../core/types.ts'
import { Listeners } from './listeners.ts'
import type { RaftStatus } from '../protocol/thread-messages.ts'
import { emptyStatus } from '../protocol/consensus-status.ts'

/** Progress of the state machine, and the commit index as known to the api thread. */
export type Progress = {
  readonly appliedMemory: LogIndex
  readonly appliedDisk: LogIndex
  readonly commit: LogIndex
}

/**
 * The status of a member. The raft thread sends it periodically, and at once when its role, term,
 * leader or configuration changes. This class adds the indexes of the state machine.
 */
export class StatusCache {
  readonly #progress: () => Progress | null
  readonly #listeners = new Listeners<ConsensusStatus>()
  #status: ConsensusStatus

  /** @param progress returns null while there is no state machine */
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

  /** The term; cheaper than `status`. */
  get term(): Term {
    return this.#status.term
  }

  /**
   * Takes the status from the raft thread. Returns whether leader or term changed. The caller calls
   * `notify` afterwards in any case.
   */
  take({ quorumContactAgeMs, ...core }: RaftStatus, nowMs: number): boolean {
    const before = this.#status
    const progress = this.#progress()
    this.#status = {
      appliedMemory: progress?.appliedMemory ?? noIndex,
      appliedDisk: progress?.appliedDisk ?? noIndex,
      quorumContactMs: quorumContactAgeMs === null ? null : nowMs - quorumContactAgeMs,
      removed: before.removed,
      ...core,
    }
    return before.leader !== core.leader || before.term !== core.term
  }

  /** Records that this member was removed from the cluster, which is final. */
  removed(cause: string): void {
    this.#status = { ...this.#status, removed: cause }
    this.notify(this.#status)
  }

  /** Calls all listeners. */
  notify(status: ConsensusStatus): void {
    this.#listeners.notify(status)
  }

  onStatus(listener: (status: ConsensusStatus) => void): () => void {
    return this.#listeners.add(listener)
  }
}
