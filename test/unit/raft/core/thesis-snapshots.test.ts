import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logIndex, nodeId, term } from '../../../../raft/core/types.ts'
import type { FollowerStatus } from '../../../../raft/core/ready.ts'
import { cluster } from '../../../scenario/member-infos.ts'
import { Solo } from './solo.ts'

/*
 * Goal: chapter 5 of Ongaro's thesis as far as the core is involved: what is kept of a compacted
 * log, and when a follower is sent a snapshot.
 * Method: one core with scripted peers and compactions.
 */

const two = { from: nodeId(2), to: nodeId(1) }

/** Member 1 with terms 1, 2, 2 in its log, compacted up to 3. */
function cutAtThree(): Solo {
  const solo = new Solo({ log: [1, 2, 2], term: 2, commit: 3 })
  solo.member.flush()
  solo.member.compact(logIndex(3))
  return solo
}

function follower(solo: Solo, id: number): FollowerStatus | undefined {
  return solo.raft.status().followers.find((status) => status.id === id)
}

void test('thesis 5.1: index, term and configuration of the last compacted entry are kept, so the next append matches', () => {
  const solo = cutAtThree()
  const { firstIndex, lastIndex, configuration } = solo.raft.status()
  assert.deepEqual([firstIndex, lastIndex, configuration.voters], [4, 3, [1, 2, 3]])
  solo.receive(solo.append(2, 2, [1, 2, 2, 2], 3, 3))
  assert.equal(solo.takeOnly('append-accepted').index, 4)
})

void test('thesis 5.1: an empty compacted log still votes by its last term and index', () => {
  for (const { last, granted } of [
    { last: [2, 2], granted: false },
    { last: [3, 2], granted: true },
    { last: [9, 1], granted: false },
  ]) {
    const solo = cutAtThree()
    const [lastIndex, lastTerm] = [logIndex(last[0] ?? 0), term(last[1] ?? 0)]
    solo.receive({ kind: 'vote-request', ...two, term: term(3), lastIndex, lastTerm, transfer: false })
    assert.equal(solo.takeOnly('vote-response').granted, granted, last.join('/'))
  }
})

void test('thesis 5.1: an append before the base is answered with the commit index', () => {
  const solo = cutAtThree()
  solo.receive(solo.append(2, 2, [1, 2, 2], 1, 3))
  assert.equal(solo.takeOnly('append-accepted').index, 3)
})

void test('thesis 5.1: only applied entries are compacted', () => {
  const solo = new Solo({ log: [1, 1], term: 1, commit: 1 })
  const base = { index: logIndex(2), term: term(1), configuration: cluster([1, 2, 3]) }
  assert.throws(() => solo.raft.compact(base), { name: 'BrokenInvariant' })
})

void test('thesis 5.1: a follower that needs compacted entries is sent one snapshot, and nothing else', () => {
  const solo = cutAtThree()
  solo.lead([2])
  const hint = { hintIndex: logIndex(1), hintTerm: term(1) }
  solo.raft.step({ ...solo.from(3), kind: 'append-refused', index: logIndex(3), ...hint })
  assert.deepEqual(solo.raft.ready().snapshotsToSend, [3])
  solo.propose('a')
  solo.take()
  for (let round = 0; round < 5; round++) {
    solo.tick(1)
    solo.raft.step({ ...solo.from(3), kind: 'heartbeat-response', context: null })
    const ready = solo.raft.ready()
    const appends = ready.messagesAtOnce.filter(({ kind, to }) => kind === 'append-request' && to === 3)
    assert.deepEqual([ready.snapshotsToSend, appends], [[], []])
  }
  assert.equal(follower(solo, 3)?.state, 'snapshot')
})

void test('thesis 5.1: a snapshot counts for a commit only once the follower acknowledges it', () => {
  const solo = cutAtThree()
  solo.lead([2], 'silent')
  const hint = { hintIndex: logIndex(1), hintTerm: term(1) }
  solo.receive({ ...solo.from(3), kind: 'append-refused', index: logIndex(3), ...hint })
  solo.raft.reportSnapshot(nodeId(3), 'finished')
  solo.work()
  assert.equal(follower(solo, 3)?.match, 0)
  solo.receive({ ...solo.from(3), kind: 'append-accepted', index: logIndex(3) })
  assert.deepEqual([follower(solo, 3)?.match, solo.raft.commit], [3, 3])
  solo.acceptAll(3)
  assert.equal(solo.raft.commit, 4)
})

void test('thesis 5.1.2: a compaction does not disturb followers that keep up', () => {
  const solo = new Solo({ log: [1, 1, 1], term: 1, commit: 3 })
  solo.lead([2, 3])
  solo.member.flush()
  solo.member.compact(logIndex(4))
  solo.take()
  solo.propose('a')
  assert.equal(solo.takeAll('append-request').length, 2)
  assert.deepEqual([follower(solo, 2)?.state, follower(solo, 3)?.state], ['replicate', 'replicate'])
})

void test('thesis 5.2: a restart from a snapshot continues where the snapshot ends', () => {
  const solo = cutAtThree()
  solo.member.crash(0)
  const { firstIndex, lastIndex, commit } = solo.raft.status()
  assert.deepEqual([firstIndex, lastIndex, commit], [4, 3, 3])
  assert.equal(solo.raft.ready().commit, null, 'entries within the snapshot are not applied again')
})
