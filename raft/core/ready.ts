import type { Message, ReadContext } from './message.ts'
import type { Configuration, Entry, HardState, LogIndex, NodeId, SnapshotMeta, Term } from './types.ts'

/** One reason per way a proposal or a read can be turned away; certainly without effect. */
export type Dropped =
  'no-leader' | 'not-leader' | 'transferring' | 'too-many-uncommitted' | 'too-many-reads' | 'term-changed'

/**
 * Names a write that was handed to the log, so that its completion can be told. Ascending within
 * the core's life.
 */
export type PersistTicket = number

/** Everything the shell must do before it asks again. Order of the fields is the order of duty. */
export type Ready = {
  /** May race the disk: a leader's appends, heartbeats. Raft thesis §10.2.1. */
  readonly messagesAtOnce: readonly Message[]
  /**
   * Handed to the log thread as one write, or null when there is nothing to persist. Several may be
   * under way; they complete in order. `persisted(ticket)` tells the core.
   */
  readonly persist: {
    readonly ticket: PersistTicket
    /** Replace the whole log by this base, with its state staged, before anything else. */
    readonly snapshot: SnapshotMeta | null
    /** Consecutive; they replace whatever the log holds from the first one's index on. */
    readonly entries: readonly Entry[]
    readonly hardState: HardState | null
    /** Messages to send once this write is durable: votes and responses to appends. */
    readonly messages: readonly Message[]
  } | null
  /** The new commit index, or null when it did not move. Entries up to it may be applied. */
  readonly commit: LogIndex | null
  /** Reads with a confirmed round: safe once everything up to `index` is applied. */
  readonly readsConfirmed: readonly { readonly context: ReadContext; readonly index: LogIndex }[]
  /** Rounds that will never be confirmed, because leadership was lost. */
  readonly readsFailed: readonly ReadContext[]
  /** Followers with next entries that were compacted away: send them the state. */
  readonly snapshotsToSend: readonly NodeId[]
  /**
   * Entries wanted from the log thread because they are no longer in memory; answered by `supply`.
   */
  readonly fetches: readonly { readonly from: LogIndex; readonly bytesMax: number }[]
  /** Role, term, leader or configuration changed since the last Ready. */
  readonly transition: Transition | null
}

export type Role = 'follower' | 'pre-candidate' | 'candidate' | 'leader'

export type Transition = {
  readonly role: Role
  readonly term: Term
  readonly leader: NodeId | null
  readonly configuration: Configuration
}

/** The status of one core, for operators and the shell. */
export type CoreStatus = Transition & {
  readonly id: NodeId
  readonly vote: NodeId | null
  readonly commit: LogIndex
  readonly lastIndex: LogIndex
  readonly firstIndex: LogIndex
  readonly persistedIndex: LogIndex
  readonly transferTarget: NodeId | null
  /**
   * The newest configuration that is committed; `configuration` may be a later one that comes to
   * nothing.
   */
  readonly decided: Configuration
  /** Only on a leader. */
  readonly followers: readonly FollowerStatus[]
}

export type FollowerStatus = {
  readonly id: NodeId
  readonly state: 'probe' | 'replicate' | 'snapshot'
  /** Known durable there. */
  readonly match: LogIndex
  readonly next: LogIndex
  readonly recentlyActive: boolean
}
