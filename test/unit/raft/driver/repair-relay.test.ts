/*
 * Goal: a snapshot is requested from the leader only, sent by a leader only, and accepted only
 * while it is wanted.
 * Method: a relay with a fake driver and a manual clock.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logIndex, nodeId } from '../../../../raft/core/types.ts'
import type { NodeId } from '../../../../raft/core/types.ts'
import { RepairRelay } from '../../../../raft/driver/repair-relay.ts'
import type { PeerMessage } from '../../../../raft/ports.ts'
import { memberInfo } from '../../../../fixtures/fake-consensus.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

function bench(leader: NodeId | null) {
  const clock = new ManualClock()
  const sent: PeerMessage[] = []
  const states: number[] = []
  const needs = {
    self: nodeId(1),
    leader,
    members: [1, 2, 3].map((id) => memberInfo(id, `n${id}`)),
    logBase: logIndex(0),
    send: (message: PeerMessage) => void sent.push(message),
    sendState: (peer: NodeId) => void states.push(peer),
  }
  return { clock, sent, states, needs, relay: new RepairRelay(needs, clock) }
}

void test('a snapshot is requested from the leader, and accepted until the request expires', async () => {
  const { clock, sent, relay } = bench(nodeId(3))
  assert.equal(relay.wanted, null)
  relay.local(logIndex(40))
  assert.deepEqual(sent, [{ kind: 'state-wanted', from: 1, to: 3, atLeast: 40 }])
  assert.equal(relay.wanted, 40)
  await clock.advance(5000)
  assert.equal(relay.wanted, null)
})

void test('a snapshot below the base of the log is neither requested nor accepted', () => {
  const { sent, needs, relay } = bench(nodeId(3))
  needs.logBase = logIndex(70)
  relay.local(logIndex(40))
  assert.deepEqual(sent, [{ kind: 'state-wanted', from: 1, to: 3, atLeast: 70 }])
  assert.deepEqual([relay.wanted, relay.logNeed?.from], [70, 70])
  needs.logBase = logIndex(90)
  assert.equal(relay.wanted, 90, 'the request is fulfilled')
})

void test('without a leader, or as the leader, a member sends no request', () => {
  for (const leader of [null, nodeId(1)]) {
    const { sent, relay } = bench(leader)
    relay.local(logIndex(40))
    assert.deepEqual(sent, [])
    assert.equal(relay.wanted, 40)
  }
})

void test('a leader serves requests of members only, and followers serve none', () => {
  const { states, needs, relay } = bench(nodeId(1))
  relay.requested(nodeId(2), logIndex(5))
  relay.requested(nodeId(9), logIndex(5))
  needs.leader = nodeId(2)
  relay.requested(nodeId(3), logIndex(5))
  assert.deepEqual(states, [2])
})
