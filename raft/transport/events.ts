import type { LogIndex, NodeId } from '../core/types.ts'
import type { TransportErrorCode } from './errors.ts'

/** Why one side turned the other away. */
export type RefusalReason =
  /** The certificate names no member. */
  | 'identity'
  /** Not a member, as far as the refusing side knows: removed, or not yet added. */
  | 'unknown-member'
  /** The certificate's member is another than the one the caller says it is. */
  | 'other-member'
  | 'other-cluster'
  /** The logs of both began with different lists of members. */
  | 'other-founding'
  /** The caller meant somebody else. */
  | 'other-receiver'
  | 'other-protocol'
  /** The caller was known by another log: it lost its own, and its vote with it. */
  | 'lost-log'
  /** Another process speaks as that member at the same time. */
  | 'other-process'
  /** What came was not this protocol. */
  | 'malformed'
  /** What came was this protocol, and cannot be true; see `raft/core/violation.ts`. */
  | 'violation'
  | 'busy'

/** Why a connection was closed before its caller said who it is. */
export type ConnectionRefusal =
  /** No handshake was accepted on it in time. */
  | 'no-handshake'
  /** It was beyond the share of its address, or of all connections. */
  | 'too-many-connections'

/**
 * What an operator may want to read or count. One line each; bounded by attempts, not by messages.
 */
export type TransportEvent =
  | { readonly kind: 'listening'; readonly address: string }
  | { readonly kind: 'link-up'; readonly peer: NodeId; readonly name: string; readonly address: string }
  /** Told once when a link that was up breaks, and when the reason for not coming up changes. */
  | {
      readonly kind: 'link-down'
      readonly peer: NodeId
      readonly name: string
      readonly code: TransportErrorCode
      readonly cause: string
    }
  /** We turned a caller away. */
  | {
      readonly kind: 'refused'
      readonly reason: RefusalReason | ConnectionRefusal
      readonly remote: string
      readonly detail: string
      /** Refusals of this reason and caller since its last line that were only counted. */
      readonly unlogged: number
    }
  | { readonly kind: 'too-large'; readonly peer: NodeId; readonly bytes: number }
  /**
   * A command from this peer is not what its proposer made, past the checks of the wire: it was
   * refused.
   */
  | { readonly kind: 'altered'; readonly peer: NodeId; readonly index: LogIndex }
  /**
   * This member's own, given while it runs: in use from the next handshake on, or not fit for it.
   */
  | { readonly kind: 'keys-renewed' }
  | { readonly kind: 'keys-refused'; readonly cause: string }
  | { readonly kind: 'snapshot-failed'; readonly peer: NodeId; readonly cause: string }

/** What one link holds back at the moment. */
export type LinkMeasure = {
  readonly name: string
  readonly up: boolean
  readonly queuedMessages: number
  /** Waiting here, and given to gRPC and not taken by the connection. */
  readonly queuedBytes: number
}

export type TransportMeasure = {
  readonly counters: TransportCounters
  readonly links: readonly LinkMeasure[]
}

/** Since the start; numbers only grow. */
export type TransportCounters = {
  messagesSent: number
  framesSent: number
  bytesSent: number
  messagesReceived: number
  framesReceived: number
  bytesReceived: number
  /** Not sent, because the link was down or its queue full. */
  messagesDropped: number
  /** Callers turned away. */
  refusals: number
  /** Messages of members that cannot be true; each closed its link. */
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
