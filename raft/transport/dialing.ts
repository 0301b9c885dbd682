import { Client } from '@grpc/grpc-js'
import type { ChannelCredentials } from '@grpc/grpc-js'
import type { Clock } from '../../base/clock.ts'
import type { MemberInfo } from '../core/types.ts'
import { channelOptions } from './channel-options.ts'
import type { TransportLimits } from './options.ts'

/** One connection to one member, dialed by the first call on it. */
export function dial(peer: MemberInfo, credentials: ChannelCredentials, limits: TransportLimits): Client {
  return new Client(peer.peerAddress, credentials, channelOptions(limits, peer.name))
}

/**
 * Closes for good. The library hands an address that needs no lookup on in a later turn, even to a
 * channel closed meanwhile, which then connects and stays open unnoticed: so close once more after
 * that.
 */
export function closeClient(client: Client, clock: Clock): void {
  client.close()
  clock.soon(() => clock.soon(() => client.close()))
}

/** Messages are bytes to gRPC; our codec knows what they say. */
export function asIs(bytes: Buffer): Buffer {
  return bytes
}

/** The same memory, as gRPC wants to see it. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
