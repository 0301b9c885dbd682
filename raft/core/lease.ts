import { leaseDriftMax } from './config.ts'
import type { LeasePromise } from './message.ts'
import type { Progress } from './progress.ts'
import { quorumValue } from './quorum.ts'
import { committedInTerm, configuration, followsEndedLeader, isVoterOf } from './state.ts'
import type { State } from './state.ts'

/*
 * How long a leader may serve reads without a quorum round (thesis §6.4.1), and why that is safe.
 *
 * For an election timeout after a response with a promise, a voter helps no other member to win an
 * election: it grants no vote and no pre-vote (`isBoundByLease`) and does not campaign. The
 * response carries the length of this promise and identifies the heartbeat. So once a quorum of
 * voters has responded to a heartbeat sent at time s, no other leader can be elected before s plus
 * the shortest promise: the promises were made after s, and every quorum contains one of these
 * voters. Until then this leader commits every write, and its commit index is the latest.
 *
 * What could break this, and why it does not:
 *
 * - A voter learns of a later term from a third member: it still withholds its vote, counted from
 *   its last promise.
 * - The connection of a voter to the leader breaks: with evidence that the leader has ended, it
 *   votes early (`ended-leader.ts`), but not before the end of its promise.
 * - A voter restarts: it withholds its vote for an election timeout from its start. If an earlier
 *   process may have made a longer promise, it withholds its vote for that time
 *   (`formerPromiseTicks`). A voter with a new log (term 0) has promised nothing, because a promise
 *   is made only once the term is on disk.
 * - A leadership transfer: voters do not wait then (`transfer` in the vote request). So a leader
 *   has no lease from before the timeout-now message is sent until the end of its term: the message
 *   may arrive late.
 * - Members with different election timeouts, or programs without promises: the voter itself states
 *   the length, and a response without a length promises nothing.
 * - Clocks with different rates: the leader counts on a tenth less than the promise. Voters count
 *   ticks: the driver passes at most a few missed ones at once, and a timeout of n ticks never
 *   takes less than n - 1 ticks of time. The leader uses monotonic time, which continues while its
 *   process is stalled. A clock that stops while the machine is suspended breaks this: do not use
 *   leases on such machines.
 * - Votes granted before the responses: a voter that granted a vote in a later term is in that
 *   term, and makes no promise to the leader of an earlier one.
 * - A configuration change: the quorum is that of the configuration in force, both halves of a
 *   joint one. The entry that adds a voter is committed by quorums of the old and of the new
 *   configuration. Their responses to it came after the start of the lease, so these voters
 *   withhold their votes beyond its end.
 *
 * The code that reads under the lease checks the clock and the lease again once it has the value:
 * the process may have stalled in between.
 */

/**
 * Returns whether this member must not vote for a new leader, because the current one may count on
 * its lease promise, or because a message of it came within an election timeout and it has not
 * ended. The target of a leadership transfer gets its vote regardless.
 */
export function isBoundByLease(state: State): boolean {
  if (ticksUntilPromiseEnds(state) > 0) return true
  return state.lease.silentTicks < state.config.electionTicks && !followsEndedLeader(state)
}

/** Returns the ticks until no leader may count on a promise of this member; 0: none may. */
export function ticksUntilPromiseEnds({ lease, config }: State): number {
  return Math.max(0, config.electionTicks - lease.promisedTicks, lease.formerPromiseTicks)
}

/**
 * Returns whether this member must not campaign because of a promise that an earlier process of it
 * may have made. A member that votes alone has made no promise to others.
 */
export function isBoundByFormerProcess(state: State): boolean {
  return state.lease.formerPromiseTicks > 0 && !votesAlone(state)
}

/** Handles a tick, in any role. */
export function tickLease({ lease }: State): void {
  lease.silentTicks++
  lease.promisedTicks++
  if (lease.formerPromiseTicks > 0) lease.formerPromiseTicks--
}

/** Returns the send time that heartbeats carry; undefined: this member wants no lease. */
export function leaseStart({ lease }: State): number | undefined {
  // Messages carry whole ms. An earlier start only shortens the lease.
  return lease.wanted ? Math.floor(lease.nowMs) : undefined
}

/** Returns the promise in the response to a heartbeat sent at `sentMs`; undefined: no promise. */
export function promiseFor(state: State, sentMs: number | undefined): LeasePromise | undefined {
  const promisedMs = state.config.leasePromiseMs ?? 0
  if (sentMs === undefined || promisedMs === 0) return undefined
  return state.outbox.durable.term === state.term ? { sentMs, promisedMs } : undefined
}

export function noteLeasePromise(progress: Progress, { sentMs, promisedMs }: LeasePromise): void {
  progress.leaseUntilMs = Math.max(progress.leaseUntilMs, endOf(sentMs, promisedMs))
}

/** Returns the end of this leader's lease on the clock of `Raft.setTime`; 0: no lease. */
export function leaseUntilMs(state: State): number {
  const { lease, config } = state
  if (state.role !== 'leader' || !lease.wanted || lease.endedByTransfer || state.transfer !== null) return 0
  // Until it has committed an entry of its term, the leader does not know the latest commit index
  // (thesis §6.4).
  if (!committedInTerm(state)) return 0
  const own = endOf(lease.nowMs, config.leasePromiseMs ?? 0)
  return quorumValue(configuration(state), (id) =>
    id === state.id ? own : (state.progress.get(id)?.leaseUntilMs ?? 0),
  )
}

/** Returns whether this member is the only voter in every configuration that may be in force. */
export function votesAlone(state: State): boolean {
  const { id, log, commit } = state
  if (!isVoterOf(configuration(state), id)) return false
  return !log.someConfigurationFrom(commit, ({ voters, votersOutgoing }) =>
    [...voters, ...(votersOutgoing ?? [])].some((voter) => voter !== id),
  )
}

function endOf(sentMs: number, promisedMs: number): number {
  return sentMs + promisedMs * (1 - leaseDriftMax)
}
