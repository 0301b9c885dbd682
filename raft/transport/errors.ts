import { CodedError } from '../../base/coded-error.ts'

/**
 * - `malformed`: bytes from a peer that do not follow `proto/`.
 * - `identity`: a peer certificate that cannot be used, or that names no member, or another member
 *   than expected.
 * - `lost-log`: the peer has recorded another log for this member, so it always refuses this
 *   member.
 * - `refused`: one of the two sides refused the stream with a reason.
 * - `unreachable`: no link, or it broke.
 * - `busy`: a snapshot to or from that peer is in progress, or another process is connected as this
 *   member.
 * - `aborted`: the sender of a snapshot stopped before the end, or the receiver could not take it.
 * - `corrupt`: a checksum does not match what arrived.
 * - `listen`: cannot listen on the peer address.
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

export class TransportError extends CodedError<TransportErrorCode> {}
