import { assertNever } from '../../base/assert.ts'
import { acceptLeader } from './follower.ts'
import { owesOldPromise, tickLease, withholdsVote } from './lease.ts'
import type { Message } from './message.ts'
import { voteResult } from './quorum.ts'
import { configuration, isVoterOf, sendAtOnce, sendOncePersisted } from './state.ts'
import type { State } from './state.ts'
import {
  becomeCandidate,
  becomeFollower,
  becomeLeader,
  becomePreCandidate,
  recordVote,
} from './transitions.ts'
import type { NodeId, Term } from './types.ts'

type Of<Kind extends Message['kind']> = Extract<Message, { kind: Kind }>

/** Time passes for everyone but a leader: who waited long enough in silence stands. */
export function tickElection(state: State): void {
  state.electionElapsed++
  tickLease(state)
  if (state.electionElapsed < state.electionDue) return
  // Who may not stand at least admits that it knows no leader: else it would seem to hold a lease again.
  if (mayCampaign(state) && !owesOldPromise(state)) preCampaign(state)
  else becomeFollower(state, state.term, null)
}

/** Begins with the question whether it could win (pre-vote). */
export function preCampaign(state: State): void {
  if (!mayCampaign(state)) return
  becomePreCandidate(state)
  const { lastIndex, lastTerm } = state.log
  for (const to of peersThatVote(state)) {
    // The term it would stand for; its own does not change by asking.
    const term = (state.term + 1) as Term
    sendAtOnce(state, { kind: 'pre-vote-request', from: state.id, to, term, lastIndex, lastTerm })
  }
  tallyVotes(state)
}

/**
 * Asks for votes once its term and the log it asks with are durable: a candidate that a crash takes back to
 * before it asked would ask again in the same term, with a shorter log, and count votes given to the longer.
 *
 * @param reason `transfer`: the leader asked for it, so voters need not wait out its lease
 */
export function campaign(state: State, reason: 'majority-would' | 'transfer'): void {
  becomeCandidate(state)
  const { lastIndex, lastTerm } = state.log
  for (const to of peersThatVote(state)) {
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
 * Voters stand. So does who is no voter any more in a configuration that is not known committed: it may be
 * the only one to have that entry, and then nobody else can win; once elected it commits the entry and steps
 * down (thesis §4.2.2). A member whose log is about to be replaced does not know what it would lead.
 */
function mayCampaign(state: State): boolean {
  if (state.role === 'leader' || state.log.restoring) return false
  return state.log.someUndecided(state.commit, (configuration) => isVoterOf(configuration, state.id))
}

/**
 * While a leader was heard of within an election timeout, nobody is helped to disturb it; nor right after a start, when this
 * member cannot know whether one was. A leader stands by itself as long as its quorum answers. Raft paper §6, thesis §4.2.3.
 */
export function inLeaderLease(state: State): boolean {
  return state.role === 'leader' || withholdsVote(state)
}

/**
 * Whoever asks is answered, learners included: who counts is the candidate's to know, whose configuration may
 * be newer than the one here.
 */
export function answerPreVote(state: State, message: Of<'pre-vote-request'>): void {
  const granted = message.term > state.term && state.log.admits(message.lastIndex, message.lastTerm)
  // A grant speaks of the term asked for; a refusal tells the asker ours.
  const term = granted ? message.term : state.term
  sendAtOnce(state, { kind: 'pre-vote-response', from: state.id, to: message.from, term, granted })
}

/** At equal term; the term gate made this member a follower if the candidate's was later. */
export function answerVote(state: State, message: Of<'vote-request'>): void {
  const again = state.vote === message.from
  // It came to this term by somebody else's word, and may be counted on by the leader before.
  if (!again && !message.transfer && state.role === 'follower' && withholdsVote(state)) return
  const free = again || (state.vote === null && state.leader === null)
  const granted = free && state.role === 'follower' && state.log.admits(message.lastIndex, message.lastTerm)
  const answer = { kind: 'vote-response', from: state.id, to: message.from, term: state.term } as const
  if (granted) {
    recordVote(state, message.from)
    sendOncePersisted(state, { ...answer, granted: true })
  } else {
    sendAtOnce(state, { ...answer, granted: false })
  }
}

/**
 * The leader asks this member to take over: it campaigns at once, without a pre-vote. One that is
 * asking for pre-votes just then does so too; a candidate campaigns already. Thesis §3.10.
 */
export function handleTimeoutNow(state: State): void {
  if (state.role !== 'candidate' && mayCampaign(state)) campaign(state, 'transfer')
}

/** Steps aside when an election cannot be won any more, and waits for the next. */
export function loseElection(state: State): void {
  becomeFollower(state, state.term, null)
}

function peersThatVote(state: State): readonly NodeId[] {
  const { voters, votersOutgoing } = configuration(state)
  const all = new Set([...voters, ...(votersOutgoing ?? [])])
  all.delete(state.id)
  return [...all].sort((a, b) => a - b)
}

/** How a candidate, or one that asks whether to be one, takes each message of its term. */
export function stepCandidate(state: State, message: Message): void {
  switch (message.kind) {
    case 'append-request':
    case 'heartbeat':
    case 'snapshot':
      // Somebody else won this term.
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

/** Its own vote is on its disk: only now may it count. */
export function noteOwnVoteDurable(state: State): void {
  if (state.role !== 'candidate') return
  noteVote(state, state.id, true)
}

/**
 * Draws the conclusion from the answers so far. A candidate takes office only with its own vote durable, even
 * if the others suffice: else it could, after a crash, lead the same term again with another log.
 */
function tallyVotes(state: State): void {
  const result = voteResult(configuration(state), (id) => state.votes.get(id))
  switch (result) {
    case 'pending':
      return
    case 'lost':
      return loseElection(state)
    case 'won':
      if (state.role === 'pre-candidate') campaign(state, 'majority-would')
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
