import { assertNever } from '../../base/assert.ts'
import { becomeFollower } from './transitions.ts'
import { answerPreVote, answerVote, handleTimeoutNow, inLeaderLease, stepCandidate } from './election.ts'
import { stepFollower } from './follower.ts'
import { stepLeader } from './leader.ts'
import type { Message } from './message.ts'
import { sendAtOnce } from './state.ts'
import type { State } from './state.ts'
import { violationOf } from './violation.ts'

/**
 * Handles one message: checks it for impossible claims, then its term, then calls the handler of
 * the role.
 *
 * @returns why the message was refused, in one line; null when it was handled or ignored
 */
export function step(state: State, message: Message): string | null {
  // The message is meant for another member at this address, or it is this member's own.
  if (message.to !== state.id || message.from === state.id) return null
  const violation = violationOf(state, message)
  if (violation === null) take(state, message)
  return violation
}

function take(state: State, message: Message): void {
  if (message.term < state.term) return answerStale(state, message)
  if (message.term > state.term && !admitLaterTerm(state, message)) return

  switch (message.kind) {
    case 'pre-vote-request':
      return answerPreVote(state, message)
    case 'vote-request':
      return answerVote(state, message)
    case 'timeout-now':
      return handleTimeoutNow(state)
    default:
      break
  }
  switch (state.role) {
    case 'follower':
      return stepFollower(state, message)
    case 'pre-candidate':
    case 'candidate':
      return stepCandidate(state, message)
    case 'leader':
      return stepLeader(state, message)
    default:
      return assertNever(state.role)
  }
}

/**
 * Handles the term of a message of a later term.
 *
 * @returns false when the message is to be ignored
 */
function admitLaterTerm(state: State, message: Message): boolean {
  switch (message.kind) {
    case 'pre-vote-request':
      return !inLeaderLease(state)
    case 'pre-vote-response':
      // A grant carries the requested term. It does not change the term of this member.
      if (!message.granted) becomeFollower(state, message.term, null)
      return true
    case 'vote-request':
      if (inLeaderLease(state) && !message.transfer) return false
      becomeFollower(state, message.term, null)
      return true
    case 'append-request':
    case 'heartbeat':
    case 'snapshot':
    case 'timeout-now':
      becomeFollower(state, message.term, message.from)
      return true
    case 'vote-response':
    case 'append-accepted':
    case 'append-refused':
    case 'heartbeat-response':
      becomeFollower(state, message.term, null)
      return true
    default:
      return assertNever(message)
  }
}

/**
 * Sends the current term to a member in an earlier one. A stale leader then steps down. Without
 * this response the members in contact with that leader would keep ignoring this member's
 * pre-votes.
 */
function answerStale(state: State, message: Message): void {
  const answer = { from: state.id, to: message.from, term: state.term }
  switch (message.kind) {
    case 'append-request':
    case 'heartbeat':
    case 'snapshot':
      return sendAtOnce(state, { kind: 'heartbeat-response', ...answer, context: null })
    case 'pre-vote-request':
      return sendAtOnce(state, { kind: 'pre-vote-response', ...answer, granted: false })
    case 'vote-request':
      return sendAtOnce(state, { kind: 'vote-response', ...answer, granted: false })
    case 'pre-vote-response':
    case 'vote-response':
    case 'append-accepted':
    case 'append-refused':
    case 'heartbeat-response':
    case 'timeout-now':
      return
    default:
      return assertNever(message)
  }
}
