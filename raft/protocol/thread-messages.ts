import type { CoreStatus, Dropped } from '../core/ready.ts'
import type { ClusterRecord, PeerLog } from './founding.ts'
import type { MemberChange } from '../core/member-change.ts'
import type { MembershipAnswer, ProposalId, TransferRefusal } from '../ports.ts'
import type { Measured } from './measured.ts'
import type { TransportEvent } from '../transport/events.ts'
import type { PeerCredentials } from '../transport/peer-identity.ts'
import type { Entry, LogIndex, NodeId, SnapshotMeta, Term } from '../core/types.ts'

/** Why a try has no effect. `unreadable`: the leader cannot decode the command, now or later. */
export type TryRefused = Dropped | 'unreadable'

/*
 * The messages between the api thread and the raft thread of one member. The channel keeps order
 * and loses nothing, and sends all messages of one turn in one buffer.
 *
 * Entries are sent by credit: the raft thread sends committed entries while the api thread has
 * granted bytes for them, and after that only the new commit index. The api thread reads the rest
 * from the log thread at its own pace and requests entries again once it caught up.
 */

export type ApiToRaft =
  /**
   * The first message: the state machine is open and durably holds this much. Consensus begins
   * after it, once the cluster is founded.
   */
  | {
      readonly kind: 'start'
      readonly applied: SnapshotMeta
      readonly known: readonly PeerLog[]
      /** null: this member was never part of a founded cluster, nor agreed to one. */
      readonly cluster: ClusterRecord | null
    }
  /** Answers `cluster-record`: it is durable. */
  | { readonly kind: 'cluster-recorded'; readonly record: ClusterRecord }
  /** Answers `peer-met`: it is durable. */
  | { readonly kind: 'peer-recorded'; readonly met: PeerLog }
  /** Envelopes made for `term`; dropped if the core is in another term. */
  | { readonly kind: 'propose'; readonly term: Term; readonly proposals: readonly Uint8Array[] }
  /** Answered by one `read-result` of the same round, unless lost on the way to the leader. */
  | { readonly kind: 'read'; readonly round: number }
  /** Refused by `transfer-refused`, else seen by a change of leader in `status`. */
  | { readonly kind: 'transfer'; readonly request: number; readonly to: NodeId }
  /**
   * Answered by one `change-answer`, unless lost on the way to the leader. Repeated with the same
   * number.
   */
  | { readonly kind: 'change'; readonly request: number; readonly change: MemberChange }
  /**
   * Sets whether to hold a lease as leader. Repeated while wanted: `sentMs`, on the sender's clock,
   * gives the difference of the two clocks.
   */
  | { readonly kind: 'lease'; readonly wanted: boolean; readonly sentMs: number }
  /**
   * Transfer leadership to any voter that takes it, for this many ms at most; seen by a change of
   * leader in `status`.
   */
  | { readonly kind: 'transfer-away'; readonly forMs: number }
  /** Applied to memory up to this index; `credit` more bytes of entries may be sent. */
  | { readonly kind: 'applied'; readonly index: LogIndex; readonly credit: number }
  /** The database holds all of this: the log may be compacted up to it. */
  | { readonly kind: 'applied-disk'; readonly snapshot: SnapshotMeta }
  /**
   * Removes everything that the database holds from the files of the log. Answered by `log-trimmed`
   * with the same request, once consensus runs.
   * @param through the database must hold this index
   */
  | { readonly kind: 'trim-log'; readonly request: number; readonly through: LogIndex }
  /** The state is quarantined: the database does not advance until `installed`. */
  | { readonly kind: 'state-quarantined' }
  /** Caught up by reading: send entries again, beginning with this index. */
  | { readonly kind: 'resume'; readonly from: LogIndex }
  /** Answers `install`. */
  | { readonly kind: 'installed'; readonly index: LogIndex }
  /**
   * The state is quarantined: request a snapshot from the leader. Repeated until one was installed.
   */
  | { readonly kind: 'state-wanted'; readonly atLeast: LogIndex }
  /** For the api threads of other members. @param to null: all of them */
  | { readonly kind: 'report'; readonly to: NodeId | null; readonly bytes: Uint8Array }
  | SnapshotOutAnswer
  | SnapshotInAnswer
  /** For the peer links: used from the next handshake on. */
  | { readonly kind: 'renew-keys'; readonly credentials: PeerCredentials }
  | { readonly kind: 'stop' }

/** An outgoing snapshot: the api thread produces what the raft thread pulls. */
export type SnapshotOutAnswer =
  | { readonly kind: 'source-opened'; readonly stream: number; readonly snapshot: SnapshotMeta }
  /** One for each `source-pull`, in order; null at the end. */
  | { readonly kind: 'source-chunk'; readonly stream: number; readonly bytes: Uint8Array | null }
  | { readonly kind: 'source-failed'; readonly stream: number; readonly cause: string }

/**
 * An incoming snapshot: one answer for each `sink-open`, `sink-chunk` and `sink-finish`, in order.
 */
export type SnapshotInAnswer =
  | { readonly kind: 'sink-taken'; readonly stream: number }
  | { readonly kind: 'sink-failed'; readonly stream: number; readonly cause: string }

export type RaftToApi =
  /** The first message: base and last index of the log. */
  | {
      readonly kind: 'recovered'
      readonly base: SnapshotMeta
      readonly lastIndex: LogIndex
      readonly repaired: string | null
      /**
       * The damage of the log, which is repaired after `start`; if that fails, this is the error.
       * null: the log is intact.
       */
      readonly damage: string | null
    }
  /** A message for operators about the log; one line. */
  | { readonly kind: 'log-notice'; readonly line: string }
  | { readonly kind: 'status'; readonly status: RaftStatus }
  /** Entries are consecutive; empty without credit. Sent on each change of either index. */
  | {
      readonly kind: 'committed'
      readonly entries: readonly Entry[]
      readonly commit: LogIndex
      /** Committed and durable in this member's own log up to here. */
      readonly persisted: LogIndex
    }
  /** These tries certainly have no effect. */
  | {
      readonly kind: 'dropped'
      readonly term: Term
      readonly proposals: readonly ProposalId[]
      readonly reason: TryRefused
    }
  /** null: not confirmed, retry. */
  | { readonly kind: 'read-result'; readonly round: number; readonly index: LogIndex | null }
  | { readonly kind: 'transfer-refused'; readonly request: number; readonly reason: TransferRefusal }
  | { readonly kind: 'change-answer'; readonly request: number; readonly answer: MembershipAnswer }
  /** This member was removed from the cluster. May be repeated. @param cause one line */
  | { readonly kind: 'removed'; readonly cause: string; readonly index: LogIndex }
  /** @param atLeast see `StateMachine.produceSnapshot` */
  | { readonly kind: 'source-open'; readonly stream: number; readonly atLeast: LogIndex | null }
  /** Credit for one more chunk. */
  | { readonly kind: 'source-pull'; readonly stream: number }
  | { readonly kind: 'source-close'; readonly stream: number }
  | { readonly kind: 'sink-open'; readonly stream: number; readonly snapshot: SnapshotMeta }
  | { readonly kind: 'sink-chunk'; readonly stream: number; readonly bytes: Uint8Array }
  | { readonly kind: 'sink-finish'; readonly stream: number }
  | { readonly kind: 'sink-abort'; readonly stream: number; readonly cause: string }
  /**
   * The log durably names this snapshot: it is the state now. No entries are sent before `resume`.
   * It may be older than the applied state only if that is quarantined.
   */
  | { readonly kind: 'install'; readonly snapshot: SnapshotMeta }
  /** Make this durable. Consensus begins once a record contains `founded`. */
  | { readonly kind: 'cluster-record'; readonly record: ClusterRecord }
  /** The names of the initial members whose agreement is missing. Repeated when it changes. */
  | { readonly kind: 'founding-awaits'; readonly names: readonly string[] }
  /** A peer connected for the first time: record its log. */
  | { readonly kind: 'peer-met'; readonly met: PeerLog }
  /** The latest report of another member's api thread. */
  | { readonly kind: 'report'; readonly from: NodeId; readonly bytes: Uint8Array }
  /** `isDone`: no file of the log has an entry up to the index of the request. */
  | { readonly kind: 'log-trimmed'; readonly request: number; readonly isDone: boolean }
  /** A message for operators about the links to peers. */
  | { readonly kind: 'peer-event'; readonly event: TransportEvent }
  /** For metrics. */
  | { readonly kind: 'measured'; readonly measured: Measured }
  /** One line; nothing follows. */
  | { readonly kind: 'fatal'; readonly cause: string }
  | { readonly kind: 'stopped' }

/**
 * The core's status, and the time since the last contact with a quorum: a duration, as the clocks
 * of the threads differ.
 */
export type RaftStatus = CoreStatus & {
  /** ms before this was posted; null: never. */
  readonly quorumContactAgeMs: number | null
}
