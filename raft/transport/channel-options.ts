import type { ChannelOptions, ServerOptions } from '@grpc/grpc-js'
import type { TransportLimits } from './options.ts'
import { serverNameOf } from './peer-identity.ts'

const KiB = 1024

/**
 * Returns the options for one connection to one member. Connections are never shared, so that a
 * snapshot has its own. The backoff of gRPC, which by default grows to two minutes, has the same
 * bounds as that of the link.
 */
export function channelOptions(limits: TransportLimits, member: string): ChannelOptions {
  return {
    ...sharedOptions(limits, limits.keepaliveMs),
    'grpc.ssl_target_name_override': serverNameOf(member),
    'grpc.use_local_subchannel_pool': 1,
    'grpc.enable_retries': 0,
    'grpc.enable_http_proxy': 0,
    'grpc.service_config_disable_resolution': 1,
    'grpc.initial_reconnect_backoff_ms': limits.backoffMsMin,
    'grpc.max_reconnect_backoff_ms': limits.backoffMsMax,
  }
}

/**
 * Returns the options of the server. A connection carries one link or one snapshot stream, so no
 * member reaches the limit of streams.
 */
export function serverOptions(limits: TransportLimits): ServerOptions {
  return { ...sharedOptions(limits, limits.acceptedKeepaliveMs), 'grpc.max_concurrent_streams': 8 }
}

function sharedOptions(limits: TransportLimits, keepaliveMs: number): ChannelOptions {
  // Space for the envelope around the largest message; both sides must agree.
  const bytesMax = limits.messageBytesMax + 64 * KiB
  return {
    'grpc.max_send_message_length': bytesMax,
    'grpc.max_receive_message_length': bytesMax,
    'grpc.keepalive_time_ms': keepaliveMs,
    'grpc.keepalive_timeout_ms': limits.keepaliveTimeoutMs,
    'grpc.keepalive_permit_without_calls': 1,
    'grpc.enable_channelz': 0,
  }
}
