import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message } from '../../../../raft/core/message.ts'
import { logIndex, nodeId, term } from '../../../../raft/core/types.ts'
import { cluster } from '../../../scenario/member-infos.ts'
import { Solo } from './solo.ts'

/*
 * Goal: rules of figure 2 of the Raft paper, one by one, and receiver's rules of figure 13.
 * Method: one core with scripted peers. The transcripts show the rules between members.
 */

const two = { from: nodeId(2), to: nodeId(1) }

function voteRequest(at: number, lastIndex = 0, lastTerm = 0): Message {
  const last = { lastIndex: logIndex(lastIndex), lastTerm: term(lastTerm) }
  return { kind: 'vote-request', ...two, term: term(at), ...last, transfer: false }
}

void test('paper figure 2, state: term, vote and log are durable before a response that depends on them', () => {
  const solo = new Solo()
  solo.manual = true
  solo.receive(voteRequest(3))
  assert.deepEqual(solo.take(), [])
  solo.finishWrite()
  assert.deepEqual([solo.member.disk.hardState.term, solo.member.disk.hardState.vote], [3, 2])
  assert.equal(solo.takeOnly('vote-response').granted, true)
  solo.receive(solo.append(2, 3, [3], 0, 0))
  assert.deepEqual(solo.take(), [])
  solo.finishWrite()
  assert.equal(solo.member.disk.entries.length, 1)
  assert.equal(solo.takeOnly('append-accepted').index, 1)
})

void test('paper figure 2, state: a new leader sets next to the end of its log and match to zero', () => {
  const solo = new Solo({ log: [1, 1, 1], term: 1 })
  solo.lead([2], 'silent')
  const followers = solo.raft.status().followers.map(({ match, next }) => [match, next])
  assert.deepEqual(followers, [
    [0, 4],
    [0, 4],
  ])
})

void test('paper figure 2, append 1: an append of an earlier term is refused', () => {
  const solo = new Solo({ term: 4, log: [1] })
  solo.receive(solo.append(2, 3, [1, 3], 1, 0))
  assert.deepEqual([solo.terms(), solo.takeOnly('heartbeat-response').term], [[1], 4])
})

void test('paper figure 2, append 2: an append after a missing entry is refused', () => {
  const solo = new Solo({ term: 4, log: [1] })
  solo.receive(solo.append(2, 4, [1, 4, 4], 2, 0))
  const { index, hintIndex, hintTerm } = solo.takeOnly('append-refused')
  assert.deepEqual([solo.terms(), index, hintIndex, hintTerm], [[1], 2, 1, 1])
})

void test('paper figure 2, append 3: a conflicting entry and all that follow it are removed', () => {
  const solo = new Solo({ term: 4, log: [1, 2, 2, 2] })
  solo.receive(solo.append(2, 4, [1, 3], 1, 0))
  assert.deepEqual(solo.terms(), [1, 3])
})

void test('paper figure 2, append 4: existing entries are not appended again', () => {
  const solo = new Solo({ term: 4, log: [1, 2] })
  solo.receive(solo.append(2, 4, [1, 2, 4], 0, 0))
  assert.deepEqual([solo.terms(), solo.takeOnly('append-accepted').index], [[1, 2, 4], 3])
})

void test('paper figure 2, append 5: a follower commits up to the last entry that the append matched', () => {
  const solo = new Solo({ term: 4, log: [1, 1, 1, 1] })
  solo.receive(solo.append(2, 4, [1, 1, 1], 2, 9))
  assert.equal(solo.raft.commit, 3)
  solo.receive(solo.append(2, 4, [1], 1, 1))
  assert.equal(solo.raft.commit, 3, 'and never decreases')
})

void test('paper figure 2, vote 1: a vote request of an earlier term is refused', () => {
  const solo = new Solo({ term: 4 })
  solo.receive(voteRequest(3, 9, 3))
  const { granted, term: at } = solo.takeOnly('vote-response')
  assert.deepEqual([granted, at], [false, 4])
})

void test('paper figure 2, vote 2: an unused vote is granted to a candidate whose log is at least as up-to-date', () => {
  const cases = [
    { vote: undefined, last: [3, 2], granted: true },
    { vote: 2, last: [3, 2], granted: true },
    { vote: 3, last: [3, 2], granted: false },
    { vote: undefined, last: [2, 2], granted: false },
    { vote: undefined, last: [9, 1], granted: false },
  ] as const
  for (const { vote, last, granted } of cases) {
    const solo = new Solo({ term: 4, log: [1, 2, 2], ...(vote === undefined ? {} : { vote }) })
    solo.receive(voteRequest(4, ...last))
    assert.equal(solo.takeOnly('vote-response').granted, granted, `vote ${vote}, last ${last.join('/')}`)
  }
})

void test('paper figure 2, all servers 1: committed entries are applied once and in order', () => {
  const solo = new Solo()
  solo.raft.step(solo.append(2, 1, [1, 1, 1], 0, 2))
  assert.equal(solo.raft.ready().commit, 2)
  assert.equal(solo.raft.ready().commit, null)
  solo.raft.step(solo.append(2, 1, [1, 1, 1], 3, 3))
  assert.equal(solo.raft.ready().commit, 3)
})

void test('paper figure 2, all servers 2: messages of a later term make a member a follower of that term', () => {
  const at = { ...two, term: term(7) }
  const last = { lastIndex: logIndex(0), lastTerm: term(0) }
  const messages: readonly Message[] = [
    {
      kind: 'append-request',
      ...at,
      previousIndex: logIndex(0),
      previousTerm: term(0),
      entries: [],
      commit: logIndex(0),
    },
    { kind: 'append-accepted', ...at, index: logIndex(0) },
    { kind: 'append-refused', ...at, index: logIndex(0), hintIndex: logIndex(0), hintTerm: term(0) },
    { kind: 'vote-request', ...at, ...last, transfer: true },
    { kind: 'vote-response', ...at, granted: false },
    { kind: 'pre-vote-response', ...at, granted: false },
    { kind: 'heartbeat', ...at, commit: logIndex(0), context: null },
    { kind: 'heartbeat-response', ...at, context: null },
  ]
  for (const message of messages) {
    const solo = new Solo()
    solo.lead([2], 'silent')
    solo.receive(message)
    assert.deepEqual([solo.raft.status().role, solo.raft.term], ['follower', 7], message.kind)
  }
})

void test('paper figure 2, followers 2: a granted vote restarts the election timeout, a refused one does not', () => {
  const waits = (request: Message): number => {
    const solo = new Solo({
      term: 1,
      log: [1],
      options: { random: { below: () => 0, bytes: () => new Uint8Array() } },
    })
    solo.tick(9)
    solo.receive(request)
    let ticks = 0
    for (; solo.raft.status().role === 'follower'; ticks++) solo.tick(1)
    return ticks
  }
  assert.equal(waits(voteRequest(1, 1, 1)), 10)
  assert.equal(waits(voteRequest(1, 0, 0)), 1)
})

void test('paper figure 2, candidates 1: a campaign raises the term, votes for itself and requests all votes', () => {
  const solo = new Solo({ term: 3, log: [2], configuration: cluster([1, 2, 3], [4]) })
  solo.raft.campaign()
  solo.work()
  solo.take()
  solo.receive({ kind: 'pre-vote-response', ...two, term: term(4), granted: true })
  const { role, term: at, vote, leader } = solo.raft.status()
  assert.deepEqual([role, at, vote, leader], ['candidate', 4, 1, null])
  assert.deepEqual(
    solo
      .takeAll('vote-request')
      .map(({ to, term: of, lastIndex, lastTerm }) => [to, of, lastIndex, lastTerm]),
    [
      [2, 4, 1, 2],
      [3, 4, 1, 2],
    ],
  )
})

void test('paper figure 2, candidates 4: a candidate without responses campaigns again in a later term', () => {
  const solo = new Solo()
  solo.raft.campaign()
  solo.work()
  solo.receive({ kind: 'pre-vote-response', ...two, term: term(1), granted: true })
  assert.deepEqual([solo.raft.status().role, solo.raft.term], ['candidate', 1])
  solo.take()
  solo.tick(20)
  assert.deepEqual(
    solo.takeAll('pre-vote-request').map(({ to, term: of }) => [to, of]),
    [
      [2, 2],
      [3, 2],
    ],
  )
  solo.receive({ kind: 'pre-vote-response', ...two, term: term(2), granted: true })
  assert.deepEqual([solo.raft.status().role, solo.raft.term], ['candidate', 2])
})

void test('paper figure 2, leaders 1: a new leader sends an entry of its term to all members at once', () => {
  const solo = new Solo({ configuration: cluster([1, 2, 3], [4]) })
  solo.raft.campaign()
  solo.work()
  for (const kind of ['pre-vote-response', 'vote-response'] as const) {
    solo.take()
    solo.receive({ kind, ...two, term: term(1), granted: true })
  }
  const first = solo.takeAll('append-request')
  assert.deepEqual(
    first.map(({ to, entries }) => [to, entries.map(({ kind }) => kind)]),
    [2, 3, 4].map((to) => [to, ['empty']]),
  )
})

void test('paper figure 2, leaders 3: a success advances next and match, a refusal moves next back', () => {
  const solo = new Solo({ log: [1, 1, 1, 1], term: 1 })
  solo.lead([2], 'silent')
  const of = (id: number): readonly number[] =>
    solo.raft
      .status()
      .followers.flatMap((follower) => (follower.id === id ? [follower.match, follower.next] : []))
  solo.receive({ ...solo.from(2), kind: 'append-accepted', index: logIndex(5) })
  assert.deepEqual(of(2), [5, 6])
  const hint = { hintIndex: logIndex(2), hintTerm: term(1) }
  solo.receive({ ...solo.from(3), kind: 'append-refused', index: logIndex(4), ...hint })
  assert.deepEqual(of(3), [0, 3])
})

void test('paper figure 2, leaders 4: a leader commits what a majority has, up to the last entry of its own term', () => {
  const solo = new Solo({ log: [1, 1], term: 1, configuration: cluster([1, 2, 3, 4, 5]) })
  solo.lead([2, 3], 'silent')
  solo.propose('a')
  const accepts = (id: number, index: number): void =>
    solo.receive({ ...solo.from(id), kind: 'append-accepted', index: logIndex(index) })
  accepts(2, 4)
  accepts(3, 2)
  assert.equal(solo.raft.commit, 0, 'a majority has 2, which is of an earlier term')
  accepts(4, 3)
  assert.equal(solo.raft.commit, 3)
})

void test('paper figure 13, receiver 1: a snapshot of an earlier term is refused', () => {
  const solo = new Solo({ log: [1], term: 4 })
  const snapshot = { index: logIndex(9), term: term(3), configuration: cluster([1, 2, 3]) }
  solo.receive({ kind: 'snapshot', ...two, term: term(3), snapshot })
  assert.deepEqual([solo.terms(), solo.takeOnly('heartbeat-response').term], [[1], 4])
})

void test('paper figure 13, receiver 7 and 8: a snapshot replaces a conflicting log and its configuration', () => {
  const solo = new Solo({ log: [1, 1, 1], term: 4, commit: 1 })
  solo.manual = true
  const snapshot = { index: logIndex(3), term: term(3), configuration: cluster([1, 2, 3, 4]) }
  solo.receive({ kind: 'snapshot', ...two, term: term(4), snapshot })
  const { commit, lastIndex, firstIndex, configuration } = solo.raft.status()
  assert.deepEqual([commit, lastIndex, firstIndex, configuration.voters], [3, 3, 4, [1, 2, 3, 4]])
  assert.deepEqual(solo.take(), [], 'no response is sent before it is durable')
  solo.finishWrite()
  assert.equal(solo.takeOnly('append-accepted').index, 3)
})
