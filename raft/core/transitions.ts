import { assert } from '../../base/assert.ts'
import { isQuorum } from './quorum.ts'
import { abandonReads } from './read-index.ts'
import type { Role } from './ready.ts'
import { appendOwn, trackFollowers } from './replication.ts'
import { configuration } from './state.ts'
import type { State } from './state.ts'
import { noIndex } from './types.ts'
import type { LogIndex, NodeId, Term } from './types.ts'

/*
 * The transitions between roles. Nothing else writes role, term, vote and leader.
 *
 *                      timeout                pre-vote won              own vote durable
 *     follower ──────────────► pre-candidate ────────────► candidate ───────────────────► leader
 *        ▲                          │                          │      and a majority         │
 *        └──────────────────────────┴──────────────────────────┴────────────────────────────┘
 *            a later term, a leader of this term, a lost election, no contact with a quorum
 *
 * Further causes: a leader resigns or is no longer a voter; a pre-candidate that campaigns early
 * helps a rival; a timeout passes while the member may not campaign.
 *
 * On a timeout-now message a follower or pre-candidate becomes candidate directly.
 */

type Writable = { role: Role; term: Term; vote: NodeId | null; leader: NodeId | null }

/** @param leader the leader of `term` if known */
export function becomeFollower(state: State, term: Term, leader: NodeId | null): void {
  assert(term >= state.term, 'terms never go back')
  const sameTerm = term === state.term
  assert(!sameTerm || leader === null || state.role !== 'leader', 'a term has one leader')
  const known = sameTerm && state.leader !== state.id ? state.leader : null
  assert(known === null || leader === null || known === leader, 'a term has one leader')
  resetRoleState(state)
  const own: Writable = state
  if (!sameTerm) own.vote = null
  own.term = term
  own.role = 'follower'
  own.leader = leader
}

/** Starts a pre-vote, which does not disturb other members with a new term. Thesis §9.6. */
export function becomePreCandidate(state: State): void {
  assert(state.role !== 'leader', 'a leader does not campaign')
  resetRoleState(state)
  const own: Writable = state
  own.role = 'pre-candidate'
  own.leader = null
  // Its own pre-vote needs no durability, so it counts at once.
  state.votes.set(state.id, true)
}

/**
 * Starts an election. Its own vote counts once it is durable, so `votes` does not contain it yet.
 */
export function becomeCandidate(state: State): void {
  assert(state.role !== 'leader', 'a leader does not campaign')
  resetRoleState(state)
  const own: Writable = state
  own.term = (state.term + 1) as Term
  own.vote = state.id
  own.role = 'candidate'
  own.leader = null
}

export function becomeLeader(state: State): void {
  assert(state.role === 'candidate', 'only a candidate becomes leader')
  assert(state.votes.get(state.id) === true, 'its own vote is durable')
  assert(
    isQuorum(configuration(state), (id) => state.votes.get(id) === true),
    'a quorum voted for it',
  )
  resetRoleState(state)
  const own: Writable = state
  own.role = 'leader'
  own.leader = state.id
  trackFollowers(state)
  state.leaderTermStart = (state.log.lastIndex + 1) as LogIndex
  appendOwn(state, [{ index: state.leaderTermStart, term: state.term, kind: 'empty' }])
}

/** Records a granted vote, which must be durable before it is sent; see `sendOncePersisted`. */
export function recordVote(state: State, candidate: NodeId): void {
  assert(state.role === 'follower', 'only a follower votes for others')
  assert(state.vote === null || state.vote === candidate, 'one vote in a term')
  const own: Writable = state
  own.vote = candidate
  state.electionElapsed = 0
}

/** Resets the state of the previous role, and draws the next election timeout. */
function resetRoleState(state: State): void {
  state.electionElapsed = 0
  state.heartbeatElapsed = 0
  state.calmTicks = 0
  state.electionDue = state.config.electionTicks + state.config.random.below(state.config.electionTicks)
  state.acceptedTo = noIndex
  state.votes.clear()
  state.progress.clear()
  state.uncommittedBytes = 0
  state.transfer = null
  state.lease.endedByTransfer = false
  state.fetching.clear()
  state.contactCounted = false
  state.outbox.snapshotsToSend = []
  state.outbox.fetches = []
  abandonReads(state)
}
