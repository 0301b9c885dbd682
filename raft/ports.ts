import type { TransferRefused } from './core/errors.ts'
import type { ChangeRefusal, MemberChange } from './core/member-change.ts'
import type { Message } from './core/message.ts'
import type {
  Configuration,
  Entry,
  HardState,
  LogIndex,
  MemberInfo,
  NodeId,
  SnapshotMeta,
  Term,
} from './core/types.ts'

/*
 * The sockets to fill. A member is three actors that share nothing and talk through channels:
 *
 *   api  <── commands, reads, snapshots ──>  raft  <── writes, fetches ──>  log
 *    └───────────────── reads of committed entries ─────────────────────────┘
 *
 * In a server each lives on its own thread; in the simulator all of them, of all members, live on
 * one, and every port below is the simulator's.
 */

/* ------------------------------------------------------------------ channel between actors */

/**
 * One end of a two-way, ordered, lossless pipe between two actors. Messages are plain data (what
 * msgpack can carry, with `Uint8Array`). All posts of one turn travel together, as one fresh slab.
 * The receiver may keep the bytes it gets; the sender may not change the bytes it posted.
 */
export interface Channel<Out, In> {
  post(message: Out): void
  /** Set once, before the first message arrives. `messages` is all that one turn of the other side posted. */
  onMessages(handler: (messages: readonly In[]) => void): void
  close(): void
}

/* ------------------------------------------------------------------ log */

/** The files under the log, synchronous: the log thread does nothing else. Names have no directories. */
export interface LogDisk {
  list(): readonly string[]
  /** @param mode `create` fails when the file exists; `existing` fails when it does not */
  open(name: string, mode: 'create' | 'existing'): LogFile
  rename(from: string, to: string): void
  remove(name: string): void
  /** Makes creations, renames and removals durable. */
  syncDirectory(): void
}

export interface LogFile {
  size(): number
  /** @returns fewer bytes only at the end of the file */
  read(position: number, length: number): Uint8Array
  /** Extends the file when it must. Not durable until `sync`. */
  write(position: number, bytes: Uint8Array): void
  truncate(length: number): void
  /** fdatasync. After one failure the file must not be used again. */
  sync(): void
  close(): void
}

/** What was found on disk. */
export type RecoveredLog = {
  /**
   * Random name of this log's life, in hex: a log that was lost and begins anew has another. Empty where
   * nothing outlives the process.
   */
  readonly logId: string
  /** Zero state for a new log. */
  readonly hardState: HardState
  /** Everything up to here is not in the log but in the state machine; `noSnapshot` for a new log. */
  readonly base: SnapshotMeta
  /** Latest configuration in the log, else the base's. */
  readonly configuration: Configuration
  readonly lastIndex: LogIndex
  readonly lastTerm: Term
  /** First index of each run of entries of one term, ascending, from `base.index + 1` on. */
  readonly termRuns: readonly { readonly first: LogIndex; readonly term: Term }[]
  /** All configuration entries from `base.index + 1` on, so that truncation can revert one. */
  readonly configurations: readonly { readonly index: LogIndex; readonly configuration: Configuration }[]
  /** Of all entries above the base, as they lie there. */
  readonly bytes: number
  /** One line on what repair did, for the log; null when nothing. */
  readonly repaired: string | null
}

/** One group-committed write: everything in it is durable together once `append` returned. */
export type LogWrite = {
  /** First: forget the whole log and start from here. */
  readonly snapshot: SnapshotMeta | null
  /** Then: replace whatever is there from the first entry's index on. Consecutive. */
  readonly entries: readonly Entry[]
  readonly hardState: HardState | null
}

/** The durable log of one member. Synchronous; a failure is final (`LogFailure`), the member must stop. */
export interface LogStore {
  readonly recovered: RecoveredLog
  /** All `writes`, then one sync. Returns when all of it is durable. */
  append(writes: readonly LogWrite[]): void
  /**
   * Consecutive entries from `from` on, at most up to `to` (included) and `bytesMax` (but at least one).
   * @throws LogFailure `cut` when `from` is at or below the base, `missing` above the last index
   */
  read(from: LogIndex, to: LogIndex, bytesMax: number): readonly Entry[]
  /** Forget everything at and below `base.index`, whose state is durable elsewhere. Durable on return. */
  cut(base: SnapshotMeta): void
  close(): void
}

/* ------------------------------------------------------------------ transport */

/** What shells say to each other besides what the cores say. */
export type PeerMessage =
  /** Repeated while the sender is not founded; answered by members that are. */
  | {
      readonly kind: 'founding'
      readonly from: NodeId
      readonly to: NodeId
      readonly identity: PeerIdentity
    }
  | { readonly kind: 'core'; readonly message: Message }
  /** "Who are the members?", of peers by one that follows no leader and knows the decided configuration at that index. */
  | { readonly kind: 'members-wanted'; readonly from: NodeId; readonly to: NodeId; readonly index: LogIndex }
  /** The answer of those that know a later decided one. */
  | {
      readonly kind: 'members'
      readonly from: NodeId
      readonly to: NodeId
      readonly index: LogIndex
      readonly configuration: Configuration
    }
  /** Proposals for the leader, valid in `term` only. */
  | {
      readonly kind: 'forward'
      readonly from: NodeId
      readonly to: NodeId
      readonly term: Term
      readonly proposals: readonly Uint8Array[]
    }
  /** The leader turned these away: certainly without effect. Each is named as its envelope names it. */
  | {
      readonly kind: 'forward-refused'
      readonly from: NodeId
      readonly to: NodeId
      readonly term: Term
      /** `unreadable`: no member of the leader's version could apply it. `not-now`: it may be tried again. */
      readonly reason: 'not-now' | 'unreadable'
      readonly proposals: readonly ProposalId[]
    }
  /** "Give me an index that is at least every commit acknowledged before now." */
  | {
      readonly kind: 'read-request'
      readonly from: NodeId
      readonly to: NodeId
      readonly term: Term
      readonly round: number
    }
  | {
      readonly kind: 'read-response'
      readonly from: NodeId
      readonly to: NodeId
      /** In which `from` led and asked the others; not always the one in which it was asked itself. */
      readonly term: Term
      readonly round: number
      /** null: not confirmed, ask again. */
      readonly index: LogIndex | null
    }
  /** To the leader: my state cannot be trusted, send yours, at this index or a later one. */
  | { readonly kind: 'state-wanted'; readonly from: NodeId; readonly to: NodeId; readonly atLeast: LogIndex }
  /** To the leader: make this change of the members. Asked again with the same round until it is answered. */
  | {
      readonly kind: 'change-wanted'
      readonly from: NodeId
      readonly to: NodeId
      readonly round: number
      readonly change: MemberChange
    }
  | {
      readonly kind: 'change-answer'
      readonly from: NodeId
      readonly to: NodeId
      readonly round: number
      readonly answer: MembershipAnswer
    }
  /** To the leader: hand leadership to `target`. Who leads then is the answer, or `transfer-refused`. */
  | {
      readonly kind: 'transfer-wanted'
      readonly from: NodeId
      readonly to: NodeId
      readonly round: number
      readonly target: NodeId
    }
  | {
      readonly kind: 'transfer-refused'
      readonly from: NodeId
      readonly to: NodeId
      readonly round: number
      readonly reason: TransferTold
    }
  /** My log lost these committed entries, both ends included: send as many as fit, from the first on. */
  | {
      readonly kind: 'entries-wanted'
      readonly from: NodeId
      readonly to: NodeId
      readonly first: LogIndex
      readonly last: LogIndex
    }
  /** Answers `entries-wanted`: committed entries from `first` on; none: the log has been cut there. */
  | {
      readonly kind: 'entries-sent'
      readonly from: NodeId
      readonly to: NodeId
      readonly first: LogIndex
      readonly entries: readonly Entry[]
    }
  /** What one api thread tells another about itself. Opaque here, at most `reportBytesMax`; the latest counts. */
  | { readonly kind: 'report'; readonly from: NodeId; readonly to: NodeId; readonly bytes: Uint8Array }

/** Why leadership is not handed over; whoever leads no more says nothing. */
export type TransferTold = Exclude<TransferRefused, 'not-leader'>

/** What a change of the members came to. */
export type MembershipAnswer =
  /** Decided, `index` being that of the configuration that has it or of a later one. */
  | { readonly kind: 'done'; readonly index: LogIndex; readonly configuration: Configuration }
  /** @param message one line with the way forward, at most `refusalBytesMax` of UTF-8 */
  | { readonly kind: 'refused'; readonly reason: ChangeRefusal; readonly message: string }
  /** Nobody here can say: ask again. */
  | { readonly kind: 'later' }

/** Of the message of a refusal. */
export const refusalBytesMax = 2048

/** A report; a longer one is malformed. */
export const reportBytesMax = 1024

/** A proposal is named by the process that made it and its place in that process's sequence. */
export type ProposalId = { readonly session: number; readonly sequence: number }

/**
 * Links to the peers. Bounded: when a link is down or its queue full, messages are dropped, never
 * blocked. Order per peer is kept; anything may be lost.
 */
export interface Transport {
  /** Begins to accept and to dial. */
  start(receiver: TransportReceiver): Promise<void>
  /**
   * Who may talk to us and where they are. Called on every configuration. All other callers are refused.
   *
   * @param decidedIndex of the configuration by which everybody else is no member for sure; 0, as when unset: of none
   */
  setPeers(peers: readonly MemberInfo[], decidedIndex?: LogIndex): void
  send(message: PeerMessage): void
  /**
   * `peer` sent what cannot be true: the link on which it speaks is closed, counted, and reported in one throttled line. It
   * may connect again, and is heard again then. @param violation one line
   */
  refuse(peer: NodeId, violation: string): void
  /**
   * Streams one snapshot on a channel of its own, at most one per peer at a time.
   * `next` is awaited for each chunk; null ends the stream.
   */
  sendSnapshot(to: NodeId, header: SnapshotHeader, next: () => Promise<Uint8Array | null>): Promise<void>
  close(): Promise<void>
}

export type SnapshotHeader = {
  readonly from: NodeId
  readonly to: NodeId
  readonly term: Term
  /** `catch-up`: the receiver's log lags behind what the sender keeps. `repair`: the receiver asked for it. */
  readonly purpose: 'catch-up' | 'repair'
  readonly snapshot: SnapshotMeta
}

/** What a member says of itself in each handshake, and while it founds a cluster. */
export type PeerIdentity = {
  /** See `RecoveredLog`. */
  readonly logId: string
  /** Of the cluster that it belongs to. While it gathers: of the one that it would found now; empty: not known. */
  readonly clusterId: string
  /** See `Founding`. */
  readonly phase: 'gathering' | 'agreed' | 'founded'
}

/**
 * - `lost-log`: the peer is known by another log, which it lost, and its vote with it
 * - `other-cluster`: it belongs to a cluster that was founded apart from this member's
 */
export type PeerVerdict = 'ok' | 'lost-log' | 'other-cluster'

export interface TransportReceiver {
  /** As of now: it changes while a cluster is founded. */
  identity(): PeerIdentity
  /**
   * Whether a peer that presents this identity may send messages. Resolves once the verdict is
   * durable here. Only called for members.
   */
  verify(peer: NodeId, identity: PeerIdentity): Promise<PeerVerdict>
  receive(message: PeerMessage): void
  /** Nothing sent to this peer right now arrives. */
  unreachable(peer: NodeId): void
  /** A peer turned us away: the configuration at that index is decided, and does not have us. */
  disowned(peer: NodeId, configurationIndex: LogIndex): void
  /** The caller awaits each promise before the next chunk; a rejection refuses the stream. */
  receiveSnapshot(header: SnapshotHeader): Promise<SnapshotSink>
}

/** Takes one incoming snapshot. Exactly one of `finish` and `abort` is called, once. */
export interface SnapshotSink {
  chunk(bytes: Uint8Array): Promise<void>
  /** All of it arrived: verify, stage, install. */
  finish(): Promise<void>
  abort(cause: unknown): void
}

/* ------------------------------------------------------------------ state machine */

/** What the raft library asks of the replicated state. Lives on the api thread. */
export interface StateMachine<Outcome> {
  /** Everything up to here is in memory. */
  readonly appliedMemory: LogIndex
  /** Everything up to here is durable in the local database; the log may be cut below it. */
  readonly appliedDisk: SnapshotMeta
  /**
   * Applies committed entries to memory, in order, each exactly once, without awaiting. A command's data
   * is an envelope (see `raft/protocol/envelope.ts`).
   * @returns the outcome of each command whose session is `session`, for whoever waits for it
   */
  apply(entries: readonly Entry[], session: number): readonly SettledProposal<Outcome>[]
  /**
   * Bytes that may still be applied before the database has to follow. At or below 0 nothing is applied
   * until `onRoom`.
   */
  readonly room: number
  /** Calls `wake` whenever there is room again. Set once. */
  onRoom(wake: () => void): void
  /** The log has everything up to here on this member's own disk; the database may follow, never pass. */
  logPersisted(index: LogIndex): void
  /**
   * The state here is not to be trusted: nothing is applied, until another member's state at this index or a later
   * one was installed. null: all is well, or it is not the time yet to ask for another.
   */
  readonly wanted: LogIndex | null
  /**
   * There is no state here, and none follows the log, until another member's was installed: the log may be cut where it is
   * full, though the state that was here did not reach as far.
   */
  readonly isSetAside: boolean
  /**
   * The log cannot bring the state any further: only another member's can, at `atLeast` or later. From here on the
   * state is not to be trusted. @param reason one line
   */
  distrust(reason: string, atLeast: LogIndex): void
  /**
   * A consistent copy of the durable state, to be streamed to a peer.
   * @param atLeast fails when it is behind this; null: as it is
   */
  produceSnapshot(atLeast: LogIndex | null): Promise<SnapshotSource>
  /** A place to receive another member's state, aside from the live one. */
  stageSnapshot(snapshot: SnapshotMeta): Promise<SnapshotSink>
  /** The staged state is now the state: the log record naming it is durable. */
  installSnapshot(snapshot: SnapshotMeta): Promise<void>
}

export interface SnapshotSource {
  readonly snapshot: SnapshotMeta
  /** @returns null at the end */
  next(): Promise<Uint8Array | null>
  close(): Promise<void>
}

export type SettledProposal<Outcome> = {
  readonly sequence: number
  readonly index: LogIndex
  /** `void`: its entry's term was not the one it was made for; certainly no effect, may be tried again. */
  readonly fate: { readonly kind: 'applied'; readonly outcome: Outcome } | { readonly kind: 'void' }
}
