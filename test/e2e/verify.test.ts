/*
 * Goal: a healthy cluster that loses its leaders breaks no promise, and is not accused of any.
 * Method: three real processes, the leader killed and paused in turns, everything recorded and judged as `orchctl verify`
 * does.
 */
import { test } from 'node:test'
import { verifyFailovers } from '../support/verify-run.ts'

void test('what clients were told while leaders went away is linearizable, listed and watched right', async (t) => {
  await verifyFailovers(t, { durationMs: 10_000, clients: 8, objects: 10, rate: 300, seed: 11 })
})
