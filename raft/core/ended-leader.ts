import { ticksUntilPromiseEnds } from './lease.ts'
import { expectLeader } from './quiet.ts'
import { followsEndedLeader, otherVoters } from './state.ts'
import type { State } from './state.ts'
import type { NodeId } from './types.ts'

/*
 * An early campaign: the process of the leader ended, so its followers do not wait for an election
 * timeout.
 *
 * A process that ends closes its connections. The transport then reports that the peer has ended:
 * no connection to or from it exists, and it did not accept a new one. This is evidence and not
 * proof, so everything else stays as in a usual election:
 *
 * - The follower asks for pre-votes first. A voter that still has a connection to the leader
 *   ignores them (`isBoundByLease`), so a broken link between a follower and a living leader
 *   deposes no leader. A quorum that lost its leader elects another one, even if that leader is
 *   alive: it could not commit anything.
 * - A voter that made a lease promise keeps it, and does not campaign before its end.
 * - The followers campaign one after the other, in the order of their IDs, so that they do not
 *   split the vote. Of two pre-candidates, the one with the older log helps the other and gives up;
 *   of two with equal logs, the one with the higher ID.
 * - A member that took part in an election of a later term waits for its election timeout, so that
 *   a candidate with a slow disk can win.
 * - After two election timeouts without the leader only the usual rules count. So a minority does
 *   not send requests all the time, and a pre-candidate that cannot win, because some links are
 *   broken, helps one that can, whatever their IDs are.
 */

/**
 * The ticks between the early campaigns of two members with consecutive IDs. The one with the
 * lowest ID campaigns again after as many.
 */
const TICKS_BETWEEN = 2

/** Early campaigns end after this many election timeouts without a message of the leader. */
const SILENT_TIMEOUTS_MAX = 2

/** Handles the report of the transport that a peer has ended, or that it is connected again. */
export function noteEnded(state: State, peer: NodeId, hasEnded: boolean): void {
  if (!hasEnded) {
    state.ended.delete(peer)
    return
  }
  state.ended.add(peer)
  if (!followsEndedLeader(state)) return
  expectLeader(state)
  state.earlyElapsed = TICKS_BETWEEN
}

/**
 * Returns the ticks until this member campaigns early, if it may campaign; 0 or less: now;
 * Infinity: it does not.
 */
export function ticksUntilEarlyCampaign(state: State): number {
  if (!campaignsEarly(state)) return Infinity
  return Math.max(TICKS_BETWEEN * (1 + rank(state)) - state.earlyElapsed, ticksUntilPromiseEnds(state))
}

/** Returns whether this member is a pre-candidate that campaigns early. */
export function isEarlyPreCandidate(state: State): boolean {
  return state.role === 'pre-candidate' && campaignsEarly(state)
}

function campaignsEarly(state: State): boolean {
  if (state.role !== 'follower' && state.role !== 'pre-candidate') return false
  if (state.lease.silentTicks >= SILENT_TIMEOUTS_MAX * state.config.electionTicks) return false
  return followsEndedLeader(state) && state.followed?.term === state.term
}

/** Returns the number of the other voters with lower IDs, without the leader that has ended. */
function rank(state: State): number {
  return otherVoters(state).filter((id) => id < state.id && id !== state.followed?.leader).length
}
