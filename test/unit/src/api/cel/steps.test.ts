/*
 * Goal: an evaluation ends soon whatever the sizes of values, also where the cost of upstream
 * counts little or nothing.
 * Method: one expression for each function that takes longer than its cost, with a budget of few
 * steps; searches of texts against the ones of the engine.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../../base/random.ts'
import { CelBudget } from '../../../../../src/api/cel/budget.ts'
import { evaluateCel } from '../../../../../src/api/cel/cel.ts'
import {
  celBytes,
  celDouble,
  celDyn,
  celList,
  celString,
  celTimestamp,
} from '../../../../../src/api/cel/types.ts'
import { lastIndexOfText } from '../../../../../src/api/cel/values/find-text.ts'
import { compile } from './cel-support.ts'
import type { Variables } from './cel-support.ts'

const long = 'a'.repeat(200_000)
const url = `https://h/?${Array.from({ length: 2000 }, (_, at) => `k${at}`).join('&')}`
const times = Array<string>(100).fill('2026-01-02T03:04:05.678Z')

const cases: readonly (readonly [what: string, source: string, variables: Variables])[] = [
  ['decoding bytes', 'size(b) > 0', { b: [celBytes, long] }],
  [
    'comparing long texts with elements',
    'a in l',
    { a: [celString, `${long}x`], l: [celList(celString), [`${long}y`]] },
  ],
  [
    'comparing long texts of sets',
    'sets.contains(l, [a])',
    { a: [celString, long], l: [celList(celString), [long]] },
  ],
  ['comparing bytes', 'b == c', { b: [celBytes, long], c: [celBytes, long] }],
  ['parsing a URL', 'isURL(a)', { a: [celString, `https://h/${long}`] }],
  ['listing the keys of a query', '[url(u)].all(x, x.getQuery().size() > 0)', { u: [celString, url] }],
  ['parsing a number', 'double(a) > 0.0', { a: [celString, `1.${'1'.repeat(200_000)}`] }],
  ['reading times', 'l.isSorted()', { l: [celList(celTimestamp), times] }],
  ['writing bytes in hexadecimal', "'%x'.format([a]) != ''", { a: [celString, long] }],
  [
    'finding the digits of a double',
    "'%f%f%f%f%f'.format([d, d, d, d, d]) != ''",
    { d: [celDouble, 5e-324] },
  ],
  ['hashing a key', '{a: 1}.size() == 1', { a: [celString, long] }],
  ['quoting', "strings.quote(a) != ''", { a: [celString, long] }],
  ['changing letters one by one', "a.lowerAscii() != ''", { a: [celString, 'Aé'.repeat(10_000)] }],
]

for (const [what, source, variables] of cases) {
  void test(`${what} counts as work that the cost leaves out`, () => {
    const compiled = compile(source, variables)
    assert.ok(typeof compiled !== 'string', 'compiled')
    const bindings = new Map(Object.entries(variables).map(([name, [, value = null]]) => [name, value]))
    const outcome = evaluateCel(compiled, bindings, new CelBudget(1_000_000, 1000))
    assert.deepEqual(outcome, { kind: 'over-budget', limit: 'shared' })
    assert.equal(evaluateCel(compiled, bindings, new CelBudget(1_000_000)).kind, 'value')
  })
}

void test('evaluations share the steps of a budget', () => {
  const big = Array.from({ length: 10_000 }, (_, at) => at)
  const compiled = compile('d == d', { d: [celDyn] })
  assert.ok(typeof compiled !== 'string', 'compiled')
  const budget = new CelBudget(10_000_000, 100_000)
  const outcomes = Array.from({ length: 4 }, () => evaluateCel(compiled, new Map([['d', big]]), budget).kind)
  assert.deepEqual(outcomes, ['value', 'value', 'value', 'over-budget'])
  assert.equal(budget.stepsLeft, 0)
})

void test('the last occurrence of a long text is found as the engine does, from any start', () => {
  const random = new SeededRandom(3)
  for (let round = 0; round < 2000; round++) {
    const letters = 1 + random.below(2)
    const made = (length: number): string =>
      Array.from({ length }, () => 'ab'[random.below(letters)] ?? '').join('')
    const unit = made(1 + random.below(4))
    const text = unit.repeat(random.below(30)) + made(random.below(20))
    const from = random.below(text.length + 1)
    const part = random.below(2) === 0 ? text.slice(from, from + 15 + random.below(30)) : made(20)
    const start = random.below(text.length + 1)
    const shown = JSON.stringify([text, part, start])
    assert.equal(lastIndexOfText(text, part, start), text.lastIndexOf(part, start), shown)
  }
})
