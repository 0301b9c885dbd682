import { Failure } from '../../base/failure.ts'

/**
 * - `malformed`: bytes from a peer that are not what `proto/` says.
 * - `identity`: a certificate that names no member, or another one than it should.
 * - `lost-log`: the peer knows this member by another log; it must not speak under this name again.
 * - `refused`: the other side turned the stream away and said why.
 * - `unreachable`: no link, or it broke.
 * - `busy`: one snapshot to or from that peer is under way already.
 * - `aborted`: the sender stopped in the middle, or the receiver could not take it.
 * - `corrupt`: a checksum does not match what arrived.
 * - `listen`: the peer address cannot be listened on.
 * - `closed`: this transport was closed.
 */
export type TransportErrorCode =
  | 'malformed'
  | 'identity'
  | 'lost-log'
  | 'refused'
  | 'unreachable'
  | 'busy'
  | 'aborted'
  | 'corrupt'
  | 'listen'
  | 'closed'

export class TransportError extends Failure<TransportErrorCode> {}
