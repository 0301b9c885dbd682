import type { CoreConfig } from './config.ts'
import { committedInTerm, isVoter } from './state.ts'
import type { State } from './state.ts'

/*
 * A cluster without writes sends fewer heartbeats, because these are nearly all that it does.
 *
 * Once nothing was written for a while and every follower has the whole log, heartbeats announce
 * that the next one may come later ("quiet"). A follower that receives such a heartbeat waits
 * longer by the difference before it campaigns or votes for another member, and confirms this in
 * its response. When every follower has confirmed, the leader sends heartbeats at the longer
 * interval. Any entry, configuration change or lost connection ends this at once: each other
 * message of the leader restores the usual timeouts of the member that receives it. So does a delay
 * of the leader's own thread, which could make a rare heartbeat too late.
 *
 * - Safety does not depend on it: timeouts only get longer, for campaigning as for voting, so the
 *   promise of a lease holds (`lease.ts`). A leader that wants a lease is not quiet, because its
 *   lease would end between two heartbeats.
 * - A member that does not know this, or has it turned off, never confirms: then the leader keeps
 *   the usual interval.
 * - A leader that fails while it is quiet is noticed later by the difference, unless a client waits
 *   for it: see `expectLeader`.
 */

/** The ticks by which a follower waits longer after a quiet heartbeat. 0: never quiet. */
export function graceTicks({ quietHeartbeatTicks, heartbeatTicks }: CoreConfig): number {
  return Math.max(0, (quietHeartbeatTicks ?? heartbeatTicks) - heartbeatTicks)
}

/** Handles a tick of the leader. */
export function tickCalm(state: State): void {
  if (isCalm(state)) state.calmTicks++
  else endCalm(state)
}

/** Ends the quiet time of a leader, because it has something to replicate. */
export function endCalm(state: State): void {
  state.calmTicks = 0
  for (const progress of state.progress.values()) {
    progress.confirmedQuiet = false
    progress.silentTicks = Math.max(0, progress.silentTicks)
  }
}

/** Returns whether the heartbeats of this leader announce that later ones are rare. */
export function isQuiet({ config, calmTicks }: State): boolean {
  return graceTicks(config) > 0 && calmTicks >= 2 * (config.quietHeartbeatTicks ?? 0)
}

/** Returns the ticks between two heartbeats of this leader. */
export function heartbeatInterval(state: State): number {
  const { heartbeatTicks, quietHeartbeatTicks = heartbeatTicks } = state.config
  // A lost heartbeat of a read round is sent again without delay.
  if (!isQuiet(state) || state.reads.rounds.length > 0) return heartbeatTicks
  for (const { confirmedQuiet } of state.progress.values()) if (!confirmedQuiet) return heartbeatTicks
  return quietHeartbeatTicks
}

/** Handles a quiet heartbeat of the leader. @returns whether this member waits longer now */
export function acceptQuiet(state: State): boolean {
  const grace = graceTicks(state.config)
  state.electionElapsed = -grace
  state.lease.silentTicks = -grace
  return grace > 0
}

/** A client of this follower waits for its leader: if that failed, the usual timeouts apply. */
export function expectLeader(state: State): void {
  // A learner does not campaign, and a leader that votes alone answers reads without a heartbeat.
  if (state.role !== 'follower' || !isVoter(state, state.id)) return
  state.electionElapsed = Math.max(0, state.electionElapsed)
  state.lease.silentTicks = Math.max(0, state.lease.silentTicks)
}

function isCalm(state: State): boolean {
  const { log, commit, transfer, lease } = state
  if (lease.wanted || transfer !== null || log.lastIndex !== commit || !committedInTerm(state)) return false
  for (const progress of state.progress.values()) {
    const hasAll = progress.state === 'replicate' && progress.match === log.lastIndex
    if (!hasAll || !progress.recentlyActive) return false
  }
  return true
}
