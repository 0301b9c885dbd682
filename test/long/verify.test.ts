/* Goal and method as e2e/verify.test.ts, for longer. */
import { test } from 'node:test'
import { verifyFailovers } from '../support/verify-run.ts'

void test('five minutes of leaders that go away', async (t) => {
  await verifyFailovers(t, { durationMs: 300_000, clients: 12, objects: 20, rate: 300, seed: 12 })
})
