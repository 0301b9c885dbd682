import { assertNever } from '../../base/assert.ts'
import { isEarlyPreCandidate, ticksUntilEarlyCampaign } from './ended-leader.ts'
import { acceptLeader } from './follower.ts'
import { isBoundByFormerProcess, tickLease, isBoundByLease } from './lease.ts'
import type { Message, MessageOf } from './message.ts'
import { voteResult } from './quorum.ts'
import { configuration, isVoterOf, otherVoters, sendAtOnce, sendOncePersisted } from './state.ts'
import type { State } from './state.ts'
import {
  becomeCandidate,
  becomeFollower,
  becomeLeader,
  becomePreCandidate,
  recordVote,
} from './transitions.ts'
import type { NodeId, Term } from './types.ts'

/**
 * Handles a tick on a member that does not lead: it campaigns once the election timeout has passed,
 * or earlier if its leader has ended.
 */
export function tickElection(state: State): void {
  state.electionElapsed++
  state.earlyElapsed++
  tickLease(state)
  if (campaignEarly(state)) return
  if (state.electionElapsed < state.electionDue) return
  // A member that may not campaign still forgets its leader, so that it does not report a leader
  // that may be gone.
  if (mayCampaign(state) && !isBoundByFormerProcess(state)) preCampaign(state)
  else becomeFollower(state, state.term, null)
}

/**
 * Campaigns if the leader has ended and it is the turn of this member. Returns whether it does.
 */
export function campaignEarly(state: State): boolean {
  if (ticksUntilEarlyCampaign(state) > 0 || !mayCampaign(state)) return false
  preCampaign(state)
  return true
}

/** Starts a pre-vote, which asks whether this member could win an election. */
export function preCampaign(state: State): void {
  if (!mayCampaign(state)) return
  becomePreCandidate(state)
  state.earlyElapsed = 0
  const { lastIndex, lastTerm } = state.log
  for (const to of otherVoters(state)) {
    // The term of the possible campaign. A pre-vote does not change the term of this member.
    const term = (state.term + 1) as Term
    sendAtOnce(state, { kind: 'pre-vote-request', from: state.id, to, term, lastIndex, lastTerm })
  }
  tallyVotes(state)
}

/**
 * Requests votes once the term and the log that the request describes are durable. Otherwise a
 * candidate that crashes could request votes again in the same term with a shorter log, and count
 * votes that were granted to the longer one.
 *
 * @param reason `transfer`: the leader requested it, so voters need not wait out its lease
 */
export function campaign(state: State, reason: 'pre-vote-won' | 'transfer'): void {
  becomeCandidate(state)
  const { lastIndex, lastTerm } = state.log
  for (const to of otherVoters(state)) {
    sendOncePersisted(state, {
      kind: 'vote-request',
      from: state.id,
      to,
      term: state.term,
      lastIndex,
      lastTerm,
      transfer: reason === 'transfer',
    })
  }
}

/**
 * Returns whether this member may campaign. Voters may. So may a member whose vote an uncommitted
 * configuration removes: it may be the only one with that entry, and then no other can win; once
 * elected it commits the entry and steps down (thesis §4.2.2). A member whose log is about to be
 * replaced may not, because its log is not known.
 */
function mayCampaign(state: State): boolean {
  if (state.role === 'leader' || state.log.restoring) return false
  return state.log.someConfigurationFrom(state.commit, (configuration) => isVoterOf(configuration, state.id))
}

/**
 * Returns whether this member must not help to replace a leader. It does not for an election
 * timeout after the last contact with that leader, unless the leader has ended and may not count on
 * a lease promise of this member. The same holds after a start, because an earlier contact is not
 * known then. A leader does not help to replace itself. Raft paper §6, thesis §4.2.3.
 */
export function inLeaderLease(state: State): boolean {
  return state.role === 'leader' || isBoundByLease(state)
}

/**
 * Answers any candidate, on a learner as well: the configuration of the candidate decides whose
 * votes count, and it may be newer than the one of this member. Only a rival with a higher ID gets
 * no answer (`ended-leader.ts`).
 */
export function answerPreVote(state: State, message: MessageOf<'pre-vote-request'>): void {
  const { lastIndex, lastTerm } = state.log
  const isEqual = message.lastIndex === lastIndex && message.lastTerm === lastTerm
  const isRival = isEarlyPreCandidate(state)
  const granted = message.term > state.term && state.log.isUpToDate(message.lastIndex, message.lastTerm)
  if (granted && isRival && isEqual && state.id < message.from) return
  if (granted) {
    state.earlyElapsed = 0
    if (isRival) becomeFollower(state, state.term, null)
  }
  // A grant carries the requested term; a refusal carries the term of this member.
  const term = granted ? message.term : state.term
  sendAtOnce(state, { kind: 'pre-vote-response', from: state.id, to: message.from, term, granted })
}

/**
 * Handles a vote request of the current term; if the candidate's term was later, this member became
 * a follower before.
 */
export function answerVote(state: State, message: MessageOf<'vote-request'>): void {
  const again = state.vote === message.from
  // Another member raised the term of this one, and the previous leader may still count on the
  // lease promise of this member.
  if (!again && !message.transfer && state.role === 'follower' && isBoundByLease(state)) return
  const free = again || (state.vote === null && state.leader === null)
  const granted =
    free && state.role === 'follower' && state.log.isUpToDate(message.lastIndex, message.lastTerm)
  const answer = { kind: 'vote-response', from: state.id, to: message.from, term: state.term } as const
  if (granted) {
    recordVote(state, message.from)
    sendOncePersisted(state, { ...answer, granted: true })
  } else {
    sendAtOnce(state, { ...answer, granted: false })
  }
}

/**
 * Campaigns at once, without a pre-vote, because the leader requests it. A candidate campaigns
 * already. Thesis §3.10.
 */
export function handleTimeoutNow(state: State): void {
  if (state.role !== 'candidate' && mayCampaign(state)) campaign(state, 'transfer')
}

/** Becomes a follower when the election cannot be won. */
function loseElection(state: State): void {
  becomeFollower(state, state.term, null)
}

/**
 * Handles a message of the current term, or a granted pre-vote of the next one, on a candidate or
 * pre-candidate.
 */
export function stepCandidate(state: State, message: Message): void {
  switch (message.kind) {
    case 'append-request':
    case 'heartbeat':
    case 'snapshot':
      // Another member won this term.
      becomeFollower(state, message.term, message.from)
      return acceptLeader(state, message)
    case 'pre-vote-response':
      return notePreVote(state, message.from, message.term, message.granted)
    case 'vote-response':
      if (state.role === 'candidate') noteVote(state, message.from, message.granted)
      return
    case 'append-accepted':
    case 'append-refused':
    case 'heartbeat-response':
      return
    case 'pre-vote-request':
    case 'vote-request':
    case 'timeout-now':
      // Handled before the role is considered.
      return
    default:
      return assertNever(message)
  }
}

/** Counts the vote of this candidate for itself, which is durable now. */
export function noteOwnVoteDurable(state: State): void {
  if (state.role !== 'candidate') return
  noteVote(state, state.id, true)
}

/**
 * Evaluates the votes so far. A candidate becomes leader only once its own vote is durable, even if
 * the other votes suffice. Otherwise it could lead the same term again after a crash, with another
 * log.
 */
function tallyVotes(state: State): void {
  const result = voteResult(configuration(state), (id) => state.votes.get(id))
  switch (result) {
    case 'pending':
      return
    case 'lost':
      return loseElection(state)
    case 'won':
      if (state.role === 'pre-candidate') campaign(state, 'pre-vote-won')
      else if (state.votes.get(state.id) === true) becomeLeader(state)
      return
    default:
      return assertNever(result)
  }
}

function notePreVote(state: State, from: NodeId, term: Term, granted: boolean): void {
  if (state.role !== 'pre-candidate') return
  // A grant for another term answers an older request.
  if (granted && term !== state.term + 1) return
  noteVote(state, from, granted)
}

function noteVote(state: State, from: NodeId, granted: boolean): void {
  if (state.votes.has(from)) return
  state.votes.set(from, granted)
  tallyVotes(state)
}
