/*
 * Goal: every sixth deliberate mistake of the list is noticed by the check that was named for it;
 * `long/variants` tries all.
 * Method: the mistake is made in a copy of the compiled program, in which the check then has to
 * fail; without it, the same check in the same copy has to pass. `make mutants` tries more checks,
 * and the simulation.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sourceOf } from './copy.ts'
import { everyVariant } from '../support/fixtures/variants.ts'
import { mutants } from './list/index.ts'
import { nameOf } from './mutant.ts'
import { compiled, mutated, StaleMutant } from './patch.ts'
import { baseline, lanes, tryMutant, unchanged } from './trial.ts'

/** Those that are tried; every sixth one where time is short. */
const tried = mutants.filter((_, at) => everyVariant || at % 6 === 0)

void test('each mutant has a name of its own', () => {
  assert.equal(new Set(mutants.map(({ id }) => id)).size, mutants.length)
  assert.ok(mutants.length >= 30)
})

void test('a mutant that does not apply, applies twice or does not compile is an error', () => {
  const [some] = mutants
  assert.ok(some !== undefined)
  const with1 = { ...some, edits: [{ find: 'a', replace: 'b' }] } as const
  assert.equal(mutated('xay', with1), 'xby')
  assert.throws(() => mutated('xyz', with1), StaleMutant)
  assert.throws(() => mutated('aa', with1), StaleMutant)
  assert.throws(() => mutated('a', { ...some, edits: [{ find: 'a', replace: 'a' }] }), StaleMutant)
  assert.throws(() => compiled('const = 1', 'no-program.ts'), StaleMutant)
})

void test('every mutant applies to the sources', () => {
  const stale: string[] = []
  for (const mutant of mutants) {
    try {
      mutated(sourceOf(mutant.file), mutant)
    } catch (cause) {
      stale.push(cause instanceof Error ? cause.message : String(cause))
    }
  }
  assert.deepEqual(stale, [])
})

void test('without a mutant every check passes', async () => {
  const copy = unchanged(tried)
  try {
    const checks = tried.map(({ killedBy }) => killedBy)
    assert.deepEqual(await baseline(copy, checks), [])
  } finally {
    copy.remove()
  }
})

void describe('noticed:', { concurrency: lanes }, () => {
  for (const mutant of tried) {
    void test(`${mutant.id}: ${mutant.breaks}`, async () => {
      const [trial] = await tryMutant(mutant, [mutant.killedBy])
      const verdict = trial?.verdict
      const given = verdict?.kind === 'void' ? verdict.why : 'it passes'
      assert.equal(verdict?.kind, 'failed', `${nameOf(mutant.killedBy)} does not notice it: ${given}`)
    })
  }
})
