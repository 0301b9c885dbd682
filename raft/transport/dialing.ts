import { Client } from '@grpc/grpc-js'
import type { ChannelCredentials } from '@grpc/grpc-js'
import type { Clock } from '../../base/clock.ts'
import type { MemberInfo } from '../core/types.ts'
import { channelOptions } from './channel-options.ts'
import type { TransportLimits } from './options.ts'

/** Returns a client for one member; its first call opens the connection. */
export function dial(peer: MemberInfo, credentials: ChannelCredentials, limits: TransportLimits): Client {
  return new Client(peer.peerAddress, credentials, channelOptions(limits, peer.name))
}

/**
 * Closes a client and its connection. For a numeric address, gRPC starts to connect in a later
 * turn, even if the client was closed before that turn, and the connection would stay open. So the
 * client is closed a second time after that turn.
 */
export function closeClient(client: Client, clock: Clock): void {
  client.close()
  clock.soon(() => clock.soon(() => client.close()))
}

/** The serializer and deserializer for gRPC: messages are bytes, which `frame-codec.ts` encodes. */
export function asIs(bytes: Buffer): Buffer {
  return bytes
}

/** Returns a view of the same memory, of the type that gRPC expects. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
