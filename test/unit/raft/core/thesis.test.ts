import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logIndex, nodeId, term } from '../../../../raft/core/types.ts'
import { cluster, memberInfos } from '../../../scenario/member-infos.ts'
import { Solo } from './solo.ts'

/*
 * Goal: each rule of Ongaro's thesis beyond the paper that one member follows by itself.
 * Method: one core with scripted peers.
 */

const two = { from: nodeId(2), to: nodeId(1) }

void test('thesis 3.10: a transfer waits until the target has the whole log, then sends timeout-now', () => {
  const solo = new Solo()
  solo.lead([2, 3])
  solo.propose('a')
  solo.take()
  assert.deepEqual(solo.raft.transferLeadership(nodeId(2)), { kind: 'accepted' })
  solo.work()
  assert.deepEqual(solo.takeAll('timeout-now'), [])
  assert.deepEqual(solo.propose('b'), { kind: 'dropped', reason: 'transferring' })
  solo.acceptAll(2)
  assert.equal(solo.takeOnly('timeout-now').to, 2)
})

void test('thesis 3.10: a member campaigns at once on timeout-now, and voters do not wait out the lease', () => {
  const solo = new Solo()
  solo.receive({ kind: 'heartbeat', ...two, term: term(1), commit: logIndex(0), context: null })
  solo.receive({ kind: 'timeout-now', ...two, term: term(1) })
  assert.equal(solo.raft.status().role, 'candidate')
  assert.deepEqual(
    solo.takeAll('vote-request').map(({ to, transfer }) => [to, transfer]),
    [
      [2, true],
      [3, true],
    ],
  )

  const voter = new Solo()
  voter.receive({ kind: 'heartbeat', ...two, term: term(1), commit: logIndex(0), context: null })
  voter.take()
  const last = { lastIndex: logIndex(0), lastTerm: term(0) }
  voter.receive({
    kind: 'vote-request',
    from: nodeId(3),
    to: nodeId(1),
    term: term(2),
    ...last,
    transfer: true,
  })
  assert.equal(voter.takeOnly('vote-response').granted, true)
})

void test('thesis 4.1: a configuration is in force on append and reverted with its entry', () => {
  const solo = new Solo({ log: [1], term: 1, commit: 1 })
  const entry = {
    kind: 'configuration',
    index: logIndex(2),
    term: term(1),
    configuration: cluster([1, 2, 3, 4]),
  } as const
  const append = solo.append(2, 1, [1], 1, 1)
  assert.ok(append.kind === 'append-request')
  solo.receive({ ...append, entries: [entry] })
  assert.deepEqual(solo.raft.status().configuration.voters, [1, 2, 3, 4])
  solo.receive(solo.append(3, 2, [1, 2], 1, 1))
  assert.deepEqual(solo.raft.status().configuration.voters, [1, 2, 3])
})

void test('thesis 4.1: only one change at a time is accepted', () => {
  const solo = new Solo()
  solo.lead()
  assert.deepEqual(solo.raft.changeConfiguration({ members: memberInfos([1, 2, 3], [4]) }), {
    kind: 'accepted',
    index: 2,
  })
  assert.deepEqual(solo.raft.changeConfiguration({ members: memberInfos([1, 2, 3], [5]) }), {
    kind: 'refused',
    reason: 'change-pending',
  })
  solo.acceptAll(2)
  assert.equal(solo.raft.changeConfiguration({ members: memberInfos([1, 2, 3], [5]) }).kind, 'accepted')
})

void test('thesis 4.1: the bug of 2015: no change before the leader has committed an entry of its term', () => {
  const solo = new Solo({ log: [1], term: 1, commit: 1 })
  solo.lead([2], 'silent')
  const members = memberInfos([1, 2, 3, 4])
  assert.deepEqual(solo.raft.changeConfiguration({ members }), { kind: 'refused', reason: 'term-unsettled' })
  solo.acceptAll(2)
  assert.equal(solo.raft.changeConfiguration({ members }).kind, 'accepted')
})

void test('a change to the same configuration, or to one without voters, is refused', () => {
  const solo = new Solo()
  assert.deepEqual(solo.raft.changeConfiguration({ members: memberInfos([1, 2]) }), {
    kind: 'dropped',
    reason: 'no-leader',
  })
  solo.lead()
  assert.deepEqual(solo.raft.changeConfiguration({ members: memberInfos([1, 2, 3]) }), {
    kind: 'refused',
    reason: 'unchanged',
  })
  assert.deepEqual(solo.raft.changeConfiguration({ members: memberInfos([], [1, 2, 3]) }), {
    kind: 'refused',
    reason: 'no-voters',
  })
})

void test('thesis 4.2.1: a learner receives the log, does not count and is not asked for a vote', () => {
  const solo = new Solo({ configuration: cluster([1, 2, 3], [4, 5]) })
  solo.raft.campaign()
  solo.work()
  assert.deepEqual(
    solo.takeAll('pre-vote-request').map((message) => message.to),
    [2, 3],
  )
  solo.lead()
  solo.propose('a')
  solo.acceptAll(4)
  solo.acceptAll(5)
  assert.equal(solo.raft.commit, 1)
  solo.acceptAll(3)
  assert.equal(solo.raft.commit, 2)
})

void test('thesis 4.2.1: a learner does not campaign, and forgets its leader after an election timeout', () => {
  const solo = new Solo({ configuration: cluster([2, 3], [1]) })
  solo.receive({ kind: 'heartbeat', ...two, term: term(1), commit: logIndex(0), context: null })
  solo.raft.campaign()
  solo.tick(20)
  assert.deepEqual([solo.raft.status().role, solo.raft.leader], ['follower', null])
})

void test('thesis 4.2.2: a removed leader leads until its removal is committed, then sends timeout-now to a successor', () => {
  const solo = new Solo()
  solo.lead([2, 3])
  solo.raft.changeConfiguration({ members: memberInfos([2, 3]) })
  solo.work()
  solo.acceptAll(2)
  assert.equal(solo.raft.status().role, 'leader')
  solo.take()
  solo.acceptAll(3)
  assert.equal(solo.raft.status().role, 'follower')
  const sent = solo.take()
  assert.equal(sent.filter((message) => message.kind === 'timeout-now').length, 1)
  assert.ok(sent.some((message) => message.kind === 'append-request' && message.commit === 2))
})

void test('thesis 4.2.2: commits before that of its removal do not end the leadership', () => {
  const solo = new Solo()
  solo.lead([2, 3])
  solo.propose('a')
  solo.raft.changeConfiguration({ members: memberInfos([2, 3]) })
  solo.work()
  for (const id of [2, 3]) solo.receive({ ...solo.from(id), kind: 'append-accepted', index: logIndex(2) })
  assert.deepEqual([solo.raft.commit, solo.raft.status().role], [2, 'leader'])
})

void test('thesis 4.2.2: an outgoing voter campaigns while its removal is not known to be committed', () => {
  const solo = new Solo({ log: [1], term: 1, commit: 1 })
  const append = solo.append(2, 1, [1], 1, 1)
  assert.ok(append.kind === 'append-request')
  const entry = { kind: 'configuration', index: logIndex(2), term: term(1), configuration: cluster([2, 3]) }
  solo.receive({ ...append, entries: [{ ...entry, kind: 'configuration' }] })
  solo.raft.campaign()
  assert.equal(solo.raft.status().role, 'pre-candidate')

  const decided = new Solo({ log: [1], term: 1, commit: 1 })
  decided.receive({ ...append, entries: [{ ...entry, kind: 'configuration' }], commit: logIndex(2) })
  decided.raft.campaign()
  assert.equal(decided.raft.status().role, 'follower')
})

void test('thesis 4.2.3: while the leader is in contact, vote requests are ignored and change no term', () => {
  const solo = new Solo()
  solo.receive({ kind: 'heartbeat', ...two, term: term(1), commit: logIndex(0), context: null })
  solo.take()
  const ask = {
    from: nodeId(3),
    to: nodeId(1),
    term: term(5),
    lastIndex: logIndex(9),
    lastTerm: term(4),
  }
  solo.receive({ kind: 'vote-request', ...ask, transfer: false })
  solo.receive({ kind: 'pre-vote-request', ...ask })
  assert.deepEqual([solo.take(), solo.raft.term], [[], 1])
})

void test('thesis 4.2.3: a leader whose quorum responds ignores vote requests', () => {
  const solo = new Solo()
  solo.lead()
  solo.receive({
    kind: 'vote-request',
    from: nodeId(3),
    to: nodeId(1),
    term: term(7),
    lastIndex: logIndex(9),
    lastTerm: term(6),
    transfer: false,
  })
  assert.deepEqual([solo.take(), solo.raft.status().role], [[], 'leader'])
})

void test('thesis 4.3: in a joint configuration both majorities elect and commit', () => {
  const solo = new Solo()
  solo.lead()
  assert.equal(solo.raft.changeConfiguration({ members: memberInfos([1, 4, 5]) }).kind, 'accepted')
  solo.work()
  solo.acceptAll(4)
  assert.equal(solo.raft.commit, 1)
  solo.acceptAll(2)
  assert.equal(solo.raft.commit, 2)
  // The leader left the joint configuration: the new majority decides alone.
  assert.deepEqual(solo.raft.status().configuration.votersOutgoing, null)
  solo.acceptAll(5)
  assert.equal(solo.raft.commit, 3)
  assert.deepEqual(
    solo.raft.status().followers.map((follower) => follower.id),
    [4, 5],
  )
})

void test('thesis 6.2: a leader without responses of a quorum for an election timeout steps down', () => {
  const solo = new Solo()
  solo.lead()
  solo.tick(10)
  assert.equal(solo.raft.status().role, 'leader')
  const contacts = solo.raft.quorumContacts
  solo.receive({ ...solo.from(2), kind: 'heartbeat-response', context: null })
  assert.equal(solo.raft.quorumContacts, contacts + 1)
  solo.tick(10)
  assert.equal(solo.raft.status().role, 'leader')
  solo.tick(10)
  const { role, term: now } = solo.raft.status()
  assert.deepEqual([role, now], ['follower', 1])
})

void test('thesis 6.4: a read waits for the first commit of the term and for a quorum after that', () => {
  const solo = new Solo({ log: [1, 1], term: 1, commit: 1 })
  solo.lead([2], 'silent')
  const answer = solo.raft.readIndex()
  assert.ok(answer.kind === 'accepted')
  solo.work()
  assert.deepEqual(solo.takeAll('heartbeat'), [])
  solo.acceptAll(2)
  const heartbeats = solo.takeAll('heartbeat')
  assert.deepEqual(
    heartbeats.map((message) => message.context),
    [answer.context, answer.context],
  )
  assert.deepEqual(solo.confirmed, [])
  solo.receive({ ...solo.from(2), kind: 'heartbeat-response', context: answer.context })
  assert.deepEqual(solo.confirmed, [{ context: answer.context, index: 3 }])
})

void test('thesis 6.4: reads of one turn share a round, and a later round confirms the earlier', () => {
  const solo = new Solo()
  solo.lead()
  const contexts = [solo.raft.readIndex(), solo.raft.readIndex()].flatMap((answer) =>
    answer.kind === 'accepted' ? [answer.context] : [],
  )
  solo.work()
  assert.equal(solo.takeAll('heartbeat').length, 2)
  solo.propose('a')
  solo.acceptAll(3)
  const later = solo.raft.readIndex()
  assert.ok(later.kind === 'accepted')
  solo.work()
  solo.receive({ ...solo.from(2), kind: 'heartbeat-response', context: later.context })
  assert.deepEqual(solo.confirmed, [
    { context: contexts[0], index: 1 },
    { context: contexts[1], index: 1 },
    { context: later.context, index: 2 },
  ])
})

void test('thesis 6.4: reads on other members and above the limit are dropped, and a loss of leadership fails the rest', () => {
  const solo = new Solo({ options: { readRoundsMax: 2 } })
  assert.deepEqual(solo.raft.readIndex(), { kind: 'dropped', reason: 'no-leader' })
  solo.lead()
  assert.equal(solo.raft.readIndex().kind, 'accepted')
  assert.equal(solo.raft.readIndex().kind, 'accepted')
  assert.deepEqual(solo.raft.readIndex(), { kind: 'dropped', reason: 'too-many-reads' })
  solo.receive({ kind: 'heartbeat', ...two, term: term(9), commit: logIndex(0), context: null })
  assert.deepEqual([solo.confirmed, solo.failed], [[], [1, 2]])
  assert.deepEqual(solo.raft.readIndex(), { kind: 'dropped', reason: 'not-leader' })
})

void test('thesis 6.4: contexts are not reused in a later term, so a late response confirms nothing', () => {
  const solo = new Solo()
  solo.lead()
  const first = solo.raft.readIndex()
  assert.ok(first.kind === 'accepted')
  solo.work()
  solo.receive({ kind: 'heartbeat', ...two, term: term(5), commit: logIndex(0), context: null })
  solo.tick(10)
  solo.lead([3])
  const second = solo.raft.readIndex()
  assert.ok(second.kind === 'accepted')
  solo.work()
  assert.notEqual(second.context, first.context)
  solo.receive({ ...solo.from(2), kind: 'heartbeat-response', context: first.context })
  assert.deepEqual(solo.confirmed, [])
})

void test('thesis 9.6: a pre-vote raises no term, not even its own', () => {
  const solo = new Solo({ log: [1], term: 4 })
  solo.tick(20)
  const requested = solo.takeAll('pre-vote-request')
  assert.deepEqual([solo.raft.status().role, solo.raft.term], ['pre-candidate', 4])
  assert.deepEqual(
    requested.map((message) => [message.to, message.term]),
    [
      [2, 5],
      [3, 5],
    ],
  )

  const other = new Solo({ log: [1], term: 4 })
  other.receive({
    kind: 'pre-vote-request',
    ...two,
    term: term(9),
    lastIndex: logIndex(1),
    lastTerm: term(1),
  })
  const { granted, term: of } = other.takeOnly('pre-vote-response')
  assert.deepEqual([granted, of, other.raft.term, other.raft.status().vote], [true, 9, 4, null])
})

void test("thesis 10.2.1: appends do not wait for the leader's disk, and its own entries count once durable", () => {
  const solo = new Solo()
  solo.lead([2, 3])
  solo.manual = true
  solo.propose('a')
  assert.equal(solo.takeAll('append-request').length, 2)
  assert.equal(solo.raft.commit, 1)
  solo.acceptAll(2)
  assert.equal(solo.raft.commit, 1, 'one durable copy of three')
  solo.finishWrite()
  assert.equal(solo.raft.commit, 2)
})

void test('thesis 10.2.1: a follower acknowledges entries only once they are durable', () => {
  const solo = new Solo()
  solo.manual = true
  solo.receive(solo.append(2, 1, [1, 1], 0, 0))
  assert.deepEqual(solo.take(), [])
  // A repeated append waits for the same write.
  solo.receive(solo.append(2, 1, [1, 1], 0, 0))
  assert.deepEqual(solo.take(), [])
  solo.finishWrite()
  assert.deepEqual(
    solo.takeAll('append-accepted').map((message) => message.index),
    [2, 2],
  )
})

void test('a vote is sent only once it is durable', () => {
  const solo = new Solo()
  solo.manual = true
  const last = { lastIndex: logIndex(0), lastTerm: term(0) }
  solo.receive({ kind: 'vote-request', ...two, term: term(1), ...last, transfer: false })
  assert.deepEqual([solo.take(), solo.raft.status().vote], [[], 2])
  solo.finishWrite()
  assert.equal(solo.takeOnly('vote-response').granted, true)
})

void test('a leader that steps down keeps its vote, so its term has no other leader', () => {
  const solo = new Solo()
  solo.lead()
  solo.tick(20)
  assert.deepEqual([solo.raft.status().role, solo.raft.status().vote], ['follower', 1])
})

void test('a candidate becomes leader only once its own vote is durable, even if all others voted for it', () => {
  const solo = new Solo()
  solo.manual = true
  solo.raft.campaign()
  solo.work()
  for (const kind of ['pre-vote-response', 'vote-response'] as const) {
    for (const from of [2, 3]) {
      solo.receive({ kind, from: nodeId(from), to: nodeId(1), term: term(1), granted: true })
    }
  }
  assert.equal(solo.raft.status().role, 'candidate')
  solo.finishWrite()
  assert.equal(solo.raft.status().role, 'leader')
})

void test('a write from before the candidacy does not make its vote durable', () => {
  const solo = new Solo({ log: [1], term: 1 })
  solo.manual = true
  solo.receive(solo.append(2, 1, [1, 1], 1, 0))
  solo.raft.campaign()
  solo.work()
  for (const kind of ['pre-vote-response', 'vote-response'] as const) {
    for (const from of [2, 3]) {
      solo.receive({ kind, from: nodeId(from), to: nodeId(1), term: term(2), granted: true })
    }
  }
  solo.finishWrite()
  assert.deepEqual([solo.raft.status().role, solo.member.pendingWrites.length], ['candidate', 1])
  solo.finishWrite()
  assert.equal(solo.raft.status().role, 'leader')
})

void test('thesis 9.6: a grant for another term does not count in the current pre-vote', () => {
  const solo = new Solo({ term: 3 })
  solo.raft.campaign()
  solo.work()
  const grant = { kind: 'pre-vote-response', ...two, granted: true } as const
  solo.receive({ ...grant, term: term(9) })
  assert.equal(solo.raft.status().role, 'pre-candidate')
  solo.receive({ ...grant, term: term(4) })
  assert.equal(solo.raft.status().role, 'candidate')
})
