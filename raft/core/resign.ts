import type { ResignAnswer } from './errors.ts'
import { configuration } from './state.ts'
import type { State } from './state.ts'
import { becomeFollower } from './transitions.ts'

/**
 * So many election timeouts longer than usual a leader that resigned waits before it stands again:
 * its followers fall out of its lease within one, and the slowest of them stands within two more.
 */
const graceTimeouts = 3

/**
 * Steps down without an heir. To be asked only where this office is of no use: nothing tells a
 * leader whether the others can elect one, so it makes room for them for a bounded time, and stands
 * again when they did not. Meanwhile it votes like anybody. Whoever leads, or a vote it gives, ends
 * the grace like any wait. Check-quorum (thesis §6.2) is the same step for a leader that nobody
 * answers; this one is answered, but by too few who could commit anything.
 */
export function resign(state: State): ResignAnswer {
  if (state.role !== 'leader') return { kind: 'refused', reason: 'not-leader' }
  const { voters, votersOutgoing } = configuration(state)
  const others = [...voters, ...(votersOutgoing ?? [])].some((id) => id !== state.id)
  if (!others) return { kind: 'refused', reason: 'votes-alone' }
  becomeFollower(state, state.term, null)
  state.electionDue += graceTimeouts * state.config.electionTicks
  return { kind: 'accepted' }
}
