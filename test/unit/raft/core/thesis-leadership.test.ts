import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeId, term } from '../../../../raft/core/types.ts'
import { cluster } from '../../../scenario/member-infos.ts'
import { Solo } from './solo.ts'

/*
 * Goal: chapter 3 of Ongaro's thesis where it goes beyond the paper: retries, restarts, leadership
 * transfer.
 * Method: one core with scripted peers; a restart is a new core on the same disk.
 */

const two = { from: nodeId(2), to: nodeId(1) }

void test('thesis 3.4: every election timeout is drawn again, so that a split vote is resolved', () => {
  const drawn: number[] = []
  const random = {
    below: (bound: number) => (drawn.push(bound), drawn.length % bound),
    bytes: () => new Uint8Array(),
  }
  const solo = new Solo({ options: { random } })
  solo.tick(60)
  assert.ok(drawn.length >= 4 && drawn.every((bound) => bound === 10), `${drawn.length} timeouts were drawn`)
})

void test('thesis 3.5: a lost append is detected and sent again indefinitely', () => {
  const solo = new Solo()
  solo.lead([2, 3])
  solo.propose('a')
  for (let round = 0; round < 50; round++) {
    solo.take()
    solo.tick(1)
    solo.receive({ ...solo.from(2), kind: 'heartbeat-response', context: null })
    assert.equal(solo.takeAll('append-request').filter(({ to }) => to === 2).length, 1)
  }
})

void test('thesis 3.6.2: the empty entry of a term commits the earlier entries', () => {
  const solo = new Solo({ log: [1, 1], term: 1 })
  solo.lead([2], 'silent')
  assert.deepEqual(solo.terms(), [1, 1, 2])
  solo.acceptAll(2)
  assert.equal(solo.raft.commit, 3)
})

void test('thesis 3.7: a member that crashed between write and response responds to the repeated request', () => {
  const solo = new Solo()
  solo.manual = true
  solo.receive(solo.append(2, 1, [1], 0, 0))
  solo.member.crash(1)
  solo.manual = false
  solo.receive(solo.append(2, 1, [1], 0, 0))
  assert.deepEqual([solo.terms(), solo.takeOnly('append-accepted').index], [[1], 1])
})

void test('thesis 3.8: term and vote survive a restart, role and leader do not', () => {
  const solo = new Solo({ log: [1], term: 1 })
  solo.lead()
  solo.member.crash(0)
  solo.work()
  const { role, term: at, vote, leader } = solo.raft.status()
  assert.deepEqual([role, at, vote, leader], ['follower', 2, 1, null])
})

void test('thesis 3.8: the commit index may be lost, but durably applied entries are not applied again', () => {
  const solo = new Solo({ log: [1, 1, 1], term: 1 })
  solo.receive(solo.append(2, 1, [1, 1, 1], 3, 3))
  solo.member.flush()
  assert.deepEqual([solo.member.disk.hardState.commit, solo.member.disk.applied], [0, 3])
  solo.member.crash(0)
  assert.equal(solo.raft.commit, 3)
  assert.equal(solo.raft.ready().commit, null)
})

void test('thesis 3.10: a leader during a transfer accepts no proposals and no changes, and continues to replicate', () => {
  const solo = new Solo()
  solo.lead([2, 3])
  solo.propose('a')
  solo.raft.transferLeadership(nodeId(2))
  assert.deepEqual(solo.propose('b'), { kind: 'dropped', reason: 'transferring' })
  const change = solo.raft.changeConfiguration({ members: cluster([1, 2]).members })
  assert.deepEqual(change, { kind: 'dropped', reason: 'transferring' })
  solo.take()
  solo.tick(1)
  solo.receive({ ...solo.from(2), kind: 'heartbeat-response', context: null })
  assert.ok(solo.takeAll('append-request').some(({ to }) => to === 2))
})

void test('thesis 3.10: a transfer that does not end within an election timeout is abandoned', () => {
  const solo = new Solo({ configuration: cluster([1, 2]) })
  solo.lead([2])
  solo.raft.transferLeadership(nodeId(2))
  solo.tick(9)
  assert.equal(solo.raft.status().transferTarget, 2)
  solo.receive({ ...solo.from(2), kind: 'heartbeat-response', context: null })
  solo.tick(1)
  assert.equal(solo.raft.status().transferTarget, null)
  assert.equal(solo.propose('a').kind, 'accepted')
})

void test('thesis 3.10: a request for another target gets its own time, also after a repeated request for the first one', () => {
  const solo = new Solo()
  solo.lead([2, 3])
  solo.raft.transferLeadership(nodeId(2))
  solo.tick(6)
  solo.raft.transferLeadership(nodeId(2))
  solo.tick(3)
  solo.raft.transferLeadership(nodeId(3))
  solo.tick(9)
  assert.equal(solo.raft.status().transferTarget, 3)
  solo.tick(1)
  const { role, transferTarget } = solo.raft.status()
  assert.deepEqual([role, transferTarget], ['leader', null], 'and no more than that')
})

void test('thesis 3.10: a timeout-now message of a deposed leader is ignored', () => {
  const solo = new Solo({ term: 5 })
  solo.receive({ kind: 'timeout-now', ...two, term: term(4) })
  assert.deepEqual([solo.raft.status().role, solo.raft.term], ['follower', 5])
})

void test('thesis 3.10: a learner ignores timeout-now', () => {
  const solo = new Solo({ configuration: cluster([2, 3], [1]) })
  solo.receive({ kind: 'timeout-now', ...two, term: term(1) })
  assert.equal(solo.raft.status().role, 'follower')
})
