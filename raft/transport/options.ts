import { assert } from '../../base/assert.ts'

const KiB = 1024
const MiB = 1024 * KiB

/** Limit of the messages in one frame. */
export const frameMessagesMax = 4096

/** Limits and times of peer links. */
export type TransportLimits = {
  /**
   * Limit of the messages that wait for one peer. Above it messages are dropped, and the peer is
   * reported unreachable.
   */
  readonly queueMessagesMax: number
  /** The same limit in bytes. One message always fits an empty queue. */
  readonly queueBytesMax: number
  /** Limit in bytes of the messages that share a frame; a larger message is sent alone. */
  readonly frameBytesMax: number
  /** Limit of one frame in bytes. A larger frame is dropped and reported. */
  readonly messageBytesMax: number
  /**
   * Limit of the bytes that gRPC has and the connection has not accepted yet. Above it messages
   * wait in the queue.
   */
  readonly writeWindowBytesMax: number
  /**
   * Limit of the concurrent connections of callers. At most a quarter of them may come from one
   * address, and half of them from addresses that no member has connected from. Above a limit new
   * connections are closed at once.
   */
  readonly connectionsMax: number
  /**
   * Time limit from the beginning of a connection to the accepted handshake, TLS included, for
   * outgoing and incoming connections.
   */
  readonly connectTimeoutMs: number
  /**
   * The delay before the next attempt to connect. It starts at the minimum, doubles with each
   * failure up to the maximum, and is the maximum after a refusal. A random part of it, at most
   * half, is subtracted.
   */
  readonly backoffMsMin: number
  readonly backoffMsMax: number
  /**
   * The delay before the first attempt after a link that was up for `backoffMsMax` broke: short,
   * because it shows whether the peer has ended.
   */
  readonly redialMs: number
  /**
   * How often the side that opened a connection pings it, and how often the other side does. The
   * connection is closed if no response arrives within the timeout. Only the side that opened a
   * connection sends messages of Raft on it, so the other side merely has to close dead connections
   * eventually.
   */
  readonly keepaliveMs: number
  readonly acceptedKeepaliveMs: number
  readonly keepaliveTimeoutMs: number
  /** Minimum interval of reports that a peer is unreachable while messages to it are dropped. */
  readonly unreachableMsMin: number
  /** Limit of one chunk of a snapshot. */
  readonly chunkBytesMax: number
  /** A snapshot stream without progress for this long is aborted by either side. */
  readonly snapshotStallMsMax: number
}

export const defaultTransportLimits: TransportLimits = Object.freeze({
  queueMessagesMax: 4096,
  queueBytesMax: 32 * MiB,
  frameBytesMax: 1 * MiB,
  messageBytesMax: 8 * MiB,
  writeWindowBytesMax: 2 * MiB,
  connectionsMax: 1024,
  connectTimeoutMs: 2000,
  backoffMsMin: 50,
  backoffMsMax: 1000,
  redialMs: 5,
  keepaliveMs: 3000,
  acceptedKeepaliveMs: 10_000,
  keepaliveTimeoutMs: 2000,
  unreachableMsMin: 100,
  chunkBytesMax: 256 * KiB,
  snapshotStallMsMax: 30_000,
})

export function checkTransportLimits(limits: TransportLimits): void {
  assert(limits.frameBytesMax <= limits.messageBytesMax, 'a full frame fits one message')
  assert(limits.frameBytesMax <= limits.queueBytesMax, 'a full frame fits the queue')
  assert(limits.chunkBytesMax < limits.messageBytesMax, 'a chunk and its envelope fit one message')
  assert(limits.queueMessagesMax >= 1, 'a queue holds a message')
  assert(limits.backoffMsMin >= 1, 'the minimum backoff is at least 1 ms')
  assert(limits.redialMs >= 1, 'a redial waits at least 1 ms')
  assert(limits.backoffMsMin <= limits.backoffMsMax, 'backoff does not shrink')
  assert(frameMessagesMax >= 1, 'a frame holds a message')
}

/** The names that gRPC has for the methods in `proto/`. */
export const method = Object.freeze({
  messages: '/orch.raft.v1.PeerLink/Messages',
  snapshot: '/orch.raft.v1.SnapshotTransfer/Send',
})
