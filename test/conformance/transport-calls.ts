/*
 * Tests of links before the first message: they dial every configured peer. A `MemoryTransport` has
 * no links and connects with the first message.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logIndex } from '../../raft/core/types.ts'
import { startMember, until } from './transport-members.ts'
import type { TransportHarness } from './transport-members.ts'

export function callsConformance(label: string, openHarness: () => TransportHarness): void {
  void test(`${label}: a removed member without messages to send learns of its removal, too`, async () => {
    const harness = openHarness()
    try {
      const a = await startMember(harness, { name: 'n1', id: 1 })
      const b = await startMember(harness, { name: 'n2', id: 2 })
      const c = await startMember(harness, { name: 'n3', id: 3 })
      c.transport.setPeers([b.info, c.info])
      b.transport.setPeers([b.info, c.info], logIndex(7))
      a.transport.setPeers([b.info])
      await until('the removal is reported', () => a.receiver.removedBy.length > 0)
      assert.deepEqual(a.receiver.removedBy[0], { peer: b.info.id, configurationIndex: 7 })
      assert.deepEqual(c.receiver.removedBy, [])
      assert.deepEqual(b.receiver.messages, [])
    } finally {
      await harness.close()
    }
  })
}
