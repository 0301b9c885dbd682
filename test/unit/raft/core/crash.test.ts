import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeId, term } from '../../../../raft/core/types.ts'
import { cluster } from '../../../scenario/member-infos.ts'
import { Solo } from './solo.ts'

/*
 * Goal: a crash never takes back anything that other members received.
 * Method: one core whose disk is controlled by the test.
 */

void test('thesis 3.8: a candidate requests votes only after its term and log are durable', () => {
  const solo = new Solo({ configuration: cluster([1, 2, 3, 4, 5]), log: [1], term: 1, commit: 1 })
  solo.manual = true
  solo.receive(solo.append(2, 1, [1, 1], 1, 1))
  solo.raft.campaign()
  solo.work()
  for (const id of [3, 4]) {
    const voter = { from: nodeId(id), to: nodeId(1), term: term(2) }
    solo.receive({ kind: 'pre-vote-response', ...voter, granted: true })
  }
  assert.equal(solo.raft.status().role, 'candidate')
  // A crash now would lose term 2 and entry 2. Votes granted because of entry 2 would then elect a
  // member without it.
  assert.deepEqual(solo.takeAll('vote-request'), [])
  solo.finishWrite()
  assert.deepEqual(solo.takeAll('vote-request'), [])
  solo.finishWrite()
  assert.deepEqual(
    solo.takeAll('vote-request').map(({ to, lastIndex }) => [to, lastIndex]),
    [2, 3, 4, 5].map((to) => [to, 2]),
  )
})
