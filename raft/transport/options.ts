import { assert } from '../../base/assert.ts'

const KiB = 1024
const MiB = 1024 * KiB

/** Limit of the messages in one frame. */
export const frameMessagesMax = 4096

/** Limits and times of peer links. */
export type TransportLimits = {
  /** Messages waiting for one peer. When full: dropped, and the peer is reported unreachable. */
  readonly queueMessagesMax: number
  /** The same in bytes. One message always fits an empty queue. */
  readonly queueBytesMax: number
  /** Messages of one turn that share a frame; a larger one is sent alone. */
  readonly frameBytesMax: number
  /** Limit of one frame. Larger: dropped and reported. */
  readonly messageBytesMax: number
  /** Handed to gRPC and not accepted by the connection yet; above it messages wait in the queue. */
  readonly writeWindowBytesMax: number
  /**
   * Concurrent connections of callers; a quarter of them from one address, half of them from
   * addresses that no member has connected from. When full: new ones are closed at once.
   */
  readonly connectionsMax: number
  /**
   * From connecting to the peer's welcome; of a caller, from its connection to its accepted
   * handshake, TLS included.
   */
  readonly connectTimeoutMs: number
  /** Between attempts, doubling, with jitter. */
  readonly backoffMsMin: number
  readonly backoffMsMax: number
  /** An idle connection is pinged this often, and broken without a response in time. */
  readonly keepaliveMs: number
  readonly keepaliveTimeoutMs: number
  /** Minimum interval of reports that a peer is unreachable while messages to it are dropped. */
  readonly unreachableMsMin: number
  /** One piece of a snapshot. */
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
  assert(limits.backoffMsMin >= 1, 'the minimum backoff is at least 1 ms')
  assert(limits.backoffMsMin <= limits.backoffMsMax, 'backoff does not shrink')
  assert(frameMessagesMax >= 1, 'a frame holds a message')
}

/** gRPC's name of the methods in `proto/`. */
export const method = Object.freeze({
  messages: '/orch.raft.v1.PeerLink/Messages',
  snapshot: '/orch.raft.v1.SnapshotTransfer/Send',
})
