import type { CoreStatus } from './core/ready.ts'
import type { MemberChange } from './core/member-change.ts'
import type { Configuration, LogIndex, NodeId, Term } from './core/types.ts'
import type { TransferRefusal } from './ports.ts'

/**
 * The interface of consensus on the api thread of a member. `RaftNode` (`raft/node/node.ts`)
 * implements it.
 */
export interface Consensus<Outcome> extends MembershipPort {
  /** The id of this member's cluster; null: the cluster is not founded yet. */
  readonly clusterId: string | null
  /**
   * The last status from the raft thread, which sends a change of role, term, leader or
   * configuration at once and the rest periodically. The applied indexes are those of the api
   * thread, so they are current.
   */
  readonly status: ConsensusStatus
  /**
   * Calls `listener` with each status that the raft thread sends, and when this member is removed,
   * but not for a change of the applied indexes alone.
   *
   * @returns a function that removes the listener
   */
  onStatus(listener: (status: ConsensusStatus) => void): () => void
  /**
   * Calls `listener` with the index reached, after each batch that is applied to memory and after
   * each snapshot that is installed.
   *
   * @returns a function that removes the listener
   */
  onApplied(listener: (applied: LogIndex) => void): () => void
  /**
   * Replicates `payload` and waits until this member has applied it. Repeats lost and dropped
   * attempts until the deadline; at most one of them takes effect.
   *
   * @param deadlineMs on the monotonic clock
   */
  propose(payload: Uint8Array, deadlineMs: number): Promise<ProposalResult<Outcome>>
  /**
   * Resolves once this member's memory holds everything any member acknowledged before the call.
   * One ReadIndex round serves every caller that waits when the round is sent.
   *
   * @param deadlineMs on the monotonic clock
   * @throws ConsensusError `timed-out`, `overloaded`, `stopped`
   */
  barrier(deadlineMs: number): Promise<LogIndex>
  /** Ways to read without waiting for a barrier. */
  readonly reads: ReadPort
  /**
   * Sends a report about this member to others. Best effort: lost if a link is down or full.
   *
   * @param bytes at most `reportBytesMax`
   */
  report(to: NodeId | 'all', bytes: Uint8Array): void
  /**
   * Calls `listener` with each report of another member. If several reports of a member arrive at
   * once, only the latest is passed on.
   *
   * @returns a function that removes the listener
   */
  onReport(listener: (report: PeerReport) => void): () => void
  /**
   * Makes the member `to` the leader. Works on any member. Fails at once if `to` would not take
   * over soon.
   *
   * @throws ConsensusError `not-a-voter`, `target-silent`, `target-behind`, `target-declined`,
   *   `no-leader`, `overloaded`, `timed-out`, `stopped`
   */
  transferLeadership(to: NodeId, deadlineMs: number): Promise<void>
  /**
   * Transfers leadership if this member holds it (best effort until `deadlineMs`), then closes
   * everything.
   *
   * @throws ConsensusError `timed-out`: the log could not be closed
   */
  stop(deadlineMs: number): Promise<void>
}

/** Reads of this member's memory without a quorum round, and how fresh it is. */
export interface ReadPort {
  /** The term of this member, as last reported by the raft thread. */
  readonly term: Term
  /** null: no barrier has completed since the start, or since another state replaced this one. */
  readonly freshness: Freshness | null
  /** Starts a barrier without waiting for it, unless one is in progress. */
  probe(): void
  /**
   * Starts a barrier that goes with the next heartbeats, unless one is in progress: it wakes no
   * thread of another member, and takes up to two heartbeats.
   */
  probeWithHeartbeat(): void
  /** null: this member holds no leader lease now. */
  lease(): LeaseRead | null
  /**
   * Resolves once memory holds everything up to `index`.
   *
   * @param deadlineMs on the monotonic clock
   * @throws ConsensusError `timed-out`, `overloaded`, `stopped`
   */
  reached(index: LogIndex, deadlineMs: number): Promise<void>
  /**
   * Sets whether this member holds a lease while it leads, according to the replicated settings.
   */
  useLease(wanted: boolean): void
}

/**
 * Memory holds everything that any member acknowledged up to `asOfMs`: the send time of the latest
 * round that a quorum confirmed, with its index applied. Only this member's clock is involved.
 */
export type Freshness = {
  /** On the monotonic clock, like `confirmedMs`. */
  readonly asOfMs: number
  /** Time at which the round was confirmed; its index may have been applied later. */
  readonly confirmedMs: number
}

/** A read without a quorum round. */
export type LeaseRead = {
  /** Covers everything acknowledged before the read began: wait until this index is applied. */
  readonly index: LogIndex
  /**
   * Returns whether the lease held all the time. Call it after the value is read, because this
   * process may have stalled: if it returns false, the value may be stale and a barrier is needed.
   */
  readonly holds: () => boolean
}

/** The result of a membership change. */
export type MembersChanged = {
  /** The configuration in force, which is committed; it may be newer than the change. */
  readonly configuration: Configuration
  /**
   * Index of the entry of that configuration, or a later index: a member that has applied it knows
   * the change.
   */
  readonly index: LogIndex
}

/** Membership changes. They work on any member, which forwards them to the leader. */
export interface MembershipPort {
  /**
   * Makes one change and resolves once it is committed: for `add` the learner's entry, otherwise
   * the new configuration, after the joint phase if there is one. Idempotent, so a call with a lost
   * response can be repeated.
   *
   * @param deadlineMs on the monotonic clock; the change may still be made after it
   * @throws ConsensusError `timed-out`, `overloaded`, `stopped`; MembershipError: the change is
   *   refused and not made
   */
  changeMembers(change: MemberChange, deadlineMs: number): Promise<MembersChanged>
}

export type PeerReport = { readonly from: NodeId; readonly bytes: Uint8Array }

export type ProposalResult<Outcome> =
  | { readonly kind: 'applied'; readonly index: LogIndex; readonly outcome: Outcome }
  /** The proposal certainly has no effect, now and later. */
  | {
      readonly kind: 'not-applied'
      /**
       * `unreadable`: the leader cannot decode the command, as it runs another version of the
       * program.
       */
      readonly reason: 'no-leader' | 'overloaded' | 'stopped' | 'too-large' | 'unreadable'
    }
  /**
   * The deadline passed, or this member stopped. The proposal may have taken or may still take
   * effect.
   */
  | { readonly kind: 'unknown' }

export type ConsensusStatus = CoreStatus & {
  readonly appliedMemory: LogIndex
  readonly appliedDisk: LogIndex
  /**
   * Monotonic ms of the last contact with a quorum: on the leader, a quorum responded since its
   * last heartbeat; on a follower, a message of the current leader arrived. null before the first.
   */
  readonly quorumContactMs: number | null
  /** Why this member was removed from the cluster, in one line; null: it is a member. */
  readonly removed: string | null
}

export type ConsensusErrorCode = 'timed-out' | 'overloaded' | 'stopped' | 'no-leader' | TransferRefusal
