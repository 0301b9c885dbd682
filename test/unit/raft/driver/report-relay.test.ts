/*
 * Goal: reports reach their targets, and many of them never become more than one per member and
 * turn.
 * Method: a relay with a fake driver.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeId } from '../../../../raft/core/types.ts'
import type { PeerMessage } from '../../../../raft/ports.ts'
import type { RaftToApi } from '../../../../raft/protocol/thread-messages.ts'
import { ReportRelay } from '../../../../raft/driver/report-relay.ts'
import { memberInfo } from '../../../../fixtures/fake-consensus.ts'

class Bench {
  readonly sent: PeerMessage[] = []
  readonly posted: RaftToApi[] = []
  readonly relay = new ReportRelay({
    self: nodeId(1),
    members: [1, 2, 3].map((id) => memberInfo(id, `n${id}`)),
    send: (message) => this.sent.push(message),
    post: (message) => this.posted.push(message),
  })

  get receivers(): readonly number[] {
    return this.sent.map((message) => (message.kind === 'report' ? message.to : -1))
  }
}

void test('a report goes to all other members, to one member, or to none if its target is not a member', () => {
  const bench = new Bench()
  bench.relay.local(null, Uint8Array.of(1))
  assert.deepEqual(bench.receivers, [2, 3])
  bench.relay.local(nodeId(3), Uint8Array.of(2))
  bench.relay.local(nodeId(9), Uint8Array.of(3))
  bench.relay.local(nodeId(1), Uint8Array.of(4))
  assert.deepEqual(bench.receivers, [2, 3, 3])
})

void test('only the latest report of each member in a turn is passed on', () => {
  const bench = new Bench()
  for (let round = 0; round < 100; round++) {
    for (const from of [2, 3, 9]) bench.relay.received(nodeId(from), Uint8Array.of(round))
  }
  assert.deepEqual(bench.posted, [])
  bench.relay.flush()
  bench.relay.flush()
  assert.deepEqual(bench.posted, [
    { kind: 'report', from: 2, bytes: Uint8Array.of(99) },
    { kind: 'report', from: 3, bytes: Uint8Array.of(99) },
  ])
})
