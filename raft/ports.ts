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
import type { SnapshotSink } from './state-machine.ts'

export type { SettledProposal, SnapshotSink, SnapshotSource, StateMachine } from './state-machine.ts'

/*
 * The interfaces to implement. A member is three actors that share nothing and exchange messages
 * through channels:
 *
 *   api  <── commands, reads, snapshots ──>  raft  <── writes, fetches ──>  log
 *    └───────────────── reads of committed entries ─────────────────────────┘
 *
 * In a server each runs on its own thread; in the simulator all actors of all members run on one
 * thread, and the simulator implements the channels, the disk and the transport.
 */

/* ------------------------------------------------------------------ channel between actors */

/**
 * One end of a two-way, ordered, lossless channel between two actors. Messages are plain data (any
 * msgpack value, with `Uint8Array`). All posts of one turn are sent together, in one new buffer.
 * The receiver may keep the bytes that it gets; the sender may not change the bytes that it posted.
 */
export interface Channel<Out, In> {
  post(message: Out): void
  /**
   * Set once, before the first message arrives. `messages` are the posts of one turn of the other
   * side.
   */
  onMessages(handler: (messages: readonly In[]) => void): void
  close(): void
}

/* ------------------------------------------------------------------ log */

/**
 * The files under the log, synchronous: the log thread does nothing else. Names have no
 * directories.
 */
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

/** The content of the log at start. */
export type RecoveredLog = {
  /**
   * Random id of this log, in hex: a log that is created again after a loss has another one. Empty
   * where nothing is durable.
   */
  readonly logId: string
  /** The zero value for a new log. */
  readonly hardState: HardState
  /** Entries up to here are only in the state machine; `noSnapshot` for a new log. */
  readonly base: SnapshotMeta
  /** Latest configuration in the log, else the base's. */
  readonly configuration: Configuration
  readonly lastIndex: LogIndex
  readonly lastTerm: Term
  /** First index of each run of entries of one term, ascending, from `base.index + 1` on. */
  readonly termRuns: readonly { readonly first: LogIndex; readonly term: Term }[]
  /** All configuration entries from `base.index + 1` on, so that truncation can revert one. */
  readonly configurations: readonly { readonly index: LogIndex; readonly configuration: Configuration }[]
  /** Size on disk of all entries above the base. */
  readonly bytes: number
  /** One line about a repair, for the server's log; null: no repair. */
  readonly repaired: string | null
}

/** One group-committed write: everything in it is durable together once `append` returned. */
export type LogWrite = {
  /** First: remove the whole log and start from here. */
  readonly snapshot: SnapshotMeta | null
  /** Then: replace everything from the first entry's index on. Consecutive. */
  readonly entries: readonly Entry[]
  readonly hardState: HardState | null
}

/**
 * The durable log of one member. Synchronous; a failure is final (`LogError`), the member must
 * stop.
 */
export interface LogStore {
  readonly recovered: RecoveredLog
  /** All `writes`, then one sync. Returns when all of it is durable. */
  append(writes: readonly LogWrite[]): void
  /**
   * Returns consecutive entries from `from` on, at most up to `to` (included) and `bytesMax` (but
   * at least one).
   * @throws LogError `compacted` when `from` is at or below the base, `missing` above the last
   * index
   */
  read(from: LogIndex, to: LogIndex, bytesMax: number): readonly Entry[]
  /** Removes everything up to `base.index`; that state is durable elsewhere. Durable on return. */
  compact(base: SnapshotMeta): void
  /**
   * Removes from the files what was written up to `through`. Durable on return. Up to `bytesMax` of
   * entries are written again; with more of them, the log has to be compacted further first.
   *
   * @returns false: not yet, repeat it with the same `through` after the next compaction
   */
  trim(through: LogIndex, bytesMax: number): boolean
  close(): void
}

/* ------------------------------------------------------------------ transport */

/** All messages between members: those of the cores and those of the shells around them. */
export type PeerMessage =
  /** Repeated while the sender's cluster is not founded; founded members respond. */
  | {
      readonly kind: 'founding'
      readonly from: NodeId
      readonly to: NodeId
      readonly identity: PeerIdentity
    }
  | { readonly kind: 'core'; readonly message: Message }
  /**
   * Requests a committed configuration later than the one at `index`, the latest that the sender
   * has. Sent to peers while no leader is known.
   */
  | { readonly kind: 'members-wanted'; readonly from: NodeId; readonly to: NodeId; readonly index: LogIndex }
  /** The response of members that know a later committed configuration. */
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
  /** The leader refused these: they certainly have no effect. Identified as in their envelopes. */
  | {
      readonly kind: 'forward-refused'
      readonly from: NodeId
      readonly to: NodeId
      readonly term: Term
      /** `unreadable`: no member of the leader's version could apply it. `not-now`: retry. */
      readonly reason: 'not-now' | 'unreadable'
      readonly proposals: readonly ProposalId[]
    }
  /** Requests from the leader an index that covers every commit acknowledged before now. */
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
      /** The term in which `from` confirmed the round; not always the term of the request. */
      readonly term: Term
      readonly round: number
      /** null: not confirmed, retry. */
      readonly index: LogIndex | null
    }
  /**
   * To the leader: the sender's state cannot be trusted; it needs a state at this index or later.
   */
  | { readonly kind: 'state-wanted'; readonly from: NodeId; readonly to: NodeId; readonly atLeast: LogIndex }
  /**
   * To the leader: make this membership change. Repeated with the same round until there is a
   * response.
   */
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
  /**
   * To the leader: transfer leadership to `target`. The response is a new leader, or
   * `transfer-refused`.
   */
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
      readonly reason: TransferRefusal
    }
  /**
   * The sender's log lost these committed entries, both ends included: send as many as fit, from
   * the first on.
   */
  | {
      readonly kind: 'entries-wanted'
      readonly from: NodeId
      readonly to: NodeId
      readonly first: LogIndex
      readonly last: LogIndex
    }
  /**
   * The response to `entries-wanted`: committed entries from `first` on; empty: compacted there.
   */
  | {
      readonly kind: 'entries-sent'
      readonly from: NodeId
      readonly to: NodeId
      readonly first: LogIndex
      readonly entries: readonly Entry[]
    }
  /**
   * A report between api threads. Opaque here, at most `reportBytesMax`; only the latest counts.
   */
  | { readonly kind: 'report'; readonly from: NodeId; readonly to: NodeId; readonly bytes: Uint8Array }

/** Why leadership is not transferred; a member that no longer leads sends no reason. */
export type TransferRefusal = Exclude<TransferRefused, 'not-leader'>

/** The result of a membership change. */
export type MembershipAnswer =
  /** Committed; `index` is that of the configuration with the change, or of a later one. */
  | { readonly kind: 'done'; readonly index: LogIndex; readonly configuration: Configuration }
  /** @param message one line with the remedy, at most `refusalBytesMax` of UTF-8 */
  | { readonly kind: 'refused'; readonly reason: ChangeRefusal; readonly message: string }
  /** The outcome is not known here: retry. */
  | { readonly kind: 'later' }

/** Limit of the message of a refusal, in bytes. */
export const refusalBytesMax = 2048

/** Limit of a report, in bytes; a longer one is malformed. */
export const reportBytesMax = 1024

/**
 * Identifies a proposal: the session of the process that made it, and its sequence number there.
 */
export type ProposalId = { readonly session: number; readonly sequence: number }

/**
 * Links to the peers. Bounded: when a link is down or its queue full, messages are dropped, never
 * blocked. Order per peer is kept; anything may be lost.
 */
export interface Transport {
  /** Starts to accept and to open connections. */
  start(receiver: TransportReceiver): Promise<void>
  /**
   * Sets the peers that may connect, and their addresses. All other callers are refused. Called for
   * every new configuration.
   *
   * @param decidedIndex index of the last committed configuration, which is sent to callers that
   * are not members of it; 0 or unset: none is sent
   */
  setPeers(peers: readonly MemberInfo[], decidedIndex?: LogIndex): void
  send(message: PeerMessage): void
  /**
   * Closes the incoming link of a peer that sent an impossible message, counts it, and logs one
   * throttled line. The peer may connect again. @param violation one line
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
  /**
   * `catch-up`: the receiver's log lags behind the base of the sender. `repair`: the receiver
   * requested it.
   */
  readonly purpose: 'catch-up' | 'repair'
  readonly snapshot: SnapshotMeta
}

/** The identity that a member sends in each handshake, and while it founds a cluster. */
export type PeerIdentity = {
  /** See `RecoveredLog`. */
  readonly logId: string
  /** Its cluster. While gathering: the cluster that it would found now; empty: not known. */
  readonly clusterId: string
  /** See `Founding`. */
  readonly phase: 'gathering' | 'agreed' | 'founded'
}

/**
 * - `lost-log`: this member has recorded another log ID for the peer, so the peer lost that log and
 *   its votes
 * - `other-cluster`: it belongs to another cluster
 */
export type PeerVerdict = 'ok' | 'lost-log' | 'other-cluster'

export interface TransportReceiver {
  /** The current identity: it changes while a cluster is founded. */
  identity(): PeerIdentity
  /**
   * Returns whether a peer with this identity may send messages. Resolves once the verdict is
   * durable here. Only called for members.
   */
  verify(peer: NodeId, identity: PeerIdentity): Promise<PeerVerdict>
  receive(message: PeerMessage): void
  /** Messages to this peer are currently lost. */
  unreachable(peer: NodeId): void
  /** A peer refused this member: the committed configuration at that index does not contain it. */
  removedByPeer(peer: NodeId, configurationIndex: LogIndex): void
  /** The caller awaits each promise before the next chunk; a rejection refuses the stream. */
  receiveSnapshot(header: SnapshotHeader): Promise<SnapshotSink>
}
