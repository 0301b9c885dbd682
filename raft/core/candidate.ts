import { assertNever } from '../base/assert.ts'
import { becomeFollower, becomeLeader } from './transitions.ts'
import { obeyTimeoutNow, standDown, standForOffice } from './election.ts'
import { hearLeader } from './follower.ts'
import type { Message } from './message.ts'
import { voteResult } from './quorum.ts'
import { configuration } from './state.ts'
import type { State } from './state.ts'
import type { NodeId, Term } from './types.ts'

/** How a candidate, or one that asks whether to be one, takes each message of its term. */
export function stepCandidate(state: State, message: Message): void {
  switch (message.kind) {
    case 'append-request':
    case 'heartbeat':
    case 'snapshot':
      // Somebody else won this term.
      becomeFollower(state, message.term, message.from)
      return hearLeader(state, message)
    case 'pre-vote-response':
      return notePreVote(state, message.from, message.term, message.granted)
    case 'vote-response':
      if (state.role === 'candidate') noteVote(state, message.from, message.granted)
      return
    case 'timeout-now':
      // It asks whether it could win just when the leader wants it to.
      if (state.role === 'pre-candidate') obeyTimeoutNow(state)
      return
    case 'append-accepted':
    case 'append-refused':
    case 'heartbeat-response':
      return
    case 'pre-vote-request':
    case 'vote-request':
      // Answered alike in every role, before the roles are asked.
      return
    default:
      return assertNever(message)
  }
}

/** Its own vote is on its disk: only now may it count. */
export function noteOwnVoteDurable(state: State): void {
  if (state.role !== 'candidate') return
  noteVote(state, state.id, true)
}

/**
 * Draws the conclusion from the answers so far. A candidate takes office only with its own vote durable, even
 * if the others suffice: else it could, after a crash, lead the same term again with another log.
 */
export function tallyVotes(state: State): void {
  const result = voteResult(configuration(state), (id) => state.votes.get(id))
  switch (result) {
    case 'pending':
      return
    case 'lost':
      return standDown(state)
    case 'won':
      if (state.role === 'pre-candidate') standForOffice(state, 'majority-would')
      else if (state.votes.get(state.id) === true) becomeLeader(state)
      return
    default:
      return assertNever(result)
  }
}

function notePreVote(state: State, from: NodeId, term: Term, granted: boolean): void {
  if (state.role !== 'pre-candidate') return
  // A grant for another term answers an older question.
  if (granted && term !== state.term + 1) return
  noteVote(state, from, granted)
}

function noteVote(state: State, from: NodeId, granted: boolean): void {
  if (state.votes.has(from)) return
  state.votes.set(from, granted)
  tallyVotes(state)
}
