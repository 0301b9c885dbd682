import { CodedError } from '../../base/coded-error.ts'
import type { ConsensusErrorCode } from '../consensus.ts'
import type { ChangeRefusal } from '../core/member-change.ts'

/**
 * Errors that callers of `Consensus` must expect.
 *
 * - `timed-out`: the deadline passed
 * - `overloaded`: a limit was reached and nothing was done; retry later
 * - `stopped`: this member is shutting down, failed, or was removed from the cluster
 * - `no-leader`: no leader is known, or this member cannot reach it
 * - `not-a-voter`: leadership can only be transferred to a voter of the present configuration
 * - `target-silent`, `target-behind`, `target-declined`: the target would not take over soon, see
 *   `TransferRefused`
 */
export class ConsensusError extends CodedError<ConsensusErrorCode> {}

/** A membership change that the leader refuses. The message is one line with the remedy. */
export class MembershipError extends CodedError<ChangeRefusal> {}

/**
 * Returns why this member ends: its peers have recorded another log for it. The remedy for a
 * founded cluster comes last, so that a caller that knows this member's addresses can add the
 * command.
 */
export function knownByAnotherLog(peers: readonly string[]): string {
  const names = peers.map((name) => `"${name}"`).join(', ')
  return (
    `members ${names} have recorded another log for this member: it lost its log, and its vote with it. ` +
    'Only if the cluster was never founded, empty the data directories of all initial members. ' +
    'Otherwise restore its old data directory, or it must be replaced by a new member'
  )
}
