/*
 * Goal: a mutation counts as noticed only when a check that works without it fails with it.
 * Method: the verdicts of a check are given, with and without the mutation.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Verdict } from '../../mutants/check.ts'
import type { Check } from '../../mutants/mutant.ts'
import type { Mutation } from '../../mutants/random/mutation.ts'
import { outcomeOf } from '../../mutants/random/outcome.ts'
import { summary } from '../../mutants/random/run.ts'
import type { Tried } from '../../mutants/random/run.ts'

const check: Check = { kind: 'tests', file: 'unit/some.test.ts' }
const passed: Verdict = { kind: 'passed', tests: 1 }
const notStarted: Verdict = { kind: 'void', why: 'no test ran' }
const given = (mutated: Verdict, original: Verdict) => (_: Check, program: 'mutated' | 'original') =>
  Promise.resolve(program === 'mutated' ? mutated : original)

void test('a mutation whose check does not start even without it is not checked', async () => {
  const outcome = await outcomeOf([check], given(notStarted, notStarted))
  assert.deepEqual(outcome, { kind: 'unchecked', by: 'unit/some.test.ts', why: 'no test ran' })
})

void test('a mutation that stops a working check from starting or ending is noticed', async () => {
  const unloaded = await outcomeOf([check], given(notStarted, passed))
  assert.deepEqual(unloaded, { kind: 'noticed', by: 'unit/some.test.ts', how: 'no test ran' })
  const hanging = await outcomeOf([check], given({ ...notStarted, timedOut: true }, passed))
  assert.deepEqual(hanging, { kind: 'noticed', by: 'unit/some.test.ts', how: 'timeout' })
})

void test('a mutation without a check is not reached, and one whose checks all pass survives', async () => {
  assert.deepEqual(await outcomeOf([], given(passed, passed)), { kind: 'unreached' })
  assert.deepEqual(await outcomeOf([check], given(passed, passed)), { kind: 'survived', checks: 1 })
})

void test('mutations that were not checked are counted separately', async () => {
  const mutation: Mutation = {
    operator: 'add one',
    file: 'base/random.ts',
    line: 1,
    start: 0,
    end: 1,
    replacement: '',
  }
  const tried: readonly Tried[] = [
    { mutation, outcome: { kind: 'noticed', by: 'a', how: 'b' } },
    { mutation, outcome: { kind: 'unchecked', by: 'a', why: 'b' } },
  ]
  assert.deepEqual(summary(tried).slice(-2), ['1 of 1 random mutations were noticed', '1 were not checked'])
})
