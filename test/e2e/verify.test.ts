/*
 * Goal: a healthy cluster that loses its leaders breaks no promise and is not accused of any; one whose members answer
 * from what they happen to have is.
 * Method: three real processes, killed and paused, everything recorded and judged as `orchctl verify` does; the same
 * pauses with the shipped program and with one without its read barrier.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { ProcessCluster } from '../support/process-cluster.ts'
import { allOf, verifyFailovers, verifyPauses } from '../support/verify-run.ts'

const noBarrier = fileURLToPath(new URL('../support/no-barrier-server.js', import.meta.url))

/** Calls end before the pause does, so that others begin in it. */
const traffic = { durationMs: 8_000, clients: 8, objects: 4, rate: 300, timeoutMs: 400 }

void test('what clients were told while leaders went away is linearizable, listed and watched right', async (t) => {
  await verifyFailovers(t, { durationMs: 10_000, clients: 8, objects: 10, rate: 300, seed: 11 })
})

void test('reads of members that were paused are most recent', async (t) => {
  const cluster = await ProcessCluster.start({ members: 3 })
  t.after(() => cluster.remove())
  const { judgement } = await verifyPauses(t, cluster, { ...traffic, seed: 1 })
  assert.notEqual(judgement.verdict, 'anomaly', allOf(judgement.checks))
})

void test('without the read barrier the same pauses are found out: stale reads', async (t) => {
  const cluster = await ProcessCluster.start({ members: 3, program: noBarrier })
  t.after(() => cluster.remove())
  // Whether a paused member is asked in time is up to the machine; several tries make up for it.
  for (let seed = 1; seed <= 4; seed++) {
    const { judgement } = await verifyPauses(t, cluster, { ...traffic, seed })
    const anomalies = judgement.checks.flatMap((check) => check.anomalies)
    const stale = anomalies.find(({ kind }) => kind === 'stale-read')
    if (stale === undefined) continue
    console.log(`# found at try ${seed}: ${stale.text}`)
    return
  }
  assert.fail('nothing was found in four tries')
})
