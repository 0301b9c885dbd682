/*
 * Goal: expressions cost what they cost upstream, estimates are those of upstream, and an
 * evaluation ends when its budget is spent.
 * Method: tables of costs computed by the rules of cel-go and upstream; budgets that are too small.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CelBudget } from '../../../../../src/api/cel/budget.ts'
import { evaluateCel } from '../../../../../src/api/cel/cel.ts'
import type { CelType } from '../../../../../src/api/cel/types.ts'
import { celDyn, celInt, celList, celObject, celString } from '../../../../../src/api/cel/types.ts'
import { compile, costOf, estimateOf } from './cel-support.ts'

const text: CelType = { kind: 'string', maxSize: 100 }
const list: CelType = { kind: 'list', element: { kind: 'string', maxSize: 50 }, maxSize: 10 }
const self = celObject(
  'Self',
  new Map([
    ['text', { member: 'text', type: text }],
    ['list', { member: 'list', type: list }],
    ['n', { member: 'n', type: celInt }],
    ['free', { member: 'free', type: celList(celString) }],
  ]),
)
const value = { text: 'x'.repeat(30), list: ['a', 'b', 'c'], n: 1, free: ['a'] }

for (const [expression, actual, estimated] of [
  ['1 + 1 == 2', 2, '2..2'],
  ['self.n > 0', 3, '3..3'],
  ['has(self.n)', 1, '1..1'],
  ['self.n > 0 && self.n < 5', 6, '3..6'],
  ['true ? self.n : 1', 2, '0..2'],
  ["self.text == 'xxxxxxxxxxxx'", 4, '3..4'],
  ['self.text + self.text', 10, '4..24'],
  ["self.text.startsWith('xx')", 5, '3..3'],
  ["self.text.contains('xx')", 5, '2..12'],
  ["self.text.matches('^x+$')", 6, '3..13'],
  ["'a' in self.list", 5, '2..12'],
  ['[1, 2, 3]', 10, '10..10'],
  ["{'a': 1}", 30, '30..30'],
  // Each element: 2 for the condition, 1 for the accumulator, 1 for the variable; 1 for the result.
  ["self.list.all(x, x != '')", 15, '3..43'],
  ['self.list.exists(x, false)', 15, '3..43'],
  ["self.list.map(x, x + 'y')", 55, '13..203'],
  ['size(self.text)', 3, '3..3'],
  ['self.text.lowerAscii()', 5, '2..12'],
  ["self.text.replace('x', 'yy')", 8, '2..22'],
  ["self.list.join(',')", 3, '2..53'],
  ['self.list.isSorted()', 2, '2..62'],
  ["quantity('10Gi').isLessThan(quantity('20Gi'))", 3, '3..3'],
  // The text of a scalar has a small maximum size, so that a message may contain it.
  ["'n is ' + string(self.n) + string(true)", 6, '6..10'],
  ["string(1.5) + string(2u) + string(duration('1s'))", 6, '6..16'],
  ["string(timestamp('2020-01-01T00:00:00Z')) + '.'", 5, '5..6'],
] as readonly (readonly [string, number, string])[]) {
  void test(`the cost of ${expression} is ${actual}, estimated ${estimated}`, () => {
    const variables = { self: [self, value] } as const
    assert.equal(costOf(expression, variables), actual)
    assert.equal(estimateOf(expression, variables), estimated)
  })
}

void test('an estimate without a maximum size is unlimited', () => {
  const variables = { self: [self, value], any: [celDyn, 1] } as const
  assert.equal(estimateOf('self.free.all(x, true)', variables), '3..Infinity')
  assert.equal(estimateOf('any.all(x, true)', variables), '2..Infinity')
})

void test('estimates multiply over nested macros', () => {
  const variables = { self: [self, value] } as const
  // The range and the result; the condition, the accumulator, both variables, 50 characters.
  const inner = 2 + 1 + 10 * (2 + 1 + 2 + 5)
  const expected = 2 + 1 + 10 * (2 + 1 + inner)
  assert.equal(estimateOf('self.list.all(x, self.list.all(y, x != y))', variables), `3..${expected}`)
})

void test('an evaluation ends at the limit of an expression, and at what is left of a shared budget', () => {
  const numbers = Array.from({ length: 2000 }, (_, at) => at)
  const compiled = compile('n.all(x, n.all(y, x + y >= 0))', { n: [celList(celInt)] })
  assert.ok(typeof compiled !== 'string', 'compiled')
  const bindings = new Map([['n', numbers]])
  const large = new CelBudget(10_000_000)
  assert.deepEqual(evaluateCel(compiled, bindings, large), { kind: 'over-budget', limit: 'expression' })
  assert.equal(large.spent, 1_000_000)
  const small = new CelBudget(5000)
  assert.deepEqual(evaluateCel(compiled, bindings, small), { kind: 'over-budget', limit: 'shared' })
  assert.equal(small.left, 0)
})

void test('work that the cost leaves out ends an evaluation as well', () => {
  const big = Array.from({ length: 100_000 }, (_, at) => at)
  const compiled = compile('d.all(x, d == d)', { d: [celDyn] })
  assert.ok(typeof compiled !== 'string', 'compiled')
  const outcome = evaluateCel(compiled, new Map([['d', big]]), new CelBudget(10_000_000))
  assert.deepEqual(outcome, { kind: 'over-budget', limit: 'expression' })
})
