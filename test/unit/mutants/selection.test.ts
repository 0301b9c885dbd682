/*
 * Goal: a mutation is tried with the checks that execute its place, the likeliest first, and with
 * at most as many as the bounds allow.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seeds, tests } from '../../mutants/mutant.ts'
import { coveredRanges, isCovered, joined } from '../../mutants/random/covered-ranges.ts'
import type { Range } from '../../mutants/random/covered-ranges.ts'
import { checksFor, firstDifference } from '../../mutants/random/selection.ts'
import type { CoveringCheck } from '../../mutants/random/selection.ts'

const range = (
  startOffset: number,
  endOffset: number,
  count: number,
): { startOffset: number; endOffset: number; count: number } => ({ startOffset, endOffset, count })

void test('the innermost range decides whether a place was executed', () => {
  const file = { ranges: [range(0, 100, 1)] }
  const called = { ranges: [range(10, 50, 3), range(20, 30, 0), range(22, 25, 1)] }
  const uncalled = { ranges: [range(60, 80, 0)] }
  const expected = [
    [0, 20],
    [22, 25],
    [30, 60],
    [80, 100],
  ]
  assert.deepEqual(coveredRanges([file, called, uncalled]), expected)
  assert.deepEqual(coveredRanges([uncalled, called, file]), expected)
  assert.deepEqual(coveredRanges([]), [])
})

void test('the ranges that two processes executed are merged', () => {
  assert.deepEqual(
    joined([
      [30, 40],
      [0, 10],
      [5, 20],
      [20, 25],
    ]),
    [
      [0, 25],
      [30, 40],
    ],
  )
  assert.ok(isCovered([[0, 25]], 0) && isCovered([[0, 25]], 24))
  assert.ok(!isCovered([[0, 25]], 25) && !isCovered([], 0))
})

const covering = (file: string, seconds: number, ranges: readonly Range[], passes = true): CoveringCheck => ({
  check: tests(file),
  recorded: { passes, seconds, ranges: { 'src/a/turns.ts': ranges } },
})

const names = (chosen: readonly CoveringCheck[]): readonly string[] =>
  chosen.map(({ check }) => (check.kind === 'tests' ? check.file : 'seeds'))

const wide = { checksMax: 10, secondsMax: 100 }

void test("a file's own test runs first, then the others that reach the place, the quickest first", () => {
  const all = [
    covering('unit/src/b', 5, [[0, 10]]),
    covering('unit/src/c', 2, [[0, 10]]),
    covering('unit/src/a/turns', 9, [[0, 10]]),
    covering('unit/src/elsewhere', 1, [[10, 20]]),
    covering('unit/src/broken', 1, [[0, 10]], false),
    { check: seeds(1, 3), recorded: { passes: true, seconds: 20, ranges: {} } },
  ]
  assert.deepEqual(names(checksFor('src/a/turns.ts', 5, all, wide)), [
    'unit/src/a/turns.test.ts',
    'unit/src/c.test.ts',
    'unit/src/b.test.ts',
  ])
  assert.deepEqual(checksFor('src/a/other.ts', 5, all, wide), [])
})

void test('a mutation runs at most as many checks as the bounds allow, and at least one', () => {
  const all = [1, 2, 3, 4].map((seconds) => covering(`unit/${seconds}`, seconds, [[0, 10]]))
  const count = (checksMax: number, secondsMax: number): number =>
    checksFor('src/a/turns.ts', 5, all, { checksMax, secondsMax }).length
  assert.equal(count(3, 100), 3)
  assert.equal(count(10, 6), 3)
  assert.equal(count(10, 5.9), 2)
  assert.equal(count(10, 0.5), 1)
})

void test('the place of a mutation is where two compiled texts first differ', () => {
  assert.equal(firstDifference('a < b', 'a <= b'), 3)
  assert.equal(firstDifference('a(); b()', 'b()'), 0)
  assert.equal(firstDifference('a', 'ab'), 1)
  assert.equal(firstDifference('same', 'same'), 4)
})
