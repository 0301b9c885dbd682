import { Failure } from '../base/failure.ts'
import type { ConsensusFailureCode } from '../consensus.ts'
import type { ChangeRefusal } from '../core/member-change.ts'

/**
 * What callers of consensus must expect.
 *
 * - `timed-out`: the deadline came first
 * - `overloaded`: a bound was reached, nothing was done, try later
 * - `stopped`: this member is shutting down, or broke
 * - `no-leader`: no leader is known, or this member is not the one that can do it
 * - `not-a-voter`: leadership can only go to a voter of the present configuration
 * - `target-silent`, `target-behind`, `target-declined`: it would not take over soon, see `TransferRefused`
 */
export class ConsensusFailure extends Failure<ConsensusFailureCode> {}

/** A change of the members that the leader does not make. The message is one line with the way forward. */
export class MembershipFailure extends Failure<ChangeRefusal> {}
