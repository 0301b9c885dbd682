/*
 * Goal: a peer is reported as ended only if no connection to or from it exists.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { nodeId } from '../../../../raft/core/types.ts'
import type { NodeId } from '../../../../raft/core/types.ts'
import { EndedPeers } from '../../../../raft/transport/ended-peers.ts'
import { connect, startMember, until } from '../../../conformance/transport-members.ts'
import { grpcHarness, testLimits } from './fixtures.ts'

void test('a member that cannot be called, but calls, has not ended', async (t) => {
  const failures: string[] = []
  const harness = grpcHarness({
    onEvent: (name, event) => {
      if (name === 'n1' && event.kind === 'link-down') failures.push(event.cause)
    },
  })
  t.after(() => harness.close())
  const a = await startMember(harness, { name: 'n1', id: 1 })
  const b = await startMember(harness, { name: 'n2', id: 2 })
  b.transport.setPeers([a.info, b.info])
  const last = (): boolean | undefined => a.receiver.endedReports.at(-1)?.hasEnded
  // Port 9 of the loopback address is closed.
  a.transport.setPeers([a.info, { ...b.info, peerAddress: '127.0.0.1:9' }])
  await connect(b, a)
  await until('the address of b was tried', () => failures.length > 0)
  await until('b is not reported as ended', () => last() !== true)
  // It is called again several times.
  await sleep(5 * testLimits.backoffMsMax)
  assert.notEqual(last(), true)
  await b.transport.close()
  await until('b is reported as ended', () => last() === true)
})

void test('a peer that is not a member any more is no longer reported as ended', async (t) => {
  const harness = grpcHarness()
  t.after(() => harness.close())
  const a = await startMember(harness, { name: 'n1', id: 1 })
  const b = await startMember(harness, { name: 'n2', id: 2 })
  for (const { transport } of [a, b]) transport.setPeers([a.info, b.info])
  await connect(a, b)
  await b.transport.close()
  await until('b is reported as ended', () => a.receiver.endedReports.length === 1)
  a.transport.setPeers([a.info])
  await until('the report is withdrawn', () => a.receiver.endedReports.length === 2)
  assert.equal(a.receiver.endedReports[1]?.hasEnded, false)
})

void test('each change is reported once, after the call', async () => {
  const reports: (readonly [NodeId, boolean])[] = []
  const ended = new EndedPeers((peer, hasEnded) => reports.push([peer, hasEnded]))
  const [one, two] = [nodeId(1), nodeId(2)]
  ended.update(one, false)
  ended.update(one, true)
  ended.update(one, true)
  ended.update(two, true)
  ended.update(two, false)
  assert.deepEqual(reports, [])
  await Promise.resolve()
  assert.deepEqual(reports, [
    [one, true],
    [two, false],
  ])
})

void test('a link that is refused after it was up for long waits as long as after any refusal', async (t) => {
  const limits = { ...testLimits, backoffMsMax: 400 }
  const times = { down: 0, up: 0 }
  const harness = grpcHarness({
    limits,
    onEvent: (name, { kind }) => {
      if (name !== 'n1') return
      if (kind === 'link-down') times.down = performance.now()
      if (kind === 'link-up') times.up = performance.now()
    },
  })
  t.after(() => harness.close())
  const a = await startMember(harness, { name: 'n1', id: 1 })
  const b = await startMember(harness, { name: 'n2', id: 2 })
  for (const { transport } of [a, b]) transport.setPeers([a.info, b.info])
  await connect(a, b)
  await sleep(limits.backoffMsMax)
  b.transport.refuse(a.info.id, 'impossible')
  await until('the link is refused', () => times.down > times.up)
  await until('the link is up again', () => times.up > times.down)
  // Half of the delay is random, and timers may fire a few ms early.
  assert.ok(times.up - times.down >= limits.backoffMsMax / 2 - 10, `${times.up - times.down} ms`)
})
