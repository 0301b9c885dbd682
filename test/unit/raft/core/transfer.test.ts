/*
 * Goal: leadership is transferred only to a member that can take over soon, so that a failed
 * transfer blocks few proposals.
 * Method: one leader in ticks; the test plays the followers and requests transfers as often as
 * possible.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { transferLagMax, transferPauseTimeouts } from '../../../../raft/core/transfer.ts'
import { nodeId } from '../../../../raft/core/types.ts'
import { Solo } from './solo.ts'

const electionTicks = 10
const silent = { kind: 'refused', reason: 'target-silent' }
const behind = { kind: 'refused', reason: 'target-behind' }
const declined = { kind: 'refused', reason: 'target-declined' }

/** A tick in which these followers respond. */
function beat(solo: Solo, answering: readonly number[]): void {
  solo.tick(1)
  for (const id of answering) solo.receive({ ...solo.from(id), kind: 'heartbeat-response', context: null })
}

/**
 * Returns the share of proposals that are refused during repeated transfer requests to member 3.
 */
function refusedShare(solo: Solo, answering: readonly number[], askEveryTicks: number): number {
  const ticks = 600
  let refused = 0
  for (let at = 0; at < ticks; at++) {
    if (at % askEveryTicks === 0) solo.raft.transferLeadership(nodeId(3))
    if (solo.propose('a').kind === 'dropped') refused++
    else for (const id of answering) solo.acceptAll(id)
    beat(solo, answering)
  }
  return refused / ticks
}

void test('repeated transfer requests to a dead voter block no proposal', () => {
  for (const askEveryTicks of [1, 5, 17]) {
    const solo = new Solo()
    solo.lead([2, 3])
    for (let at = 0; at <= 2 * electionTicks; at++) beat(solo, [2])
    assert.equal(refusedShare(solo, [2], askEveryTicks), 0, `every ${askEveryTicks} ticks`)
  }
})

void test('a transfer that its target never takes blocks proposals for at most one election timeout in five', () => {
  for (const askEveryTicks of [1, 5, 17]) {
    const solo = new Solo()
    solo.lead([2, 3])
    const share = refusedShare(solo, [2, 3], askEveryTicks)
    assert.ok(share > 0 && share <= 1 / (1 + transferPauseTimeouts), `${share}, every ${askEveryTicks} ticks`)
  }
})

void test('a voter without contact for an election timeout gets no transfer and no timeout-now', () => {
  const solo = new Solo()
  solo.lead([2, 3])
  for (let at = 0; at <= electionTicks; at++) beat(solo, [2])
  assert.deepEqual(solo.raft.transferLeadership(nodeId(3)), silent)
  assert.equal(solo.raft.status().transferTarget, null)
  assert.equal(solo.takeAll('timeout-now').length, 0)
})

void test('a voter whose progress is unknown gets no transfer', () => {
  const solo = new Solo()
  solo.lead([2])
  assert.equal(solo.raft.status().followers.find(({ id }) => id === 3)?.state, 'probe')
  assert.deepEqual(solo.raft.transferLeadership(nodeId(3)), behind)
  solo.acceptAll(3)
  assert.deepEqual(solo.raft.transferLeadership(nodeId(3)), { kind: 'accepted' })
})

void test('a replicating voter gets a transfer if it lags within the limit', () => {
  const solo = new Solo({ options: { uncommittedBytesMax: 2 ** 30 } })
  solo.lead([2, 3])
  for (let at = 0; at < transferLagMax; at++) solo.propose('a')
  assert.deepEqual(solo.raft.transferLeadership(nodeId(3)), { kind: 'accepted' })
  solo.raft.transferLeadership(nodeId(1))
  solo.propose('a')
  assert.deepEqual(solo.raft.transferLeadership(nodeId(3)), behind)
})

void test('a voter that did not take over is tried again only after a pause, and another voter at once', () => {
  const solo = new Solo()
  solo.lead([2, 3])
  assert.equal(solo.raft.transferLeadership(nodeId(3)).kind, 'accepted')
  for (let at = 0; at < electionTicks; at++) beat(solo, [2, 3])
  for (let at = 0; at < transferPauseTimeouts * electionTicks; at++) {
    assert.deepEqual(solo.raft.transferLeadership(nodeId(3)), declined, `tick ${at}`)
    beat(solo, [2, 3])
  }
  assert.equal(solo.raft.transferLeadership(nodeId(3)).kind, 'accepted')
  assert.equal(solo.raft.transferLeadership(nodeId(2)).kind, 'accepted')
})

void test('alternating requests for two targets block proposals for two election timeouts at most', () => {
  const solo = new Solo()
  solo.lead([2, 3])
  let longest = 0
  for (let at = 0, run = 0; at < 40; at++) {
    solo.raft.transferLeadership(nodeId(2 + (at % 2)))
    run = solo.propose('a').kind === 'dropped' ? run + 1 : 0
    longest = Math.max(longest, run)
    beat(solo, [2, 3])
  }
  assert.ok(longest > 0 && longest <= 2 * electionTicks, `${longest} ticks`)
})

void test('a transfer that is cancelled costs its target no pause', () => {
  const solo = new Solo()
  solo.lead([2, 3])
  solo.raft.transferLeadership(nodeId(3))
  solo.raft.transferLeadership(nodeId(1))
  assert.equal(solo.raft.transferLeadership(nodeId(3)).kind, 'accepted')
})
