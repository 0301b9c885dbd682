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
 * The interfaces to implement. A member is three actors that exchange messages through channels,
 * and share nothing but the lease (`SharedLease`):
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
 * msgpack value, with `Uint8Array`). All posts of one turn are sent together. The receiver may keep
 * the bytes that it gets; the sender may not change the bytes that it posted.
 */
export interface Channel<Out, In> {
  post(message: Out): void
  /** Sends the pending posts now, without waiting for the end of the turn. */
  flush(): void
  /**
   * Sets the handler, once. Messages that arrive earlier wait for it. `messages` are the posts of
   * one turn of the other side, or of several.
   */
  onMessages(handler: (messages: readonly In[]) => void): void
  close(): void
}

/* ------------------------------------------------------------------ log */

/**
 * The files of the log. Calls are synchronous, because the log thread does nothing else. Names have
 * no directories.
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
  /** Extends the file if necessary. The bytes are durable only after `sync`. */
  write(position: number, bytes: Uint8Array): void
  truncate(length: number): void
  /** Calls fdatasync. After one failure the file must not be used again. */
  sync(): void
  close(): void
}

/** The content of the log at start. */
export type RecoveredLog = {
  /**
   * Random id of this log, in hex: a log that is created again after a loss has another one. Empty
   * for a log that is only in memory.
   */
  readonly logId: string
  /** The zero value for a new log. */
  readonly hardState: HardState
  /**
   * The effects of entries up to here are only in the state machine; `noSnapshot`: there are no
   * such entries.
   */
  readonly base: SnapshotMeta
  /** The latest configuration in the log; without one, that of the base. */
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

/** One write to the log. It is executed in the order of the fields; null: nothing to write. */
export type LogWrite = {
  /** Replaces the whole log: this is its new base. */
  readonly snapshot: SnapshotMeta | null
  /** Consecutive entries; they replace everything from the index of the first one on. */
  readonly entries: readonly Entry[]
  readonly hardState: HardState | null
}

/**
 * The durable log of one member. Calls are synchronous. After a `LogError` of any code but
 * `compacted` and `missing` the member must stop.
 */
export interface LogStore {
  readonly recovered: RecoveredLog
  /** Executes all `writes`, then one sync. Returns when everything is durable. */
  append(writes: readonly LogWrite[]): void
  /**
   * Returns consecutive entries from `from` on, at most up to `to` (included) and `bytesMax` (but
   * at least one).
   * @throws LogError `compacted` when `from` is at or below the base, `missing` above the last
   * index, `damaged` or `io` when the disk does not return the entries
   */
  read(from: LogIndex, to: LogIndex, bytesMax: number): readonly Entry[]
  /**
   * Removes everything up to `base.index`, whose effects are durable elsewhere. The removal is
   * durable on return.
   */
  compact(base: SnapshotMeta): void
  /**
   * Removes the entries up to `through`, which are compacted already, from the files. The removal
   * is durable on return. The other entries are written again if they have at most `bytesMax`
   * bytes; otherwise the log has to be compacted further first.
   *
   * @returns false: not done yet, call it with the same `through` after the next compaction
   */
  trim(through: LogIndex, bytesMax: number): boolean
  close(): void
}

/* ------------------------------------------------------------------ transport */

/** All messages between members: those of their cores, and those of the code around the cores. */
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
  /** The response of members that know a later committed configuration with the sender. */
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
  /**
   * The receiver of a `forward` refused these proposals, so they certainly have no effect. `term`
   * is that of the `forward`.
   */
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
      /** The request may wait for the next heartbeat of the leader. */
      readonly withHeartbeat: boolean
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
   * To the leader: the sender's state cannot be trusted. The sender needs a state at this index or
   * later.
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
   * The response to `entries-wanted`: committed entries from `first` on. Empty: the responding
   * member has compacted them.
   */
  | {
      readonly kind: 'entries-sent'
      readonly from: NodeId
      readonly to: NodeId
      readonly first: LogIndex
      readonly entries: readonly Entry[]
    }
  /**
   * A report between api threads: opaque bytes, at most `reportBytesMax`. Only the latest counts.
   */
  | { readonly kind: 'report'; readonly from: NodeId; readonly to: NodeId; readonly bytes: Uint8Array }

/** Why leadership is not transferred. A member that does not lead sends no refusal. */
export type TransferRefusal = Exclude<TransferRefused, 'not-leader'>

/** The result of a membership change. */
export type MembershipAnswer =
  /** The change is committed; `index` is that of the configuration with it, or of a later one. */
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
 * Links to the peers. A call never blocks: when a link is down or its queue is full, messages are
 * dropped. Messages to one peer keep their order; any of them may be lost.
 */
export interface Transport {
  /** Starts accepting and opening connections. */
  start(receiver: TransportReceiver): Promise<void>
  /**
   * Sets the peers that may connect, and their addresses. All other callers are refused. Called for
   * every new configuration.
   *
   * @param decidedIndex index of the last committed configuration; the refusal of a caller that is
   * not a member contains this index. 0 or unset: not known
   */
  setPeers(peers: readonly MemberInfo[], decidedIndex?: LogIndex): void
  send(message: PeerMessage): void
  /**
   * Closes the incoming link of a peer that sent an impossible message, counts it, and logs one
   * throttled line. The peer may connect again.
   *
   * @param violation why the message is impossible, in one line
   */
  refuse(peer: NodeId, violation: string): void
  /**
   * Streams one snapshot on a connection of its own, at most one per peer at a time.
   *
   * @param next awaited for each chunk; null ends the stream
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
  /**
   * ID of its cluster; while gathering, of the cluster that it would found now. Empty: not known.
   */
  readonly clusterId: string
  /** See `Founding`. */
  readonly phase: 'gathering' | 'agreed' | 'founded'
}

/**
 * - `lost-log`: this member has recorded another log ID for the peer, so the peer lost that log and
 *   its votes
 * - `other-cluster`: the peer belongs to another cluster
 */
export type PeerVerdict = 'ok' | 'lost-log' | 'other-cluster'

export interface TransportReceiver {
  /** The current identity: it changes while a cluster is founded. */
  identity(): PeerIdentity
  /**
   * Returns whether a peer with this identity may send messages. Resolves once the log ID that the
   * verdict depends on is durable here. Only called for members.
   */
  verify(peer: NodeId, identity: PeerIdentity): Promise<PeerVerdict>
  receive(message: PeerMessage): void
  /** Called when messages to this peer are being lost. */
  unreachable(peer: NodeId): void
  /**
   * Called with true when no connection to or from this peer exists and it did not accept a new
   * one, so its process has probably ended; with false when a connection exists again.
   */
  ended(peer: NodeId, hasEnded: boolean): void
  /** A peer refused this member: the committed configuration at that index does not contain it. */
  removedByPeer(peer: NodeId, configurationIndex: LogIndex): void
  /**
   * Opens a sink for a snapshot. The caller awaits each promise of the sink before it passes the
   * next chunk; a rejection refuses the stream.
   */
  receiveSnapshot(header: SnapshotHeader): Promise<SnapshotSink>
}
