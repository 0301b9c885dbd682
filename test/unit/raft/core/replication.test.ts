import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logIndex, nodeId, term } from '../../../../raft/core/types.ts'
import type { FollowerStatus } from '../../../../raft/core/ready.ts'
import { cluster } from '../../../scenario/member-infos.ts'
import { Solo } from './solo.ts'

/* Goal: a follower's responses update the leader's view of it, and outdated ones do no harm. */

function follower(solo: Solo, id: number): FollowerStatus {
  const found = solo.raft.status().followers.find((status) => status.id === id)
  assert.ok(found !== undefined)
  return found
}

/** A leader that compacted everything up to 3, and has no response of follower 3 yet. */
function leaderWithCompactedLog(): Solo {
  const solo = new Solo({ log: [1, 2, 2], term: 2, commit: 3 })
  solo.lead([2])
  solo.member.flush()
  solo.member.compact(logIndex(3))
  return solo
}

void test('an old refusal of an entry that has arrived since does not stop the stream', () => {
  const solo = new Solo()
  solo.lead([2, 3])
  solo.propose('a')
  solo.acceptAll(2)
  const hint = { hintIndex: logIndex(0), hintTerm: term(0) }
  solo.receive({ ...solo.from(2), kind: 'append-refused', index: logIndex(1), ...hint })
  assert.deepEqual([follower(solo, 2).state, follower(solo, 2).match], ['replicate', 2])
})

void test('a refusal beyond the match index makes the leader probe from the match index', () => {
  const solo = new Solo()
  solo.lead([2, 3])
  solo.propose('a')
  solo.propose('b')
  solo.take()
  const hint = { hintIndex: logIndex(1), hintTerm: term(1) }
  solo.receive({ ...solo.from(2), kind: 'append-refused', index: logIndex(2), ...hint })
  assert.deepEqual([follower(solo, 2).state, follower(solo, 2).next], ['probe', 2])
  assert.equal(solo.takeOnly('append-request').entries.length, 2)
})

void test('a response to an older probe is ignored', () => {
  const solo = new Solo({ log: [1, 1, 1], term: 1 })
  solo.lead([2], 'silent')
  const hint = { hintIndex: logIndex(0), hintTerm: term(0) }
  solo.receive({ ...solo.from(3), kind: 'append-refused', index: logIndex(2), ...hint })
  assert.equal(follower(solo, 3).next, 4)
})

void test('a hint with a term that was compacted leads to a snapshot at once', () => {
  const solo = new Solo({ log: [1, 2, 2, 2, 2], term: 2, commit: 3 })
  solo.lead([2], 'silent')
  solo.member.flush()
  solo.member.compact(logIndex(3))
  // All entries up to 4 on the follower are of term 1, which ended before 3 here: no remaining
  // entry can agree.
  const hint = { hintIndex: logIndex(4), hintTerm: term(1) }
  solo.receive({ ...solo.from(3), kind: 'append-refused', index: logIndex(5), ...hint })
  assert.equal(follower(solo, 3).state, 'snapshot')
})

void test('a follower without contact is sent no snapshot until it responds', () => {
  const solo = new Solo({ log: [1, 1, 1], term: 1, commit: 3 })
  solo.lead([2])
  // The next entries for 3 are requested from the log. Before they arrive, 3 becomes silent and the
  // log is compacted.
  solo.raft.step({ ...solo.from(3), kind: 'append-accepted', index: logIndex(1) })
  assert.deepEqual(
    solo.raft.ready().fetches.map((fetch) => fetch.from),
    [2],
  )
  solo.tick(10)
  solo.receive({ ...solo.from(2), kind: 'heartbeat-response', context: null })
  solo.tick(1)
  solo.member.flush()
  solo.member.compact(logIndex(3))
  solo.raft.supply([])
  solo.work()
  assert.deepEqual([follower(solo, 3).state, follower(solo, 3).recentlyActive], ['replicate', false])
  solo.receive({ ...solo.from(3), kind: 'heartbeat-response', context: null })
  assert.equal(follower(solo, 3).state, 'snapshot')
})

void test('a responding follower counts as active at every moment, also right after CheckQuorum', () => {
  const solo = new Solo()
  solo.lead([2])
  for (let at = 0; at < 35; at++) {
    solo.tick(1)
    assert.ok(follower(solo, 2).recentlyActive, `after tick ${at + 1}`)
    if (at % 5 === 0) solo.receive({ ...solo.from(2), kind: 'heartbeat-response', context: null })
  }
  assert.equal(follower(solo, 3).recentlyActive, false, 'a silent one is not active')
})

void test('entries of which the first is compacted after they were fetched lead to a snapshot', () => {
  const solo = new Solo({ log: [1, 1, 1], term: 1, commit: 3 })
  solo.lead([2])
  solo.raft.step({ ...solo.from(3), kind: 'append-accepted', index: logIndex(1) })
  assert.deepEqual(
    solo.raft.ready().fetches.map((fetch) => fetch.from),
    [2],
  )
  solo.member.flush()
  solo.member.compact(logIndex(2))
  const data = Uint8Array.of(1)
  solo.raft.supply([2, 3].map((index) => ({ kind: 'command', index: logIndex(index), term: term(1), data })))
  solo.work()
  assert.equal(follower(solo, 3).state, 'snapshot')
})

void test('a follower that got the state, from whatever source, continues with appends', () => {
  const solo = leaderWithCompactedLog()
  const hint = { hintIndex: logIndex(0), hintTerm: term(0) }
  solo.receive({ ...solo.from(3), kind: 'append-refused', index: logIndex(3), ...hint })
  assert.equal(follower(solo, 3).state, 'snapshot')
  solo.receive({ ...solo.from(3), kind: 'append-accepted', index: logIndex(2) })
  assert.equal(follower(solo, 3).state, 'snapshot', 'its log ends before the base')
  solo.receive({ ...solo.from(3), kind: 'append-accepted', index: logIndex(3) })
  assert.deepEqual([follower(solo, 3).state, follower(solo, 3).match], ['replicate', 3])
})

void test('a finished or failed snapshot is followed up after the next response', () => {
  for (const outcome of ['finished', 'failed'] as const) {
    const solo = leaderWithCompactedLog()
    const hint = { hintIndex: logIndex(0), hintTerm: term(0) }
    solo.receive({ ...solo.from(3), kind: 'append-refused', index: logIndex(3), ...hint })
    solo.receive({ ...solo.from(3), kind: 'heartbeat-response', context: null })
    assert.equal(follower(solo, 3).state, 'snapshot')
    solo.raft.reportSnapshot(nodeId(3), outcome)
    solo.take()
    solo.receive({ ...solo.from(3), kind: 'heartbeat-response', context: null })
    const appends = solo.takeAll('append-request').map((message) => message.previousIndex)
    if (outcome === 'finished') assert.deepEqual([follower(solo, 3).state, appends], ['probe', [3]])
    else assert.deepEqual([follower(solo, 3).state, appends], ['snapshot', []])
  }
})

void test('a lost acknowledgement is detected by the append after a heartbeat', () => {
  const solo = new Solo({ configuration: cluster([1, 2]) })
  solo.lead([2])
  solo.propose('a')
  solo.take()
  solo.receive({ ...solo.from(2), kind: 'heartbeat-response', context: null })
  const append = solo.takeOnly('append-request')
  assert.deepEqual([append.previousIndex, append.entries.length], [2, 0])
})
