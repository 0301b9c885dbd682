import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gatherReady, notePersisted } from '../../../../raft/core/gather-ready.ts'
import { checkInvariants } from '../../../../raft/core/invariants.ts'
import type { Message } from '../../../../raft/core/message.ts'
import { Progress } from '../../../../raft/core/progress.ts'
import { newState } from '../../../../raft/core/state.ts'
import type { State } from '../../../../raft/core/state.ts'
import { step } from '../../../../raft/core/step.ts'
import { becomeCandidate, becomeLeader } from '../../../../raft/core/transitions.ts'
import { logIndex, nodeId, noIndex, term } from '../../../../raft/core/types.ts'
import { cluster } from '../../../scenario/member-infos.ts'
import { scenarioConfig } from '../../../scenario/world.ts'

/*
 * Goal: a member that contradicts itself stops: most checks of `invariants.ts` can fail.
 * Method: a valid leader, with one thing changed that the core would never change.
 */

const base = { index: logIndex(5), term: term(1), configuration: cluster([1, 2, 3]) }
const to2 = { from: nodeId(1), to: nodeId(2) }
const from2 = { from: nodeId(2), to: nodeId(1), term: term(2) }

/** Member 1 leads term 2 and has committed entry 6, the last one of its log. */
function leader(): State {
  const hardState = { term: term(1), vote: null, commit: base.index }
  const log = { base, configuration: base.configuration, configurations: [], termRuns: [] }
  const recovered = { hardState, ...log, lastIndex: base.index, lastTerm: base.term }
  const state = newState(scenarioConfig(nodeId(1), {}), recovered, base.index)
  becomeCandidate(state)
  work(state)
  step(state, { ...from2, kind: 'vote-response', granted: true })
  work(state)
  step(state, { ...from2, kind: 'append-accepted', index: logIndex(6) })
  state.applied = logIndex(6)
  work(state)
  return state
}

function work(state: State): void {
  const { persist } = gatherReady(state)
  if (persist !== null) notePersisted(state, persist.ticket)
  gatherReady(state)
}

function breaks(state: State, claim: string, leaving: readonly Message[] = []): void {
  assert.throws(() => checkInvariants(state, leaving), { name: 'BrokenInvariant', message: claim })
}

void test('a valid leader passes all checks', () => {
  const state = leader()
  assert.deepEqual([state.role, state.commit, state.log.lastIndex], ['leader', 6, 6])
  checkInvariants(state, [{ ...to2, kind: 'append-accepted', term: term(2), index: logIndex(6) }])
})

void test('term, commit index, applied index and vote never go back', () => {
  breaks({ ...leader(), term: term(1) }, 'no entry is of a later term')
  breaks({ ...leader(), commit: base.index, applied: base.index }, 'the applied index never goes back')
  breaks({ ...leader(), applied: base.index }, 'the applied index never goes back')
  breaks({ ...leader(), vote: nodeId(3), role: 'follower', leader: null }, 'one vote in a term')
  breaks({ ...leader(), vote: null, role: 'follower', leader: null }, 'one vote in a term')
  const state = leader()
  const past = { ...state.outbox.reported, applied: noIndex, commit: logIndex(7) }
  breaks({ ...state, outbox: { ...state.outbox, reported: past } }, 'the commit index never goes back')
  const later = { ...state.outbox.reported, term: term(3) }
  breaks({ ...state, outbox: { ...state.outbox, reported: later } }, 'terms never go back')
})

void test('applied is at most commit, commit is at most the last index, and the base is committed', () => {
  breaks({ ...leader(), applied: logIndex(7) }, 'applied <= commit')
  breaks({ ...leader(), commit: logIndex(9) }, 'commit <= last')
  breaks({ ...leader(), applied: noIndex, commit: noIndex }, 'only committed entries are compacted')
})

void test('committed entries never change, and a leader removes no entries', () => {
  const state = leader()
  state.log.truncateFrom(logIndex(6))
  breaks(state, 'commit <= last')
  state.log.append({ kind: 'empty', index: logIndex(6), term: base.term })
  breaks(state, 'committed entries never change')

  const longer = leader()
  longer.log.append({ kind: 'empty', index: logIndex(7), term: term(2) })
  work(longer)
  longer.log.truncateFrom(logIndex(7))
  breaks(longer, 'a leader only appends to its log')
})

void test('a leader is its own leader, tracks exactly the other members, and sends only existing entries', () => {
  breaks({ ...leader(), leader: nodeId(2) }, 'a leader knows itself')
  const state = leader()
  const durable = { term: term(2), vote: null }
  breaks({ ...state, outbox: { ...state.outbox, durable } }, "a leader's own vote is durable")
  const forgets = leader()
  forgets.progress.delete(nodeId(3))
  breaks(forgets, 'a leader tracks every member of the configuration in force')
  const knowsMore = leader()
  knowsMore.progress.set(nodeId(4), new Progress(nodeId(4), logIndex(7), knowsMore.config))
  breaks(knowsMore, 'a leader tracks no other member')
  const runsAhead = leader()
  runsAhead.progress.set(nodeId(3), new Progress(nodeId(3), logIndex(8), runsAhead.config))
  breaks(runsAhead, 'nothing beyond the log is sent')
})

void test('messages that depend on the disk are sent only after the write is durable', () => {
  const state = leader()
  const accepted: Message = { ...to2, kind: 'append-accepted', term: term(2), index: logIndex(7) }
  breaks(state, 'an accepted entry is durable', [accepted])
  const vote: Message = { ...to2, kind: 'vote-response', term: term(2), granted: true }
  breaks(state, 'a granted vote is durable before it is sent', [vote])
  checkInvariants(state, [{ ...vote, granted: false }])
  const durable = { term: term(1), vote: null }
  const last = { lastIndex: logIndex(6), lastTerm: term(2) }
  const candidate: State = { ...state, role: 'candidate', outbox: { ...state.outbox, durable } }
  const request: Message = { ...to2, kind: 'vote-request', term: term(2), ...last, transfer: false }
  breaks(candidate, "votes are requested only after the candidate's own vote is durable", [request])
})

void test('a candidate becomes leader only with a quorum of votes', () => {
  const state = leader()
  const candidate: State = { ...state, role: 'candidate', votes: new Map([[nodeId(1), true]]) }
  assert.throws(() => becomeLeader(candidate), { name: 'BrokenInvariant', message: 'a quorum voted for it' })
})
