import { assert } from '../../base/assert.ts'

const KiB = 1024
const MiB = 1024 * KiB

/** Messages in one frame. A sender closes a frame earlier. */
export const frameMessagesMax = 4096

/** Bounds and times of peer links. */
export type TransportLimits = {
  /** Messages waiting for one peer. When full: dropped, and the peer is called unreachable. */
  readonly queueMessagesMax: number
  /** The same in bytes. One message always fits an empty queue. */
  readonly queueBytesMax: number
  /** Messages of one turn that travel together; a larger one travels alone. */
  readonly frameBytesMax: number
  /** One frame on the wire. Larger: dropped and told. */
  readonly messageBytesMax: number
  /** Handed to gRPC and not yet taken by the connection; above it messages wait in the queue. */
  readonly writeWindowBytesMax: number
  /**
   * Connections of callers at a time; a quarter of them from one address, half of them from
   * addresses that no member has connected from. When full: new ones are closed at once.
   */
  readonly connectionsMax: number
  /**
   * From dialing to the peer's welcome; of a caller, from its connection to its accepted handshake,
   * TLS included.
   */
  readonly connectTimeoutMs: number
  /** Between attempts, doubling, with jitter. */
  readonly backoffMsMin: number
  readonly backoffMsMax: number
  /**
   * A silent connection is asked for life this often, and is broken when no answer comes in time.
   */
  readonly keepaliveMs: number
  readonly keepaliveTimeoutMs: number
  /** A peer is called unreachable at most this often while messages to it are dropped. */
  readonly unreachableMsMin: number
  /** One piece of a snapshot. */
  readonly chunkBytesMax: number
  /** A snapshot stream on which nothing moves for this long is given up by either side. */
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
  keepaliveMs: 2000,
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
  assert(limits.backoffMsMin >= 1, 'attempts are apart')
  assert(limits.backoffMsMin <= limits.backoffMsMax, 'backoff does not shrink')
  assert(frameMessagesMax >= 1, 'a frame holds a message')
}

/** gRPC's name of the methods in `proto/`. */
export const method = Object.freeze({
  messages: '/orch.raft.v1.PeerLink/Messages',
  snapshot: '/orch.raft.v1.SnapshotTransfer/Send',
})
