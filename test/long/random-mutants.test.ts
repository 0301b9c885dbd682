/*
 * Goal: the tests notice small random mistakes, not only the deliberate ones of `mutants/list`.
 * Method: mutations that type-check, each with the checks that execute its place. Survivors are
 * printed, to be judged by hand (`mutants/survivors.md`). `MUTANTS_SEED=n` repeats a run; without
 * it the seed is the day, so that each day tries others.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runRandomMutations, summary } from '../mutants/random/run.ts'

const count = 30
/** Far below the usual number: fewer show that the checks did not run. */
const noticedMin = 15
const msPerDay = 86_400_000

void test('at least half of the random mutations are noticed', { timeout: 3_200_000 }, async () => {
  const seed = Number(process.env['MUTANTS_SEED'] ?? Math.floor(Date.now() / msPerDay))
  const tried = await runRandomMutations(seed, count, (line) => console.log(`# ${line}`))
  for (const line of summary(tried)) console.log(`# ${line}`)
  assert.equal(tried.length, count)
  const noticed = tried.filter(({ outcome }) => outcome.kind === 'noticed').length
  assert.ok(noticed >= noticedMin, `only ${noticed} of ${count}: make mutants RANDOM=${seed} COUNT=${count}`)
})
