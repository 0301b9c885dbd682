import type { LogIndex, NodeId } from '../core/types.ts'
import type { TransportErrorCode } from './errors.ts'

/** Why one side refused the other. */
export type RefusalReason =
  /** The certificate names no member. */
  | 'identity'
  /** The caller is not a member, as far as the refusing side knows: removed, or not added yet. */
  | 'unknown-member'
  /** The caller claims to be another member than its certificate names. */
  | 'other-member'
  | 'other-cluster'
  /** The logs of caller and receiver began with different lists of members. */
  | 'other-founding'
  /** The caller expected another member at this address. */
  | 'other-receiver'
  | 'other-protocol'
  /** The caller is recorded with another log: it lost its own, and its vote with it. */
  | 'lost-log'
  /** Another process is connected as that member at the same time. */
  | 'other-process'
  /** The input does not follow this protocol. */
  | 'malformed'
  /** The input follows this protocol, but is impossible; see `raft/core/violation.ts`. */
  | 'violation'
  | 'busy'

/** Why a connection was closed before its caller was identified. */
export type ConnectionRefusal =
  /** No handshake was accepted on the connection in time. */
  | 'no-handshake'
  /** The connection exceeded a limit: of all, of its address, or of unknown addresses. */
  | 'too-many-connections'

/**
 * Events for logs and metrics; each becomes one line in the log. A valid message causes no event,
 * unless it is too large for a frame.
 */
export type TransportEvent =
  | { readonly kind: 'listening'; readonly address: string; readonly port: number }
  | { readonly kind: 'link-up'; readonly peer: NodeId; readonly name: string; readonly address: string }
  /** Sent once when a link that was up breaks, and when the reason for not connecting changes. */
  | {
      readonly kind: 'link-down'
      readonly peer: NodeId
      readonly name: string
      readonly code: TransportErrorCode
      readonly cause: string
    }
  /** A caller was refused. */
  | {
      readonly kind: 'refused'
      readonly reason: RefusalReason | ConnectionRefusal
      readonly remote: string
      readonly detail: string
      /** Refusals for this reason and caller that were not logged since the last such event. */
      readonly unlogged: number
    }
  | { readonly kind: 'too-large'; readonly peer: NodeId; readonly bytes: number }
  /**
   * A command from this peer differs from what its proposer sent, although it passed the checks of
   * the transport. The message was dropped.
   */
  | { readonly kind: 'altered'; readonly peer: NodeId; readonly index: LogIndex }
  /**
   * This member received new keys while it runs. `keys-renewed`: they are used from the next
   * handshake on; `keys-refused`: they are invalid, and the previous ones stay in use.
   */
  | { readonly kind: 'keys-renewed' }
  | { readonly kind: 'keys-refused'; readonly cause: string }
  | { readonly kind: 'snapshot-failed'; readonly peer: NodeId; readonly cause: string }

/** The current queue of one link. */
export type LinkMeasure = {
  readonly name: string
  readonly up: boolean
  readonly queuedMessages: number
  /** Bytes that wait in the queue, or that gRPC has and the connection has not accepted yet. */
  readonly queuedBytes: number
}

export type TransportMeasure = {
  readonly counters: TransportCounters
  readonly links: readonly LinkMeasure[]
}

/** Counted since the start; the numbers only grow. */
export type TransportCounters = {
  messagesSent: number
  framesSent: number
  bytesSent: number
  messagesReceived: number
  framesReceived: number
  bytesReceived: number
  /**
   * Messages that were not sent, because there was no link or it was down, its queue was full, the
   * frame too large, or the program of the peer too old for the message.
   */
  messagesDropped: number
  /** Refused callers. */
  refusals: number
  /** Impossible messages of members; each closed its link. */
  violations: number
  linksOpened: number
  snapshotsSent: number
  snapshotsReceived: number
  snapshotsFailed: number
}

export function newCounters(): TransportCounters {
  return {
    messagesSent: 0,
    framesSent: 0,
    bytesSent: 0,
    messagesReceived: 0,
    framesReceived: 0,
    bytesReceived: 0,
    messagesDropped: 0,
    refusals: 0,
    violations: 0,
    linksOpened: 0,
    snapshotsSent: 0,
    snapshotsReceived: 0,
    snapshotsFailed: 0,
  }
}
