/*
 * Goal: the parts of the in-process network beyond the interface.
 * Method: two members; the rest is in the conformance suite.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { term } from '../../../../raft/core/types.ts'
import { MemoryNetwork } from '../../../../raft/transport/memory-transport.ts'
import { connect, startMember, until } from '../../../conformance/transport-members.ts'
import { memoryHarness } from './fixtures.ts'

void test('a blocked link drops one direction only, until it is healed', async () => {
  const network = new MemoryNetwork()
  const harness = memoryHarness(network)
  const a = await startMember(harness, { name: 'n1', id: 1 })
  const b = await startMember(harness, { name: 'n2', id: 2 })
  for (const { transport } of [a, b]) transport.setPeers([a.info, b.info])
  network.block(a.info.id, b.info.id)
  a.transport.send({
    kind: 'read-request',
    from: a.info.id,
    to: b.info.id,
    term: term(1),
    round: 1,
    withHeartbeat: false,
  })
  await until('it is reported', () => a.receiver.unreachables.length === 1)
  await connect(b, a)
  assert.equal(b.receiver.messages.length, 0)
  network.heal()
  await connect(a, b)
  await harness.close()
})
