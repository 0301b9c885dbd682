/*
 * Goal: a follower whose leader has ended campaigns without waiting for an election timeout, and
 * nothing else changes. Method: one core; the test plays its peers and the transport.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logIndex, nodeId, noIndex, noTerm, term } from '../../../../raft/core/types.ts'
import { Member, newDisk } from '../../../scenario/member.ts'
import { cluster } from '../../../scenario/member-infos.ts'
import { scenarioConfig } from '../../../scenario/world.ts'
import { Solo } from './solo.ts'

const [one, two, three] = [nodeId(1), nodeId(2), nodeId(3)]
const options = { electionTicks: 10, heartbeatTicks: 1, quietHeartbeatTicks: 31 }

function heartbeat(solo: Solo, more: { readonly quiet?: true; readonly sentMs?: number } = {}): void {
  const addressed = { kind: 'heartbeat', from: two, to: one, term: solo.raft.term } as const
  solo.receive({ ...addressed, commit: logIndex(0), context: null, ...more })
  solo.take()
}

/** Member 1, which follows member 2. */
function follower(): Solo {
  const solo = new Solo({ options, term: 1 })
  // A process that just started keeps a possible promise of an earlier one.
  solo.tick(9)
  heartbeat(solo)
  return solo
}

function report(solo: Solo, peer: number, hasEnded: boolean): void {
  solo.raft.reportEnded(nodeId(peer), hasEnded)
  solo.work()
}

/** Returns the pre-votes of member 1 in the next ticks. */
function preVotes(solo: Solo, ticks: number): number {
  let count = 0
  for (let tick = 0; tick < ticks; tick++) {
    solo.tick(1)
    count += solo.takeAll('pre-vote-request').filter(({ to }) => to === three).length
  }
  return count
}

function requestPreVote(solo: Solo, at = term(solo.raft.term + 1)): void {
  const log = { lastIndex: logIndex(0), lastTerm: term(0) }
  solo.receive({ kind: 'pre-vote-request', from: three, to: one, term: at, ...log })
}

void test('a follower campaigns at once when its leader has ended, and asks again while it is ignored', () => {
  const solo = follower()
  report(solo, 2, true)
  assert.equal(solo.takeAll('pre-vote-request').length, 2)
  assert.equal(solo.raft.status().role, 'pre-candidate')
  assert.equal(preVotes(solo, 8), 4)
})

void test('the end of another member changes nothing', () => {
  const solo = follower()
  report(solo, 3, true)
  assert.equal(preVotes(solo, 9), 0)
  assert.equal(solo.raft.leader, two)
})

void test('each further voter by ID waits two ticks more; the ended leader is not counted', () => {
  for (const [id, ticks] of [
    [1, 0],
    [3, 2],
    [4, 4],
  ] as const) {
    const disk = newDisk(cluster([1, 2, 3, 4]), noIndex, noTerm)
    const { raft } = new Member(scenarioConfig(nodeId(id), options), disk)
    raft.step({ kind: 'heartbeat', from: two, to: nodeId(id), term: term(1), commit: noIndex, context: null })
    raft.reportEnded(two, true)
    let waited = 0
    for (; raft.status().role === 'follower'; waited++) raft.tick()
    assert.equal(waited, ticks, `member ${id}`)
  }
})

void test('a message of the leader, or a new connection to it, ends the early campaign', () => {
  for (const ends of [heartbeat, (solo: Solo) => report(solo, 2, false)]) {
    const solo = follower()
    report(solo, 2, true)
    solo.take()
    ends(solo)
    heartbeat(solo)
    assert.equal(preVotes(solo, 9), 0)
    assert.equal(solo.raft.leader, two)
  }
})

void test('after two election timeouts only the usual timeouts count', () => {
  const solo = follower()
  report(solo, 2, true)
  preVotes(solo, 20)
  const later = preVotes(solo, 100)
  assert.ok(later >= 5 && later <= 10, `${later} pre-votes in ten election timeouts`)
})

void test('a follower of a quiet leader that has ended does not wait longer', () => {
  const solo = follower()
  heartbeat(solo, { quiet: true })
  report(solo, 2, true)
  assert.equal(solo.takeAll('pre-vote-request').length, 2)
  // Its usual timeouts are restored, too.
  report(solo, 2, false)
  assert.ok(preVotes(solo, 20) > 0)
})

void test('a voter grants a pre-vote early only if its own leader has ended', () => {
  const solo = follower()
  requestPreVote(solo)
  assert.deepEqual(solo.take(), [])
  report(solo, 3, true)
  requestPreVote(solo)
  assert.deepEqual(solo.take(), [])
  const learner = new Solo({ options, term: 1, configuration: cluster([2, 3], [1]) })
  learner.tick(9)
  heartbeat(learner)
  report(learner, 2, true)
  requestPreVote(learner)
  assert.equal(learner.takeOnly('pre-vote-response').granted, true)
})

void test('a voter keeps its lease promise, and campaigns when it is over', () => {
  const solo = new Solo({ options: { ...options, leasePromiseMs: 80 }, term: 1 })
  solo.tick(10)
  heartbeat(solo, { sentMs: 5 })
  // A later contact without a promise does not prolong it.
  solo.tick(4)
  heartbeat(solo)
  report(solo, 2, true)
  requestPreVote(solo)
  assert.deepEqual(solo.take(), [])
  assert.equal(preVotes(solo, 5), 0)
  assert.equal(preVotes(solo, 1), 1)
})

void test('a process that just started keeps the promise of an earlier one', () => {
  const solo = new Solo({ options: { ...options, leasePromiseMs: 80 }, term: 1 })
  heartbeat(solo)
  report(solo, 2, true)
  assert.equal(preVotes(solo, 9), 0)
  assert.equal(preVotes(solo, 1), 1)
})

void test('a member that voted in a later term waits for its election timeout', () => {
  const solo = follower()
  solo.raft.reportEnded(two, true)
  solo.work()
  const log = { lastIndex: logIndex(0), lastTerm: term(0), transfer: false }
  solo.receive({ kind: 'vote-request', from: three, to: one, term: term(2), ...log })
  assert.equal(solo.takeAll('vote-response').at(-1)?.granted, true)
  assert.equal(preVotes(solo, 9), 0)
})

void test('a candidate does not campaign again early, however slow its disk is', () => {
  const solo = follower()
  solo.manual = true
  report(solo, 2, true)
  solo.take()
  const granted = { kind: 'pre-vote-response', from: three, to: one, term: term(2), granted: true } as const
  solo.receive(granted)
  assert.equal(solo.raft.status().role, 'candidate')
  assert.equal(preVotes(solo, 9), 0)
})

void test('a pre-candidate does not help another one with an equal log and a higher ID', () => {
  const lower = follower()
  report(lower, 2, true)
  lower.take()
  requestPreVote(lower)
  assert.deepEqual(lower.take(), [])
  assert.equal(lower.raft.status().role, 'pre-candidate')
  // A member in an earlier term learns the term.
  requestPreVote(lower, lower.raft.term)
  assert.equal(lower.takeOnly('pre-vote-response').granted, false)
})

void test('after two election timeouts a pre-candidate helps one with a higher ID, too', () => {
  const lower = follower()
  report(lower, 2, true)
  preVotes(lower, 19)
  requestPreVote(lower)
  assert.deepEqual(lower.take(), [])
  preVotes(lower, 1)
  assert.equal(lower.raft.status().role, 'pre-candidate')
  requestPreVote(lower)
  assert.equal(lower.takeOnly('pre-vote-response').granted, true)
})
