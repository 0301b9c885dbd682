/*
 * Goal: a learner counts as caught up when its last round was short, and only as long as it keeps
 * up.
 * Method: rounds with a manual clock.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FollowerStatus } from '../../../../raft/core/ready.ts'
import { logIndex, nodeId } from '../../../../raft/core/types.ts'
import { CatchUpRounds } from '../../../../raft/driver/catch-up-rounds.ts'

const four = nodeId(4)

function at(match: number, recentlyActive = true): readonly FollowerStatus[] {
  return [
    { id: four, state: 'replicate', match: logIndex(match), next: logIndex(match + 1), recentlyActive },
    { id: nodeId(2), state: 'replicate', match: logIndex(1000), next: logIndex(1001), recentlyActive: true },
  ]
}

void test('thesis 4.2.1: a learner has caught up when a round takes less than an election timeout', () => {
  const rounds = new CatchUpRounds(300)
  const tick = (now: number, match: number, last: number): boolean => {
    rounds.tick(now, [four], at(match), logIndex(last))
    return rounds.caughtUp.has(four)
  }
  assert.equal(tick(0, 0, 1000), false, 'the first round begins')
  assert.equal(tick(290, 900, 1500), false)
  assert.equal(tick(1000, 1000, 1600), false, 'it took a second')
  assert.equal(tick(1290, 1599, 1700), false)
  assert.equal(tick(1300, 1600, 1700), true, 'the second took just 300 ms')
  assert.equal(tick(1500, 1650, 1800), true)
  assert.equal(tick(1601, 1650, 1800), false, 'it stopped keeping up')
  assert.equal(tick(1700, 1800, 1800), false, 'that round was long')
  assert.equal(tick(1701, 1800, 1800), true)
  assert.deepEqual([...rounds.caughtUp], [four], 'voters are ignored')
})

void test('a silent learner has not caught up, even if nothing was written since', () => {
  const rounds = new CatchUpRounds(300)
  for (const now of [0, 10]) rounds.tick(now, [four], at(5), logIndex(5))
  assert.ok(rounds.caughtUp.has(four))
  rounds.tick(20, [four], at(5, false), logIndex(5))
  assert.ok(!rounds.caughtUp.has(four))
})

void test('a learner that was away starts over, as do all learners under another leader', () => {
  const rounds = new CatchUpRounds(300)
  for (const now of [0, 10]) rounds.tick(now, [four], at(5), logIndex(5))
  rounds.tick(20, [], at(5), logIndex(5))
  rounds.tick(30, [four], at(5), logIndex(5))
  assert.ok(!rounds.caughtUp.has(four))
  rounds.tick(40, [four], at(5), logIndex(5))
  assert.ok(rounds.caughtUp.has(four))
  rounds.clear()
  assert.equal(rounds.caughtUp.size, 0)
})
