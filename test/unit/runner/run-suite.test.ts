/*
 * Goal: the suites run in order, and the files that must not be disturbed use the time in which
 * only computations run that yield to them.
 * Method: suites that were written for it, and those of `make test`.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stepsOf } from '../../runner/run-suite.ts'
import type { SuiteRun } from '../../runner/run-suite.ts'
import { suites } from '../../runner/suites.ts'
import type { Suite } from '../../runner/suites.ts'

type Marks = Pick<Suite, 'alone' | 'yields'>

function runOf(name: string, files: readonly string[], marks: Marks = {}): SuiteRun {
  const suite = { name, budgetSeconds: 1, fileSeconds: 1, parallel: 1, question: '', ...marks }
  return { suite, files: files.map((file) => `/tests/${name}/${file}.test.js`) }
}

/** Returns the steps as text. */
function shown(runs: readonly SuiteRun[]): readonly string[] {
  return stepsOf(runs, '/tests').map((together) =>
    together
      .map(({ suite, files }) => files.map((file) => `${suite.name}/${file.split(/[/.]/).at(-3)}`).join(' '))
      .join(' | '),
  )
}

void test('files that run alone run together with an earlier suite that yields, the others in the order of the suites', () => {
  const runs = [
    runOf('first', ['a']),
    runOf('computes', ['b'], { yields: true }),
    runOf('second', ['c']),
    runOf('waits', ['d', 'e', 'f'], { alone: ['e'] }),
  ]
  assert.deepEqual(shown(runs), ['first/a', 'computes/b | waits/e', 'second/c', 'waits/d waits/f'])
})

void test('without an earlier suite that yields, files that run alone stay in their suite', () => {
  const waits = runOf('waits', ['d', 'e'], { alone: ['e'] })
  const computes = runOf('computes', ['b'], { yields: true })
  assert.deepEqual(shown([runOf('first', ['a']), waits]), ['first/a', 'waits/d waits/e'])
  assert.deepEqual(shown([waits, computes]), ['waits/d waits/e', 'computes/b'])
  assert.deepEqual(shown([computes, runOf('second', ['c'])]), ['computes/b', 'second/c'])
})

void test('files that two suites run alone never run at the same time', () => {
  const runs = [
    runOf('computes', ['b'], { yields: true }),
    runOf('second', ['c'], { alone: ['c'] }),
    runOf('waits', ['d'], { alone: ['d'] }),
  ]
  assert.deepEqual(shown(runs), ['computes/b', 'second/c', 'waits/d'])
})

void test('the simulation yields to the files of e2e that run alone', () => {
  const runs = suites.map((suite) => ({
    suite,
    files: [...(suite.alone ?? []), 'other'].map((file) => `/tests/${suite.name}/${file}.test.js`),
  }))
  const shared = shown(runs).filter((step) => step.includes('|'))
  assert.deepEqual(shared, ['simulation/other | e2e/stalls e2e/failover'])
})
