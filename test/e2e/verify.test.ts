/*
 * Goal: a healthy cluster with temporary failures keeps all guarantees, and the checkers find no
 * violation.
 * Method: three real processes, killed and paused, everything recorded and judged as `orchctl
 * verify` does.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { allOf, verifyFailovers, verifyPauses } from '../support/runs/verify-run.ts'

/**
 * Calls time out before a pause ends, so that further calls begin during it. The time suffices to
 * connect on a busy machine.
 */
const traffic = { durationMs: 10_000, clients: 8, objects: 4, rate: 150, timeoutMs: 1000 }

void test('histories of clients during failovers are linearizable, with correct lists and watches', async (t) => {
  await verifyFailovers(t, { durationMs: 10_000, clients: 8, objects: 10, rate: 150, seed: 11 })
})

void test('reads of members that were paused are most recent', async (t) => {
  const cluster = await ProcessCluster.start({ members: 3 })
  t.after(() => cluster.remove())
  const { judgement } = await verifyPauses(t, cluster, { ...traffic, seed: 1 })
  assert.notEqual(judgement.verdict, 'anomaly', allOf(judgement.checks))
})
