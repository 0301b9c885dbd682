import type { CoreConfig } from './config.ts'
import { committedInTerm, hasUrgentReads, isVoter } from './state.ts'
import type { State } from './state.ts'

/*
 * A cluster without writes sends fewer heartbeats, because they cause most of its load.
 *
 * Once nothing has been written for a while and every follower has the whole log, heartbeats
 * announce that the next one may come later ("quiet"). A follower that receives such a heartbeat
 * waits longer before it campaigns or votes for another member, so long that one lost heartbeat
 * changes nothing, and confirms this in its response. When every follower has confirmed, the
 * leader sends heartbeats at the longer interval. The quiet time ends with an entry, a
 * configuration change, a transfer of leadership, a leader that wants a lease, a follower that lags
 * or does not respond, a lost connection, or a delay of the leader's own thread, which could make a
 * rare heartbeat too late. Then the leader sends usual heartbeats again, and each of its messages
 * restores the usual timeouts of the follower that receives it.
 *
 * - Safety does not depend on this: timeouts only get longer, for campaigning as for voting, so the
 *   promise of a lease holds (`lease.ts`). A leader that wants a lease is not quiet, because its
 *   lease would end between two heartbeats.
 * - A member that does not support quiet heartbeats, or has them turned off, never confirms: then
 *   the leader keeps the usual interval.
 * - The failure of a quiet leader is detected later by `graceTicks`, unless its connections end or
 *   a client waits for the leader: see `expectLeader`. A leader waits as long for the responses to
 *   its heartbeats: timers for shorter times would be set and cancelled at each heartbeat, and
 *   each of them would wake the process all the same.
 */

/** The ticks by which a member waits longer after a quiet heartbeat. 0: never quiet. */
export function graceTicks({ quietHeartbeatTicks = 0, heartbeatTicks }: CoreConfig): number {
  return quietHeartbeatTicks > heartbeatTicks ? 2 * quietHeartbeatTicks - heartbeatTicks : 0
}

/** Handles a tick on the leader: counts the ticks without work. */
export function tickCalm(state: State): void {
  if (isCalm(state)) state.calmTicks++
  else endCalm(state)
}

/** Ends the quiet time of a leader, because it has work or was delayed. */
export function endCalm(state: State): void {
  state.calmTicks = 0
  for (const progress of state.progress.values()) {
    progress.confirmedQuiet = false
    progress.silentTicks = Math.max(0, progress.silentTicks)
  }
}

/** Returns whether the heartbeats of this leader announce that the next one may come later. */
export function isQuiet({ config, calmTicks }: State): boolean {
  return graceTicks(config) > 0 && calmTicks >= (config.quietHeartbeatTicks ?? 0)
}

/** Returns the ticks between two heartbeats of this leader. */
export function heartbeatInterval(state: State): number {
  const { heartbeatTicks, quietHeartbeatTicks = heartbeatTicks } = state.config
  // While an urgent read waits, a heartbeat that was lost is repeated after the usual interval.
  if (!isQuiet(state) || hasUrgentReads(state)) return heartbeatTicks
  for (const { confirmedQuiet } of state.progress.values()) if (!confirmedQuiet) return heartbeatTicks
  return quietHeartbeatTicks
}

/**
 * Returns the ticks until this leader sends heartbeats, or until its quiet time ends, which
 * restores the usual timeouts: ticks that passed before must not count against these.
 */
export function ticksUntilHeartbeat(state: State): number {
  let ticks = heartbeatInterval(state) - state.heartbeatElapsed
  if (!isQuiet(state)) return ticks
  if (!isCalm(state)) return 1
  for (const progress of state.progress.values()) ticks = Math.min(ticks, progress.ticksUntilInactive)
  return ticks
}

/** Handles a quiet heartbeat of the leader. Returns whether this member waits longer now. */
export function acceptQuiet(state: State): boolean {
  const grace = graceTicks(state.config)
  state.electionElapsed = -grace
  state.lease.silentTicks = -grace
  return grace > 0
}

/**
 * Restores the usual timeouts of this follower, because a client waits for the leader, which may
 * have failed.
 */
export function expectLeader(state: State): void {
  // A learner does not campaign. A usual timeout would only make it forget a healthy leader: one
  // that votes alone answers reads without a heartbeat.
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
