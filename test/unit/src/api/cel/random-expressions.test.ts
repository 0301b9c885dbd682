/*
 * Goal: no expression makes the compiler or the evaluator throw, run without an end, or cost more
 * than its budget, and only estimates that are too low upstream are below what the evaluation
 * costs.
 * Method: random expressions from a grammar of nearly every operator and many functions, over fixed
 * values; random damage to their text; and expressions that are built to be expensive. A failure
 * of a random one names the command that repeats it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../../base/random.ts'
import { CelBudget } from '../../../../../src/api/cel/budget.ts'
import { compileCel, estimateCelCost, evaluateCel, showCelErrors } from '../../../../../src/api/cel/cel.ts'
import { celLimits } from '../../../../../src/api/cel/limits.ts'
import type { CelType } from '../../../../../src/api/cel/types.ts'
import { celBool, celDyn, celInt } from '../../../../../src/api/cel/types.ts'
import type { Json } from '../../../../../src/api/json.ts'

const text: CelType = { kind: 'string', maxSize: 40 }
const variables = new Map<string, CelType>([
  ['b', celBool],
  ['i', celInt],
  ['s', text],
  ['l', { kind: 'list', element: celInt, maxSize: 6 }],
  ['t', { kind: 'list', element: text, maxSize: 4 }],
  ['m', { kind: 'map', key: text, value: celInt, maxSize: 4 }],
  ['d', celDyn],
])
const bindings = new Map<string, Json>([
  ['b', true],
  ['i', 7],
  ['s', 'häl😀lo wörld'],
  ['l', [3, 1, 2, 2]],
  ['t', ['a', 'bc', '']],
  ['m', { a: 1, b: 2 }],
  ['d', { a: [1, 'x', null, { y: 1.5 }], b: 'a' }],
])

/** By the type of the expression; each `$x` is replaced by an expression of type x. */
const grammar: Readonly<Record<string, readonly string[]>> = {
  b: [
    'b',
    'true',
    '$b && $b',
    '$b || $b',
    '!$b',
    '$i == $i',
    '$i < $i',
    '$s != $s',
    '$s <= $s',
    '$l == $l',
    '$i in $l',
    '$s in $m',
    'has(m.a)',
    'has(d.zz)',
    '$l.all(x, $b)',
    '$l.exists(x, x > $i)',
    '$t.exists_one(y, y == $s)',
    '$s.startsWith($s)',
    '$s.contains($s)',
    "$s.matches('^(a|b)*c?$')",
    '$l.isSorted()',
    'sets.contains($l, $l)',
    '($b ? $b : $b)',
    '$d == $d',
    'isURL($s)',
    'isQuantity($s)',
    'isIP($s)',
    '$i.f($i)',
    'optional.of($i).hasValue()',
    'format.dns1123Label().validate($s).hasValue()',
  ],
  i: [
    'i',
    '1',
    '-3',
    '$i + $i',
    '$i - $i',
    '$i * $i',
    '$i / $i',
    '$i % $i',
    '-$i',
    'size($l)',
    'size($s)',
    '$l[$i]',
    'm[$s]',
    '$l.sum()',
    '$l.max()',
    '$s.indexOf($s)',
    '($b ? $i : $i)',
    '$l[?$i].orValue($i)',
    "duration('1h').getMinutes()",
    'int($d)',
    "timestamp('2024-02-29T01:02:03Z').getHours('+01:00')",
    'optional.of($i).optMap(o, o + $i).orValue(0)',
    '9223372036854775807',
    'm.?a.orValue($i)',
  ],
  s: [
    's',
    "'a'",
    "'\\u00e9'",
    '$s + $s',
    '$s.replace($s, $s)',
    '$s.substring($i)',
    '$s.charAt($i)',
    'string($i)',
    '$t.join($s)',
    '$s.lowerAscii()',
    '$s.trim()',
    "'%s %d'.format([$s, $i])",
    '$t[$i]',
    "$s.find('[a-z]+')",
    'strings.quote($s)',
    '($b ? $s : $s)',
  ],
  l: [
    'l',
    '[$i, $i]',
    '$l + $l',
    '$l.map(x, x + $i)',
    '$l.filter(x, $b)',
    '$l.map(x, $b, $i)',
    '[?optional.of($i)]',
  ],
  t: ['t', '[$s]', '$s.split($s)', '$t.map(y, y + $s)', "$s.findAll('.')", '$t + $t'],
  m: ['m', "{'a': $i}", "{$s: $i, 'z': $i}", "{?'a': optional.of($i)}"],
  d: ['d', 'd.a', 'd.a[$i]', 'dyn($i)', 'dyn($s)', 'dyn($l)', 'd.?b.orValue(1)', 'd[$s]', "{'a': dyn($i)}"],
}

function draw(type: string, random: SeededRandom, depth: number): string {
  const rules = grammar[type] ?? ['1']
  const rule = rules[depth <= 0 ? 0 : random.below(rules.length)] ?? '1'
  return rule.replace(/\$([a-z])/g, (_, inner: string) => draw(inner, random, depth - 1))
}

/** Upstream estimates these lower than it counts them, and so does this evaluator. */
const LOW_ESTIMATES = /startsWith|join/

/** @returns whether it could be evaluated */
function survive(source: string, again: string): boolean {
  const compiled = compileCel(source, { variables })
  if (compiled.kind === 'rejected') {
    assert.ok(compiled.errors.length > 0 && compiled.errors.length <= celLimits.errorsMax, again)
    assert.match(showCelErrors(source, compiled.errors), /^ERROR: <input>:\d+:\d+: ./)
    return false
  }
  const budget = new CelBudget(100_000)
  const outcome = evaluateCel(compiled.expression, bindings, budget)
  const { min, max } = estimateCelCost(compiled.expression)
  assert.ok(min >= 0 && min <= max, `${again}: ${source} is estimated ${min}..${max}`)
  assert.ok(budget.spent <= 100_000, again)
  if (outcome.kind === 'value') {
    const isLow = LOW_ESTIMATES.test(source)
    assert.ok(isLow || budget.spent <= max, `${again}: ${source} costs ${budget.spent}, estimated ${max}`)
    const second = new CelBudget(100_000)
    assert.deepEqual(evaluateCel(compiled.expression, bindings, second), outcome, again)
    assert.equal(second.spent, budget.spent, again)
  }
  return outcome.kind === 'value'
}

const COUNT = process.env['SEED'] === undefined ? 3000 : 1
const FIRST = Number(process.env['SEED'] ?? 1)

void test('random expressions end with a value or a typed error, within their budget and estimate', () => {
  let values = 0
  for (let seed = FIRST; seed < FIRST + COUNT; seed++) {
    const again = `seed ${seed}: SEED=${seed} node --test dist/test/unit/src/api/cel/random-expressions.test.js`
    const random = new SeededRandom(seed)
    const source = draw(random.below(2) === 0 ? 'b' : 's', random, 1 + random.below(5))
    if (survive(source, again)) values++
    const at = random.below(source.length)
    const noise = random.below(2) === 0 ? '' : (['(', "'", '?', '[', '\\', '😀', '.'][random.below(7)] ?? '')
    survive(`${source.slice(0, at)}${noise}${source.slice(at + random.below(4))}`, again)
  }
  assert.ok(COUNT === 1 || values > 800, `${values} expressions had a value`)
})

void test('expressions that are built to be expensive are rejected, or end within their budget', () => {
  const deep = (open: string, close: string, count: number): string =>
    `${open.repeat(count)}1${close.repeat(count)}`
  const sources = [
    deep('(', ')', 20_000),
    deep('(', ')', 5000),
    deep('[', ']', 5000),
    deep('!', '', 10_000),
    deep('-', '', 10_000),
    deep('1+', '', 8000),
    deep('true?1:', '', 2000),
    deep("{'a':", '}', 2000),
    `b${' && b'.repeat(3000)}`,
    `d${'.a'.repeat(5000)}`,
    `d${'[0]'.repeat(3000)}`,
    `optional.of(1)${'.optMap(x, x + 1)'.repeat(200)}.value()`,
    `l${'.map(x, x)'.repeat(200)}`,
    `s${".replace('', s)".repeat(60)}`,
    `s${' + s'.repeat(2000)}`,
    `${'l.all(a, '.repeat(60)}true${')'.repeat(60)}`,
    `${'t.map(a, '.repeat(60)}a${')'.repeat(60)}`,
    `s.matches('${'(a*)*'.repeat(500)}b')`,
    `s.matches('((((a{100}){100}){100}){100})')`,
    `s.matches('${'('.repeat(2000)}${')'.repeat(2000)}')`,
    `'${'%s'.repeat(3000)}'.format(l)`,
    "'%.9999f'.format([1.5])",
    '\u0000',
    '',
  ]
  for (const source of sources) survive(source, source.slice(0, 60))
})
