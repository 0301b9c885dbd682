import { leaseDriftMax } from './config.ts'
import type { LeasePromise } from './message.ts'
import type { Progress } from './progress.ts'
import { quorumValue } from './quorum.ts'
import { committedInTerm, configuration, isVoterOf } from './state.ts'
import type { State } from './state.ts'

/*
 * How long a leader may read without asking anybody (thesis §6.4.1), and what makes that sound.
 *
 * Who answers a word of a leader helps nobody else into office for an election timeout from then on: it grants no vote
 * and no pre-vote (`withholdsVote`) and does not stand. It says with its answer how long that is, and which heartbeat it
 * answers. So once voters that make a quorum have answered a heartbeat sent at s, nobody else can be elected before the
 * shortest of their promises is over, counted from s: they made them later than that, and every quorum has one of them.
 * Until then every write anywhere is committed by this leader, and its commit index is the newest there is.
 *
 * What would break this, and why it does not:
 *
 * - A voter learns of a later term from somebody else: it withholds all the same, as it counts from the last word that it
 *   answered, whatever it has come to think of who leads.
 * - A voter restarts: it withholds for an election timeout from its start, or for the longest that a former process of it
 *   may have promised (`owedTicks`), whatever it hears meanwhile. One whose log is new (term 0) has promised
 *   nothing, as a promise is made only while its term is on disk.
 * - A leader asks another to take over: voters do not wait then (`transfer` in the vote request). So it has no lease from
 *   before that word leaves until its reign is over: the word may arrive late, and be obeyed then.
 * - Members wait for different times, or run programs that promise nothing: the length is the voter's own word, and none
 *   is no promise.
 * - Clocks run at different rates: the leader counts on a tenth less than it was promised. Voters count ticks, and a tick
 *   is never early by much and never made up for; the leader counts monotonic time, which goes on while it stands still.
 *   A clock that stands still while the machine is suspended is beyond this: no leases where machines are.
 * - Votes count that were granted before the answers: who is in a later term does not answer this leader, and who voted
 *   in a later term is in one.
 * - The configuration changes: the quorum is of the one in force, both halves of a joint one. A voter that comes is
 *   decided by the quorum of before and after, which answered for it after the lease began, and so withholds longer.
 *
 * The caller reads the clock, and the lease, again once the value is fixed: it may have stood still meanwhile.
 */

/**
 * Whether this member may help nobody into office: a leader may count on it. Whoever a leader asked to take over is helped all the
 * same.
 */
export function withholdsVote({ lease, config }: State): boolean {
  return lease.silentTicks < config.electionTicks || lease.owedTicks > 0
}

/** Whether a former process may have promised not to stand yet. Who votes alone promised it to nobody else. */
export function owesOldPromise(state: State): boolean {
  return state.lease.owedTicks > 0 && !votesAlone(state)
}

/** A tick passed, in whatever role. */
export function tickLease({ lease }: State): void {
  lease.silentTicks++
  if (lease.owedTicks > 0) lease.owedTicks--
}

/** When this member's heartbeats are sent, for those who answer; undefined: it wants no lease. */
export function leaseStart({ lease }: State): number | undefined {
  // Whole ms, the earlier.
  return lease.wanted ? Math.floor(lease.nowMs) : undefined
}

/** What goes with the answer to a heartbeat sent at `sentMs`; undefined: nothing is promised. */
export function promiseFor(state: State, sentMs: number | undefined): LeasePromise | undefined {
  const promisedMs = state.config.leasePromiseMs ?? 0
  if (sentMs === undefined || promisedMs === 0) return undefined
  return state.outbox.durable.term === state.term ? { sentMs, promisedMs } : undefined
}

export function noteLeasePromise(progress: Progress, { sentMs, promisedMs }: LeasePromise): void {
  progress.leaseUntilMs = Math.max(progress.leaseUntilMs, endOf(sentMs, promisedMs))
}

/** Until when this leader may read without asking, on the shell's clock; 0: it may not. */
export function leaseUntilMs(state: State): number {
  const { lease, config } = state
  if (state.role !== 'leader' || !lease.wanted || lease.givenAway || state.transfer !== null) return 0
  // Before, it does not know all that was committed (thesis §6.4).
  if (!committedInTerm(state)) return 0
  const own = endOf(lease.nowMs, config.leasePromiseMs ?? 0)
  return quorumValue(configuration(state), (id) =>
    id === state.id ? own : (state.progress.get(id)?.leaseUntilMs ?? 0),
  )
}

/** Whether nobody else votes, in any configuration that may be in force: then nobody waits for anybody. */
export function votesAlone(state: State): boolean {
  const { id, log, commit } = state
  if (!isVoterOf(configuration(state), id)) return false
  return !log.someUndecided(commit, ({ voters, votersOutgoing }) =>
    [...voters, ...(votersOutgoing ?? [])].some((voter) => voter !== id),
  )
}

function endOf(sentMs: number, promisedMs: number): number {
  return sentMs + promisedMs * (1 - leaseDriftMax)
}
