import type { ResignAnswer } from './errors.ts'
import { otherVoters } from './state.ts'
import type { State } from './state.ts'
import { becomeFollower } from './transitions.ts'

/**
 * A leader that resigned waits for this many election timeouts more than usual before it campaigns
 * again: its followers leave its lease within one, and the slowest of them campaigns within two
 * more.
 */
const graceTimeouts = 3

/**
 * Steps down without a transfer target. To be called only if this leader cannot commit anything. It
 * does not know whether the other members can elect a leader, so it lets them try for a bounded
 * time, and campaigns again if they did not. In the meantime it votes as usual; a later term ends
 * the wait. CheckQuorum (thesis §6.2) does the same for a leader without responses; this leader
 * gets responses, but too few of them from members that can commit.
 */
export function resign(state: State): ResignAnswer {
  if (state.role !== 'leader') return { kind: 'refused', reason: 'not-leader' }
  if (otherVoters(state).length === 0) return { kind: 'refused', reason: 'votes-alone' }
  becomeFollower(state, state.term, null)
  state.electionDue += graceTimeouts * state.config.electionTicks
  return { kind: 'accepted' }
}
