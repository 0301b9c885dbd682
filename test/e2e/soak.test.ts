/*
 * Goal: whatever one user asks for within the limits, a member with a heap of 1 GiB goes on serving another one.
 * Method: a real durable member; large creates, dry runs, refusals, slow and stalled uploads, watches and lists that are not read,
 * patches, in every encoding and both protocols, from a seed; beside them a small create, get and delete, over and over.
 * `SOAK_SEED=n` repeats a run; ten minutes of it are `node dist/test/run.js --long --only soak`.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runSoak } from '../support/soak-run.ts'

void test('any mixture of requests leaves the member serving others', async () => {
  const seed = Number(process.env['SOAK_SEED'] ?? 1)
  const { others, residentMiB, left, wrongAnswers, table } = await runSoak({ seed, seconds: 20 })
  for (const line of table) console.log(`# ${line}`)
  console.log(`# others: ${others.count} requests, the slowest ${others.slowestMs.toFixed(0)} ms`)
  console.log(`# seed ${seed}, ${residentMiB.toFixed(0)} MiB resident at most`)
  assert.deepEqual(others.failures, [])
  assert.deepEqual(wrongAnswers, [], 'overload is nothing that a client did wrong')
  assert.equal(left, '')
  assert.ok(residentMiB < 2048, `${residentMiB} MiB`)
})
