import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message } from '../../../../raft/core/message.ts'
import { logIndex, nodeId, term } from '../../../../raft/core/types.ts'
import { cluster } from '../../../scenario/member-infos.ts'
import { Solo } from './solo.ts'

/*
 * Goal: a vote is granted for the whole term, whatever role this member has in the meantime, and
 * survives restarts.
 * Method: one core; the test plays all other members, and its disk.
 */

function asksForVote(from: number, at: number): Message {
  const last = { lastIndex: logIndex(9), lastTerm: term(at - 1) }
  return { kind: 'vote-request', from: nodeId(from), to: nodeId(1), term: term(at), ...last, transfer: false }
}

function answersOf(solo: Solo): readonly (readonly [to: number, granted: boolean])[] {
  return solo.takeAll('vote-response').map(({ to, granted }) => [to, granted])
}

void test('paper 5.2: a vote is written with its term, and survives a crash', () => {
  const solo = new Solo({ log: [1], term: 1 })
  solo.receive(asksForVote(2, 2))
  assert.deepEqual(answersOf(solo), [[2, true]])
  assert.deepEqual([solo.member.disk.hardState.term, solo.member.disk.hardState.vote], [2, 2])
  solo.member.crash(0)
  solo.work()
  solo.receive(asksForVote(3, 2))
  solo.receive(asksForVote(2, 2))
  assert.deepEqual(answersOf(solo), [
    [3, false],
    [2, true],
  ])
})

void test('paper 5.2: a member that pre-campaigns for a later term and gives up keeps its vote in the current term', () => {
  const solo = new Solo({ configuration: cluster([1, 2, 3, 4, 5]), log: [1], term: 1 })
  solo.receive(asksForVote(2, 2))
  solo.raft.campaign()
  solo.work()
  assert.equal(solo.raft.status().role, 'pre-candidate')
  for (const id of [3, 4, 5]) solo.receive({ kind: 'pre-vote-response', ...solo.from(id), granted: false })
  assert.deepEqual([solo.raft.status().role, solo.raft.term], ['follower', 2])
  solo.take()
  solo.receive(asksForVote(3, 2))
  assert.deepEqual(answersOf(solo), [[3, false]])
})

void test('paper figure 2: a heartbeat carries no commit index beyond what is known to match', () => {
  const solo = new Solo({ log: [1, 1, 1], term: 1 })
  solo.lead([2])
  assert.equal(solo.raft.commit, 4)
  const granted = new Map<number, number>()
  for (let ticks = 0; ticks < 20 && granted.size < 2; ticks++) {
    solo.tick(1)
    for (const { to, commit } of solo.takeAll('heartbeat')) granted.set(to, commit)
  }
  assert.deepEqual(
    [...granted].sort(([a], [b]) => a - b),
    [
      [2, 4],
      [3, 0],
    ],
  )
})

void test('a member whose log is about to be replaced does not campaign until the replacement is durable', () => {
  const solo = new Solo({ log: [1], term: 1 })
  solo.manual = true
  const snapshot = { index: logIndex(50), term: term(1), configuration: cluster([1, 2, 3]) }
  solo.receive({ kind: 'snapshot', ...solo.from(2), snapshot })
  solo.raft.campaign()
  solo.work()
  assert.deepEqual(solo.takeAll('pre-vote-request'), [])
  while (solo.member.pendingWrites.length > 0) solo.finishWrite()
  solo.raft.campaign()
  solo.work()
  assert.deepEqual(
    solo.takeAll('pre-vote-request').map(({ to, lastIndex }) => [to, lastIndex]),
    [
      [2, 50],
      [3, 50],
    ],
  )
})

void test('the first candidate of a new cluster does not wait for an election timeout', () => {
  const options = { firstElectionTicks: 2 }
  const first = new Solo({ options })
  first.tick(1)
  assert.deepEqual(first.takeAll('pre-vote-request'), [])
  first.tick(1)
  assert.equal(first.takeAll('pre-vote-request').length, 2)
  const later = new Solo({ options, log: [1], term: 1 })
  later.tick(3)
  assert.deepEqual(later.takeAll('pre-vote-request'), [])
})
