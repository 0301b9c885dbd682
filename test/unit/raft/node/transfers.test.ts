/*
 * Goal: a request for a leadership transfer that cannot be granted is refused at once, on whichever
 * member it was made.
 * Method: requests on the api thread and relays of several members, by hand.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TransferAnswer } from '../../../../raft/core/errors.ts'
import { nodeId } from '../../../../raft/core/types.ts'
import type { NodeId } from '../../../../raft/core/types.ts'
import { emptyStatus } from '../../../../raft/protocol/consensus-status.ts'
import { TransferRelay } from '../../../../raft/driver/transfer-relay.ts'
import { Transfers } from '../../../../raft/node/transfers.ts'
import type { PeerMessage, TransferRefusal } from '../../../../raft/ports.ts'
import { cluster } from '../../../scenario/member-infos.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

const [one, two, three] = [nodeId(1), nodeId(2), nodeId(3)]
const electionMs = 300

/** The api thread of a member that follows member 1, and its requests to its raft thread. */
function bench() {
  const clock = new ManualClock()
  const requests: number[] = []
  const transfers = new Transfers(clock, electionMs, (request) => void requests.push(request))
  const status = { ...emptyStatus(two), leader: one, configuration: cluster([1, 2, 3]) }
  const begin = (to: NodeId, ms = 10_000) => transfers.begin(to, status, clock.monotonicMs() + ms)
  return { clock, requests, transfers, status, begin }
}

function relay(self: NodeId, answer: TransferAnswer = { kind: 'accepted' }) {
  const sent: PeerMessage[] = []
  const refusals: [number, TransferRefusal][] = []
  const transfers = new TransferRelay({
    self,
    leader: one,
    transferLeadership: () => answer,
    send: (message) => void sent.push(message),
    transferRefused: (request, reason) => void refusals.push([request, reason]),
  })
  return { transfers, sent, refusals }
}

for (const [reason, pattern] of [
  ['target-silent', /has not responded lately/],
  ['target-behind', /lacks too much of the log/],
  ['target-declined', /did not take over/],
  ['not-a-voter', /only a voter can lead/],
] as const) {
  void test(`a refusal ends the request with its reason in one line: ${reason}`, async () => {
    const { clock, requests, transfers, begin } = bench()
    const refused = assert.rejects(begin(three), (error: Error & { code?: string }) => {
      assert.equal(error.code, reason)
      assert.match(error.message, pattern)
      assert.ok(!error.message.includes('\n'))
      return true
    })
    transfers.refused(1, reason)
    await refused
    await clock.advance(10_000)
    assert.deepEqual(requests, [1], 'the request is not repeated')
    assert.equal(clock.pending, 0)
  })
}

void test('a lost request is repeated, a successful one is not', async () => {
  const { clock, requests, transfers, status, begin } = bench()
  const done = begin(three)
  await clock.advance(2 * electionMs)
  assert.deepEqual(requests, [1, 1, 1])
  transfers.onStatus({ ...status, leader: three })
  await done
  await clock.advance(10_000)
  assert.equal(requests.length, 3)
})

void test('a request without a response ends at its deadline', async () => {
  const { clock, begin } = bench()
  const late = assert.rejects(begin(three, 1000), { code: 'timed-out' })
  await clock.advance(1000)
  await late
})

void test('a request through a follower is refused with the reason of the leader', () => {
  const [leader, follower] = [relay(one, { kind: 'refused', reason: 'target-silent' }), relay(two)]
  follower.transfers.local(7, three)
  const wanted = follower.sent[0]
  assert.ok(wanted?.kind === 'transfer-wanted')
  leader.transfers.requested(wanted)
  const answer = leader.sent[0]
  assert.ok(answer?.kind === 'transfer-refused')
  assert.equal(answer.to, two)
  follower.transfers.refused(answer)
  assert.deepEqual(follower.refusals, [[7, 'target-silent']])
})

void test('only the leader can refuse a transfer', () => {
  const { transfers, refusals } = relay(two)
  transfers.refused({ kind: 'transfer-refused', from: three, to: two, round: 1, reason: 'target-silent' })
  assert.deepEqual(refusals, [])
})

void test('a leader that was deposed in between sends no refusal', () => {
  const { transfers, sent, refusals } = relay(one, { kind: 'refused', reason: 'not-leader' })
  transfers.local(1, three)
  transfers.requested({ kind: 'transfer-wanted', from: two, to: one, round: 1, target: three })
  assert.deepEqual([sent, refusals], [[], []])
})
