/*
 * Goal: as e2e/verify.test.ts, for longer; and stale reads of a cluster without the read barrier
 * are detected.
 * Method: as there; the same pauses with a program without its read barrier.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { verifyFailovers, verifyPauses } from '../support/runs/verify-run.ts'

const noBarrier = fileURLToPath(new URL('../support/runs/no-barrier-server.js', import.meta.url))

/**
 * The time limit of a call is shorter than a pause, so that calls also begin during the pause, and
 * long enough for a connection on a busy machine.
 */
const traffic = { durationMs: 10_000, clients: 8, objects: 4, rate: 300, timeoutMs: 1000 }

void test('five minutes of failovers keep all guarantees', async (t) => {
  await verifyFailovers(t, { durationMs: 300_000, clients: 12, objects: 20, rate: 300, seed: 12 })
})

void test('without the read barrier the same pauses cause stale reads, which are detected', async (t) => {
  const cluster = await ProcessCluster.start({ members: 3, program: noBarrier })
  t.after(() => cluster.remove())
  // Whether a call reaches a paused member in time depends on the machine, so there are several
  // attempts.
  for (let seed = 1; seed <= 10; seed++) {
    const { judgement } = await verifyPauses(t, cluster, { ...traffic, seed })
    const anomalies = judgement.checks.flatMap((check) => check.anomalies)
    const stale = anomalies.find(({ kind }) => kind === 'stale-read')
    if (stale === undefined) continue
    console.log(`# found in attempt ${seed}: ${stale.text}`)
    return
  }
  assert.fail('no stale read was found in ten attempts')
})
