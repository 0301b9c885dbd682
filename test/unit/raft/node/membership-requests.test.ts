/*
 * Goal: a membership change is requested until it is answered, and its caller gets the outcome.
 * Method: a manual clock, and the sent requests.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MemberChange } from '../../../../raft/core/member-change.ts'
import { logIndex, nodeId } from '../../../../raft/core/types.ts'
import { MembershipRequests } from '../../../../raft/node/membership-requests.ts'
import { cluster } from '../../../scenario/member-infos.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

const change: MemberChange = { kind: 'remove', id: nodeId(3) }
const configuration = cluster([1, 2])

function bench() {
  const clock = new ManualClock()
  const sent: number[] = []
  const requests = new MembershipRequests(clock, (request) => void sent.push(request))
  const ask = (ms = 10_000) => requests.change(change, clock.monotonicMs() + ms)
  return { clock, sent, requests, ask }
}

void test('a lost request is repeated with the same number, and answered once', async () => {
  const { clock, sent, requests, ask } = bench()
  const requested = ask()
  await clock.advance(1000)
  assert.deepEqual(sent, [1, 1, 1])
  requests.leaderChanged()
  assert.deepEqual(sent, [1, 1, 1, 1])
  requests.answered(1, { kind: 'done', index: logIndex(9), configuration })
  requests.answered(1, { kind: 'done', index: logIndex(99), configuration })
  assert.deepEqual(await requested, { index: 9, configuration })
  await clock.advance(5000)
  assert.equal(sent.length, 4)
  assert.equal(clock.pending, 0)
})

void test('a request answered with later is repeated soon', async () => {
  const { clock, sent, requests, ask } = bench()
  const requested = ask()
  requests.answered(1, { kind: 'later' })
  await clock.advance(60)
  assert.deepEqual(sent, [1, 1])
  requests.answered(1, { kind: 'refused', reason: 'last-voter', message: 'no: so' })
  await assert.rejects(requested, { name: 'MembershipError', code: 'last-voter', message: 'no: so' })
})

void test('a request ends at its deadline or at stop, and leaves nothing pending', async () => {
  const { clock, sent, requests, ask } = bench()
  const late = assert.rejects(ask(700), { code: 'timed-out' })
  await clock.advance(700)
  await late
  const stopped = assert.rejects(ask(), { code: 'stopped' })
  requests.stop()
  await stopped
  const sentBefore = sent.length
  await clock.advance(5000)
  assert.equal(sent.length, sentBefore)
  assert.equal(clock.pending, 0)
})

void test('requests above the limit are refused', async () => {
  const { requests, ask } = bench()
  const requested = Array.from({ length: 32 }, () => ask())
  await assert.rejects(ask(), { code: 'overloaded' })
  const all = Promise.allSettled(requested)
  requests.stop()
  await all
})

void test("a member's request for its own removal succeeds by the removal", async () => {
  const { requests, ask } = bench()
  const requested = ask()
  requests.removed(nodeId(3), configuration, logIndex(9))
  assert.deepEqual(await requested, { index: 9, configuration })
  const other = assert.rejects(ask(), { code: 'stopped', message: /: use another one$/ })
  requests.removed(nodeId(2), configuration, logIndex(9))
  await other
})
