import type { Message, ReadContext } from './message.ts'
import type { Configuration, Entry, HardState, LogIndex, NodeId, SnapshotMeta, Term } from './types.ts'

/** Why a proposal, a read or a configuration change is dropped; it certainly has no effect. */
export type Dropped =
  'no-leader' | 'not-leader' | 'transferring' | 'too-many-uncommitted' | 'too-many-reads' | 'term-changed'

/**
 * Identifies a write that was handed to the log, to report its completion. Ascending for the
 * lifetime of the core.
 */
export type PersistTicket = number

/** The work for the driver since the last Ready. */
export type Ready = {
  /**
   * Messages that need not wait for the disk, such as appends and heartbeats of a leader. Raft
   * thesis §10.2.1.
   */
  readonly messagesAtOnce: readonly Message[]
  /**
   * One write for the log thread, or null when there is nothing to persist. Several may be in
   * progress; they complete in order, each with a call of `persisted(ticket)`.
   */
  readonly persist: {
    readonly ticket: PersistTicket
    /** Replaces the whole log, before anything else is written; its state is staged. */
    readonly snapshot: SnapshotMeta | null
    /** Consecutive entries; they replace everything from the index of the first one on. */
    readonly entries: readonly Entry[]
    readonly hardState: HardState | null
    /** Messages to send once this write is durable: vote requests, votes and accepted appends. */
    readonly messages: readonly Message[]
  } | null
  /** The new commit index, up to which entries may be applied; null when it did not change. */
  readonly commit: LogIndex | null
  /** Reads with a confirmed round: safe once everything up to `index` is applied. */
  readonly readsConfirmed: readonly { readonly context: ReadContext; readonly index: LogIndex }[]
  /** Rounds that will never be confirmed, because leadership was lost. */
  readonly readsFailed: readonly ReadContext[]
  /** Followers that need a snapshot, because their next entries were compacted. */
  readonly snapshotsToSend: readonly NodeId[]
  /** Entries to read from the log because they are no longer in memory; answered by `supply`. */
  readonly fetches: readonly { readonly from: LogIndex; readonly bytesMax: number }[]
  /** Set if role, term, leader or configuration changed since the last Ready. */
  readonly transition: Transition | null
}

export type Role = 'follower' | 'pre-candidate' | 'candidate' | 'leader'

export type Transition = {
  readonly role: Role
  readonly term: Term
  readonly leader: NodeId | null
  readonly configuration: Configuration
}

/** The status of one core, for operators and the driver. */
export type CoreStatus = Transition & {
  readonly id: NodeId
  readonly vote: NodeId | null
  readonly commit: LogIndex
  readonly lastIndex: LogIndex
  readonly firstIndex: LogIndex
  readonly persistedIndex: LogIndex
  readonly transferTarget: NodeId | null
  /** The latest committed configuration; `configuration` may be a later one, not committed yet. */
  readonly decided: Configuration
  /** Empty unless this member leads. */
  readonly followers: readonly FollowerStatus[]
}

export type FollowerStatus = {
  readonly id: NodeId
  readonly state: 'probe' | 'replicate' | 'snapshot'
  /** Durable on the follower up to this index. */
  readonly match: LogIndex
  readonly next: LogIndex
  readonly recentlyActive: boolean
}
