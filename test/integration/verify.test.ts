/*
 * Goal: what records and judges histories accepts a right server and rejects broken ones, naming what is wrong.
 * Method: real servers in this process behind real sockets: the shipped one, and three that are broken on purpose.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { AnomalyKind } from '../../src/verify/finding.ts'
import type { VerifyResult } from '../../src/verify/run.ts'
import { droppedEvent, lostWrite, staleReads } from '../support/broken-servers.ts'
import { verifiedServer } from '../support/verified-server.ts'
import { allOf, verifyAgainst } from '../support/verify-run.ts'

const traffic = { durationMs: 2500, clients: 6, objects: 6, rate: 400, seed: 7 }

async function verify(
  t: TestContext,
  ...change: Parameters<typeof verifiedServer> extends [TestContext, ...infer Rest] ? Rest : never
): Promise<VerifyResult> {
  return verifyAgainst(t, [await verifiedServer(t, ...change)], traffic)
}

function assertNamed({ judgement }: VerifyResult, kind: AnomalyKind): void {
  assert.equal(judgement.verdict, 'anomaly')
  const anomaly = judgement.checks.flatMap(({ anomalies }) => anomalies).find((one) => one.kind === kind)
  assert.ok(anomaly !== undefined, allOf(judgement.checks))
  assert.ok(anomaly.witnesses.length >= 2, 'the history that shows it is told')
  assert.ok(anomaly.witnesses.length <= 6, 'and no more of it than that')
}

void test('a right server is accepted', async (t) => {
  const { judgement, notes, history } = await verify(t)
  assert.equal(judgement.verdict, 'ok', allOf(judgement.checks))
  assert.deepEqual(notes, [])
  const kinds = new Set(history.calls.map(({ request }) => request.kind))
  assert.equal(kinds.size, 5, 'all kinds of calls were made')
  assert.ok(history.watches.some(({ resumed }) => resumed))
})

void test('a server that shows old state is rejected: stale reads', async (t) => {
  assertNamed(await verify(t, staleReads), 'stale-read')
})

void test('a server that leaves an event out is rejected: dropped event', async (t) => {
  assertNamed(await verify(t, droppedEvent), 'dropped-event')
})

void test('a server that does not keep what it acknowledged is rejected: lost write', async (t) => {
  assertNamed(await verify(t, lostWrite), 'lost-write')
})
