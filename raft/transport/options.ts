import type { ChannelOptions, ServerOptions } from '@grpc/grpc-js'
import { assert } from '../base/assert.ts'
import { frameMessagesMax } from './frame-codec.ts'
import { serverNameOf } from './peer-identity.ts'

const KiB = 1024
const MiB = 1024 * KiB

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
  /** From dialing to the peer's welcome; the same patience for a caller's greeting. */
  readonly connectTimeoutMs: number
  /** Between attempts, doubling, with jitter. */
  readonly backoffMsMin: number
  readonly backoffMsMax: number
  /** A silent connection is asked for life this often, and is broken when no answer comes in time. */
  readonly keepaliveMs: number
  readonly keepaliveTimeoutMs: number
  /** A peer is called unreachable at most this often while messages to it are dropped. */
  readonly unreachableMsMin: number
  /** See `Patience`. */
  readonly guestsAfterMs: number
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
  connectTimeoutMs: 2000,
  backoffMsMin: 50,
  backoffMsMax: 1000,
  keepaliveMs: 2000,
  keepaliveTimeoutMs: 2000,
  unreachableMsMin: 100,
  guestsAfterMs: 2000,
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

/**
 * For one connection to one member. Connections are never shared or pooled, so that a snapshot has its own;
 * reconnecting is the link's business, not gRPC's, whose own backoff grows to two minutes.
 */
export function channelOptions(limits: TransportLimits, member: string): ChannelOptions {
  return {
    ...sharedOptions(limits),
    'grpc.ssl_target_name_override': serverNameOf(member),
    'grpc.use_local_subchannel_pool': 1,
    'grpc.enable_retries': 0,
    'grpc.enable_http_proxy': 0,
    'grpc.service_config_disable_resolution': 1,
    'grpc.initial_reconnect_backoff_ms': limits.backoffMsMin,
    'grpc.max_reconnect_backoff_ms': limits.backoffMsMax,
  }
}

/** Every peer holds a link and perhaps a snapshot stream; more streams than that on a connection are no peer's. */
export function serverOptions(limits: TransportLimits): ServerOptions {
  return { ...sharedOptions(limits), 'grpc.max_concurrent_streams': 8 }
}

function sharedOptions(limits: TransportLimits): ChannelOptions {
  // Room for the envelope around the largest message; both sides must agree.
  const bytesMax = limits.messageBytesMax + 64 * KiB
  return {
    'grpc.max_send_message_length': bytesMax,
    'grpc.max_receive_message_length': bytesMax,
    'grpc.keepalive_time_ms': limits.keepaliveMs,
    'grpc.keepalive_timeout_ms': limits.keepaliveTimeoutMs,
    'grpc.keepalive_permit_without_calls': 1,
    'grpc.enable_channelz': 0,
  }
}
