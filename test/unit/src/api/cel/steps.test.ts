/*
 * Goal: an evaluation ends soon whatever the sizes of values, also where the cost of upstream
 * counts little or nothing.
 * Method: one expression for each function that takes longer than its cost, with a budget of few
 * steps; the sizes of texts that identify values.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CelBudget } from '../../../../../src/api/cel/budget.ts'
import { evaluateCel } from '../../../../../src/api/cel/cel.ts'
import {
  celBytes,
  celDouble,
  celDyn,
  celInt,
  celList,
  celString,
  celTimestamp,
} from '../../../../../src/api/cel/types.ts'
import type { CelType } from '../../../../../src/api/cel/types.ts'
import { celLimits } from '../../../../../src/api/cel/limits.ts'
import { Evaluation } from '../../../../../src/api/cel/evaluate/evaluation.ts'
import type { Json } from '../../../../../src/api/json.ts'
import { canonicalText } from '../../../../../src/api/cel/values/canonical-text.ts'
import { fromJson } from '../../../../../src/api/cel/values/json-value.ts'
import { CelFailure } from '../../../../../src/api/cel/values/value.ts'
import { compile } from './cel-support.ts'
import type { Variables } from './cel-support.ts'

const long = 'a'.repeat(200_000)
const url = `https://h/?${Array.from({ length: 2000 }, (_, at) => `k${at}`).join('&')}`
const times = Array<string>(100).fill('2026-01-02T03:04:05.678Z')

const grid = Array.from({ length: 100 }, () => Array<number>(100).fill(1))
const NESTED = 12
const nestedSet: CelType = { kind: 'list', element: nested(celString, celList), identity: 'set' }
const nestedElements = Array.from({ length: 20 }, (_, at) => nested<Json>(`x${at}`, (inner) => [inner]))

function nested<T>(leaf: T, wrap: (inner: T) => T): T {
  let value = leaf
  for (let depth = 0; depth < NESTED; depth++) value = wrap(value)
  return value
}

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
  [
    'identifying nested elements of sets',
    'l == m',
    { l: [nestedSet, nestedElements], m: [nestedSet, nestedElements] },
  ],
  ['visiting the parts of parts', 'l.indexOf([]) < 0', { l: [celList(celList(celInt)), grid] }],
  [
    'comparing long texts of one list',
    'size([l.max()]) == 1',
    { l: [celList(celString), [`${long}x`, `${long}y`]] },
  ],
  ['formatting percent signs', "a.format([]) != ''", { a: [celString, '%%'.repeat(1000)] }],
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

/** Returns the steps of an expression that has a value. */
function stepsOf(source: string, variables: Variables): number {
  const compiled = compile(source, variables)
  assert.ok(typeof compiled !== 'string', 'compiled')
  const bindings = new Map(Object.entries(variables).map(([name, [, value = null]]) => [name, value]))
  const budget = new CelBudget(1_000_000)
  assert.equal(evaluateCel(compiled, bindings, budget).kind, 'value', source)
  return celLimits.evaluationStepsMax - budget.stepsLeft
}

for (const call of ["'a'.matches(p)", "'a'.find(p) == ''", "'a'.findAll(p) == []"]) {
  void test(`compiling the pattern of ${call} counts the ranges of its classes`, () => {
    const steps = (p: string): number => stepsOf(`${call} || true`, { p: [celString, p] })
    for (const [plain, wide, times] of [
      ['a', '\\pL', 30],
      ['a', '(?i)\\PL', 50],
      ['[a-z]', '(?i)[B-\\x{1e942}]', 500],
    ] as const) {
      const more = steps(wide.repeat(5)) - steps(plain.repeat(5))
      assert.ok(more >= 5 * times * 100, `${wide}: ${more}`)
    }
  })
}

void test('a pattern that takes more steps than are left is not compiled', () => {
  const compiled = compile("'a'.matches(p)", { p: [celString] })
  assert.ok(typeof compiled !== 'string', 'compiled')
  // Compiling this pattern is an error, so a result `over-budget` shows that it was not compiled.
  const bindings = new Map([['p', `${'\\pL'.repeat(200)}(`]])
  assert.equal(evaluateCel(compiled, bindings, new CelBudget(1_000_000, 100_000)).kind, 'over-budget')
  assert.equal(evaluateCel(compiled, bindings, new CelBudget(1_000_000)).kind, 'error')
})

const few = Array.from({ length: 100 }, (_, at) => `${at}`)

for (const [what, source, variable, stepsMin] of [
  ['writing an address', "string(ip('1:0:0:2::3')) != ''", null, 110],
  ['reading a network', "isCIDR('1:0:0:2::3/64')", null, 50],
  ['reading an address', "isIP('1:0:0:2::3')", null, 50],
  ['reading a URL', "isURL('http://a@b:1/?a=b&c=d')", null, 60],
  ['reading a quantity', "isQuantity('1234567890123.123456789')", null, 30],
  ['reading and writing a double', 'double(string(1.2345678901234567e-300)) > 0.0', null, 28],
  ['a time zone by name', "timestamp(0).getHours('America/New_York') >= 0", null, 250],
  ['counting wide characters', 'size(a) > 0', 'ω'.repeat(200), 25],
  ['counting wide characters to compare them', "a < 'ω'", 'ω'.repeat(200), 0.1],
  ['counting wide characters of texts of like length', 'a <= a', 'ω'.repeat(200), 50],
] as const) {
  void test(`${what} counts steps in proportion to its time`, () => {
    const [l, a]: readonly CelType[] = [celList(celString), celString]
    const times = variable === null ? 100 : 1
    const loop = variable === null ? `l.all(x, ${source})` : source
    assert.ok(l !== undefined && a !== undefined)
    const steps = stepsOf(loop, { l: [l, few], a: [a, variable ?? ''] })
    assert.ok(steps >= times * stepsMin, `${steps / times}`)
  })
}

void test('finding a match counts more than deciding whether there is one, above all if case is ignored', () => {
  const steps = (call: string, a: string): number => stepsOf(call, { a: [celString, a] })
  // The difference leaves out the compilation.
  const perText = (call: string): number => steps(call, 'a'.repeat(8000)) - steps(call, '')
  assert.ok(perText("a.find('a+y') == ''") >= 1.5 * perText("a.matches('a+y') || true"), 'find')
  assert.ok(perText("a.find('(?i)a+y') == ''") >= 3 * perText("a.matches('(?i)a+y') || true"), 'without case')
})

void test('the characters of a text are not counted to compare it with a shorter one, nor to get its size if all are Latin-1', () => {
  const steps = (source: string): number => stepsOf(source, { a: [celString, 'ω'.repeat(250)] })
  assert.equal(steps("a != ''"), 0)
  assert.ok(steps("a != 'ωω'") < 1, 'the shorter one')
  const plain = stepsOf('size(a) > 0', { a: [celString, 'é'.repeat(250)] })
  assert.equal(plain, 0)
})

void test('evaluations share the steps of a budget', () => {
  const big = Array.from({ length: 10_000 }, (_, at) => at)
  const compiled = compile('d == d', { d: [celDyn] })
  assert.ok(typeof compiled !== 'string', 'compiled')
  const budget = new CelBudget(10_000_000, 100_000)
  const outcomes = Array.from({ length: 4 }, () => evaluateCel(compiled, new Map([['d', big]]), budget).kind)
  assert.deepEqual(outcomes, ['value', 'value', 'value', 'over-budget'])
  assert.equal(budget.stepsLeft, 0)
})

void test('the text that identifies a value grows evenly with its depth', () => {
  const evaluation = new Evaluation(0, 1_000_000)
  const lengthAt = (depth: number): number => {
    let json: Json = 'x'
    for (let at = 0; at < depth; at++) json = at % 2 === 0 ? [json] : { key: json }
    const value = fromJson(json, celDyn, evaluation)
    assert.ok(!(value instanceof CelFailure), 'converted')
    return canonicalText(value, evaluation).length
  }
  assert.equal(lengthAt(16) - lengthAt(14), lengthAt(4) - lengthAt(2))
})

void test('two values have the same identity if and only if they are equal, also if their texts look alike', () => {
  const evaluation = new Evaluation(0, 1_000_000)
  const identity = (json: Json): string => {
    const value = fromJson(json, celDyn, evaluation)
    assert.ok(!(value instanceof CelFailure), 'converted')
    return canonicalText(value, evaluation)
  }
  assert.equal(identity({ b: [1], a: 'x' }), identity({ a: 'x', b: [1] }))
  const values: readonly Json[] = [
    ...[[], {}, '', [[]], [['a'], 'b'], [['a', 'b']], [[], 'a', 'b'], ['a', ['b']], 'l0:', ['s0:']],
    ...[
      { a: ['b'] },
      { a: [], b: [] },
      { a: { b: [] } },
      ['as1:b'],
      ['a', 'b'],
      1,
      '1',
      [null],
      'null',
      null,
    ],
  ]
  assert.equal(new Set(values.map(identity)).size, values.length)
})

void test('trimming a long run of spaces counts as work that the cost leaves out', () => {
  const compiled = compile('size([a.trim()]) == 1', { a: [celString] })
  assert.ok(typeof compiled !== 'string', 'compiled')
  const stepsFor = (text: string): number => {
    const budget = new CelBudget(1_000_000)
    assert.equal(evaluateCel(compiled, new Map([['a', text]]), budget).kind, 'value')
    return 2_000_000 - budget.stepsLeft
  }
  assert.ok(stepsFor(' '.repeat(80_000)) - stepsFor('a'.repeat(80_000)) >= 10_000, 'counted')
})
