import { Failure } from '../../base/failure.ts'
import type { ConsensusErrorCode } from '../consensus.ts'
import type { ChangeRefusal } from '../core/member-change.ts'

/**
 * What callers of consensus must expect.
 *
 * - `timed-out`: the deadline came first
 * - `overloaded`: a bound was reached, nothing was done, try later
 * - `stopped`: this member is shutting down, or broke
 * - `no-leader`: no leader is known, or this member is not the one that can do it
 * - `not-a-voter`: leadership can only go to a voter of the present configuration
 * - `target-silent`, `target-behind`, `target-declined`: it would not take over soon, see
 *   `TransferRefused`
 */
export class ConsensusError extends Failure<ConsensusErrorCode> {}

/**
 * A change of the members that the leader does not make. The message is one line with the way
 * forward.
 */
export class MembershipError extends Failure<ChangeRefusal> {}

/**
 * Returns why a member ends whose peers know it by another log. The remedy for a cluster that was
 * founded comes last: whoever knows this member's addresses adds the command to it.
 */
export function knownByAnotherLog(peers: readonly string[]): string {
  const names = peers.map((name) => `"${name}"`).join(', ')
  return (
    `members ${names} know this member by another log: this one lost its log, and its vote with it. ` +
    'Only where the cluster was never founded, empty the data directories of all initial members. ' +
    'Otherwise bring its old data directory back, or it must be replaced by a new member'
  )
}
