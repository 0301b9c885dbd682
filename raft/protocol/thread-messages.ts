import type { CoreStatus, Dropped } from '../core/ready.ts'
import type { ClusterRecord, PeerLog } from './founding.ts'
import type { MemberChange } from '../core/member-change.ts'
import type { MembershipAnswer, ProposalId, TransferRefusal } from '../ports.ts'
import type { Measured } from './measured.ts'
import type { TransportEvent } from '../transport/events.ts'
import type { PeerCredentials } from '../transport/peer-identity.ts'
import type { Entry, LogIndex, NodeId, SnapshotMeta, Term } from '../core/types.ts'

/** Why a try has no effect. `unreadable`: the leader cannot decode the command; do not retry. */
export type TryRefused = Dropped | 'unreadable'

/*
 * The messages between the api thread and the raft thread of one member. The channel keeps order
 * and loses nothing, and sends all messages of one turn together.
 *
 * Entries are sent by credit: the raft thread sends committed entries while the api thread has
 * granted bytes for them, and after that only the new commit index. The api thread reads the other
 * entries from the log thread at its own pace, and requests entries again once it has caught up.
 */

export type ApiToRaft =
  /**
   * The first message: the state machine is open and durably holds everything up to
   * `applied.index`. Consensus begins after it, once the cluster is founded.
   */
  | {
      readonly kind: 'start'
      readonly applied: SnapshotMeta
      readonly known: readonly PeerLog[]
      /** null: this member was never part of a founded cluster, nor agreed to one. */
      readonly cluster: ClusterRecord | null
    }
  /** Answers `cluster-record`: the record is durable. */
  | { readonly kind: 'cluster-recorded'; readonly record: ClusterRecord }
  /** Answers `peer-met`: the log of the peer is durably recorded. */
  | { readonly kind: 'peer-recorded'; readonly met: PeerLog }
  /** Proposals made for `term`, as envelopes; dropped if the core is in another term. */
  | { readonly kind: 'propose'; readonly term: Term; readonly proposals: readonly Uint8Array[] }
  /**
   * Requests a read index. Answered by one `read-result` of the same round, unless it is lost. A
   * request with `withHeartbeat` may wait for the next heartbeat of the leader.
   */
  | { readonly kind: 'read'; readonly round: number; readonly withHeartbeat: boolean }
  /** Transfers leadership. Answered by `transfer-refused`, or by a change of leader in `status`. */
  | { readonly kind: 'transfer'; readonly request: number; readonly to: NodeId }
  /**
   * Requests a membership change. Repeated with the same number until there is a `change-answer`
   * that is final.
   */
  | { readonly kind: 'change'; readonly request: number; readonly change: MemberChange }
  /**
   * Sets whether to hold a lease as leader. Repeated while wanted: `sentMs`, on the sender's clock,
   * gives the difference of the two clocks.
   */
  | { readonly kind: 'lease'; readonly wanted: boolean; readonly sentMs: number }
  /**
   * Tries for at most this many ms to transfer leadership to any voter that takes it. There is no
   * answer but a change of leader in `status`.
   */
  | { readonly kind: 'transfer-away'; readonly forMs: number }
  /** Entries are applied to memory up to this index; `credit` more bytes of entries may be sent. */
  | { readonly kind: 'applied'; readonly index: LogIndex; readonly credit: number }
  /** The database holds everything up to `snapshot.index`: the log may be compacted up to there. */
  | { readonly kind: 'applied-disk'; readonly snapshot: SnapshotMeta }
  /**
   * Compacts everything that the database holds, and removes it from the files of the log too. If
   * consensus runs, answered by `log-trimmed` with the same request.
   *
   * @param through an index that the database must hold
   */
  | { readonly kind: 'trim-log'; readonly request: number; readonly through: LogIndex }
  /** The state is quarantined: the database does not advance until `installed`. */
  | { readonly kind: 'state-quarantined' }
  /** Requests that committed entries are sent again, beginning with this index. */
  | { readonly kind: 'resume'; readonly from: LogIndex }
  /** Answers `install`: the snapshot is the state now. */
  | { readonly kind: 'installed'; readonly index: LogIndex }
  /**
   * The state is quarantined: requests a snapshot from the leader. Repeated until one is installed.
   */
  | { readonly kind: 'state-wanted'; readonly atLeast: LogIndex }
  /**
   * A report for the api threads of other members.
   *
   * @param to null: all of them
   */
  | { readonly kind: 'report'; readonly to: NodeId | null; readonly bytes: Uint8Array }
  | SnapshotOutAnswer
  | SnapshotInAnswer
  /** Replaces the credentials of the peer links, from the next handshake on. */
  | { readonly kind: 'renew-keys'; readonly credentials: PeerCredentials }
  | { readonly kind: 'stop' }

/** The answers of the api thread for an outgoing snapshot, whose chunks the raft thread pulls. */
export type SnapshotOutAnswer =
  | { readonly kind: 'source-opened'; readonly stream: number; readonly snapshot: SnapshotMeta }
  /** One chunk for each `source-pull`, in order; null at the end. */
  | { readonly kind: 'source-chunk'; readonly stream: number; readonly bytes: Uint8Array | null }
  | { readonly kind: 'source-failed'; readonly stream: number; readonly cause: string }

/**
 * The answers of the api thread for an incoming snapshot: one for each `sink-open`, `sink-chunk`
 * and `sink-finish`, in order. No answer follows `sink-failed`.
 */
export type SnapshotInAnswer =
  | { readonly kind: 'sink-taken'; readonly stream: number }
  | { readonly kind: 'sink-failed'; readonly stream: number; readonly cause: string }

/** The messages that the raft actor passes on to its driver: it handles the others itself. */
export type ApiToDriver = Exclude<
  ApiToRaft,
  { readonly kind: 'start' | 'cluster-recorded' | 'peer-recorded' | 'renew-keys' | 'stop' }
>

export type RaftToApi =
  /** The first message: base and last index of the log. */
  | {
      readonly kind: 'recovered'
      readonly base: SnapshotMeta
      readonly lastIndex: LogIndex
      readonly repaired: string | null
      /**
       * The error with which the log is refused if it cannot be repaired; the repair follows
       * `start`. null: the log is intact.
       */
      readonly damage: string | null
    }
  /** A message for operators about the log; one line. */
  | { readonly kind: 'log-notice'; readonly line: string }
  | { readonly kind: 'status'; readonly status: RaftStatus }
  /**
   * Committed entries, consecutive; none without credit. Sent when the commit index has changed,
   * and at the next tick at the latest when `persisted` has.
   */
  | {
      readonly kind: 'committed'
      readonly entries: readonly Entry[]
      readonly commit: LogIndex
      /** Entries up to here are committed, and durable in this member's own log. */
      readonly persisted: LogIndex
    }
  /** These tries certainly have no effect. */
  | {
      readonly kind: 'dropped'
      readonly term: Term
      readonly proposals: readonly ProposalId[]
      readonly reason: TryRefused
    }
  /** The result of a read round; null: not confirmed, retry. */
  | { readonly kind: 'read-result'; readonly round: number; readonly index: LogIndex | null }
  | { readonly kind: 'transfer-refused'; readonly request: number; readonly reason: TransferRefusal }
  | { readonly kind: 'change-answer'; readonly request: number; readonly answer: MembershipAnswer }
  /**
   * This member was removed from the cluster. May be repeated.
   *
   * @param cause one line
   */
  | { readonly kind: 'removed'; readonly cause: string; readonly index: LogIndex }
  /**
   * Opens an outgoing snapshot.
   *
   * @param atLeast see `StateMachine.produceSnapshot`
   */
  | { readonly kind: 'source-open'; readonly stream: number; readonly atLeast: LogIndex | null }
  /** Requests one more chunk. */
  | { readonly kind: 'source-pull'; readonly stream: number }
  | { readonly kind: 'source-close'; readonly stream: number }
  | { readonly kind: 'sink-open'; readonly stream: number; readonly snapshot: SnapshotMeta }
  | { readonly kind: 'sink-chunk'; readonly stream: number; readonly bytes: Uint8Array }
  | { readonly kind: 'sink-finish'; readonly stream: number }
  | { readonly kind: 'sink-abort'; readonly stream: number; readonly cause: string }
  /**
   * The log durably begins with this snapshot, so the snapshot must be installed as the state. No
   * entries are sent before `resume`. The snapshot may be older than the applied state only if that
   * state is quarantined.
   */
  | { readonly kind: 'install'; readonly snapshot: SnapshotMeta }
  /** Requests that the record is made durable. Consensus begins once a founded one is durable. */
  | { readonly kind: 'cluster-record'; readonly record: ClusterRecord }
  /** The names of the initial members whose agreement is missing. Repeated when it changes. */
  | { readonly kind: 'founding-awaits'; readonly names: readonly string[] }
  /** A peer connected for the first time. Requests that its log is recorded. */
  | { readonly kind: 'peer-met'; readonly met: PeerLog }
  /** The latest report of another member's api thread. */
  | { readonly kind: 'report'; readonly from: NodeId; readonly bytes: Uint8Array }
  /** `isDone`: no file of the log has an entry up to the index of the request. */
  | { readonly kind: 'log-trimmed'; readonly request: number; readonly isDone: boolean }
  /** A message for operators about the links to peers. */
  | { readonly kind: 'peer-event'; readonly event: TransportEvent }
  /** For metrics. */
  | { readonly kind: 'measured'; readonly measured: Measured }
  /** This member cannot continue, for a cause of one line. Nothing follows. */
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
