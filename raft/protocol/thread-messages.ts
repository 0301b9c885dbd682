import type { CoreStatus, Dropped } from '../core/ready.ts'
import type { ClusterRecord, PeerLog } from './founding.ts'
import type { MemberChange } from '../core/member-change.ts'
import type { MembershipAnswer, ProposalId, TransferRefusal } from '../ports.ts'
import type { Measured } from './measured.ts'
import type { TransportEvent } from '../transport/events.ts'
import type { PeerCredentials } from '../transport/peer-identity.ts'
import type { Entry, LogIndex, NodeId, SnapshotMeta, Term } from '../core/types.ts'

/**
 * Why a try is without effect. `unreadable`: the leader cannot decode the command, now or later.
 */
export type TryRefused = Dropped | 'unreadable'

/*
 * What the api thread and the raft thread of one member say to each other. The channel keeps order
 * and loses nothing, and carries everything one turn posted as one slab.
 *
 * Entries flow by credit: the raft thread sends committed entries while the api thread has granted
 * bytes for them, and from then on only the new commit index. The api thread reads the rest from
 * the log thread at its own pace and asks to be sent entries again once it caught up.
 */

export type ApiToRaft =
  /**
   * The first word: the state machine is open and durably holds this much. Consensus begins with
   * it.
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
  /** Envelopes made for `term`; dropped at once when the core is not at that term any more. */
  | { readonly kind: 'propose'; readonly term: Term; readonly proposals: readonly Uint8Array[] }
  /** Answered by one `read-result` of the same round, unless lost on the way to the leader. */
  | { readonly kind: 'read'; readonly round: number }
  /** Refused by `transfer-refused`, else seen by a change of leader in `status`. */
  | { readonly kind: 'transfer'; readonly request: number; readonly to: NodeId }
  /**
   * Answered by one `change-answer`, unless lost on the way to the leader. Asked again under the
   * same number.
   */
  | { readonly kind: 'change'; readonly request: number; readonly change: MemberChange }
  /**
   * Whether to lead by a lease. Repeated while so, as `sentMs`, on the sender's clock, tells the
   * two clocks apart.
   */
  | { readonly kind: 'lease'; readonly wanted: boolean; readonly sentMs: number }
  /**
   * Hand leadership to whoever takes it, for this many ms at most; seen by a change of leader in
   * `status`.
   */
  | { readonly kind: 'transfer-away'; readonly forMs: number }
  /** Applied to memory up to here; `credit` more bytes of entries may be sent. */
  | { readonly kind: 'applied'; readonly index: LogIndex; readonly credit: number }
  /** The database has all of this: the log may be cut below it. */
  | { readonly kind: 'applied-disk'; readonly snapshot: SnapshotMeta }
  /** The state was set aside: the database follows no more, until `installed`. */
  | { readonly kind: 'state-set-aside' }
  /** Caught up by reading: send entries again, beginning with this index. */
  | { readonly kind: 'resume'; readonly from: LogIndex }
  /** Answers `install`. */
  | { readonly kind: 'installed'; readonly index: LogIndex }
  /**
   * The state here is not to be trusted: ask the leader for its own. Repeated until one was
   * installed.
   */
  | { readonly kind: 'state-wanted'; readonly atLeast: LogIndex }
  /** For the api threads of other members. @param to null: all of them */
  | { readonly kind: 'report'; readonly to: NodeId | null; readonly bytes: Uint8Array }
  | SnapshotOutAnswer
  | SnapshotInAnswer
  /** For the peer links: in use from the next handshake on. */
  | { readonly kind: 'renew-keys'; readonly credentials: PeerCredentials }
  | { readonly kind: 'stop' }

/** A snapshot on its way out: the api thread produces what the raft thread pulls. */
export type SnapshotOutAnswer =
  | { readonly kind: 'source-opened'; readonly stream: number; readonly snapshot: SnapshotMeta }
  /** One for each `source-pull`, in order; null at the end. */
  | { readonly kind: 'source-chunk'; readonly stream: number; readonly bytes: Uint8Array | null }
  | { readonly kind: 'source-failed'; readonly stream: number; readonly cause: string }

/**
 * A snapshot on its way in: one answer for each `sink-open`, `sink-chunk` and `sink-finish`, in
 * order.
 */
export type SnapshotInAnswer =
  | { readonly kind: 'sink-taken'; readonly stream: number }
  | { readonly kind: 'sink-failed'; readonly stream: number; readonly cause: string }

export type RaftToApi =
  /** The first word: what the log begins and ends with. */
  | {
      readonly kind: 'recovered'
      readonly base: SnapshotMeta
      readonly lastIndex: LogIndex
      readonly repaired: string | null
      /**
       * The log is damaged, and is repaired behind `start`: why it is refused where it cannot be.
       * null: it is whole.
       */
      readonly damage: string | null
    }
  /** Something an operator may want to read about the log; one line. */
  | { readonly kind: 'log-notice'; readonly line: string }
  | { readonly kind: 'status'; readonly status: RaftStatus }
  /** Entries are consecutive; none when credit is spent. Comes on each move of either index. */
  | {
      readonly kind: 'committed'
      readonly entries: readonly Entry[]
      readonly commit: LogIndex
      /** Committed and durable in this member's own log up to here. */
      readonly persisted: LogIndex
    }
  /** These tries are certainly without effect. */
  | {
      readonly kind: 'dropped'
      readonly term: Term
      readonly proposals: readonly ProposalId[]
      readonly reason: TryRefused
    }
  /** null: not confirmed, ask again. */
  | { readonly kind: 'read-result'; readonly round: number; readonly index: LogIndex | null }
  | { readonly kind: 'transfer-refused'; readonly request: number; readonly reason: TransferRefusal }
  | { readonly kind: 'change-answer'; readonly request: number; readonly answer: MembershipAnswer }
  /** This member belongs to the cluster no more. Once. @param cause one line */
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
   * The log names this state, durably: it is the state now. No entries come before `resume`. It may
   * lie behind what was applied here only when that is not to be trusted.
   */
  | { readonly kind: 'install'; readonly snapshot: SnapshotMeta }
  /** Make this durable. Consensus begins once a record says that the cluster is founded. */
  | { readonly kind: 'cluster-record'; readonly record: ClusterRecord }
  /** The names of the initial members whose agreement is missing. Repeated when it changes. */
  | { readonly kind: 'founding-awaits'; readonly names: readonly string[] }
  /** A peer came for the first time: record its log. */
  | { readonly kind: 'peer-met'; readonly met: PeerLog }
  /** What the api thread of another member said last. */
  | { readonly kind: 'report'; readonly from: NodeId; readonly bytes: Uint8Array }
  /** Something an operator may want to read about the links to peers. */
  | { readonly kind: 'peer-event'; readonly event: TransportEvent }
  /** For metrics. */
  | { readonly kind: 'measured'; readonly measured: Measured }
  /** One line; nothing follows. */
  | { readonly kind: 'fatal'; readonly cause: string }
  | { readonly kind: 'stopped' }

/**
 * The core's status, and how long ago a quorum was last heard: ages travel, moments of one thread
 * do not.
 */
export type RaftStatus = CoreStatus & {
  /** ms before this was posted; null: never. */
  readonly quorumContactAgeMs: number | null
}
