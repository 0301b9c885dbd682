/*
 * Goal: random mutations are small changes that resemble mistakes, the same ones for the
 * same seed.
 * Method: a table of source texts for each operator, with all changes that it may make, and texts
 * in which nothing may be changed.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../base/random.ts'
import { drawMutations } from '../../mutants/random/draw.ts'
import { applied, operators } from '../../mutants/random/mutation.ts'
import type { Operator } from '../../mutants/random/mutation.ts'
import { mutationsOf } from '../../mutants/random/sites.ts'

const table: readonly { operator: Operator; source: string; changed: readonly string[] }[] = [
  {
    operator: 'negate condition',
    source: 'if (a) b(c); while (d) e = f ? g : h',
    changed: ['if (!(a)) b(c); while (d) e = f ? g : h', 'if (a) b(c); while (!(d)) e = f ? g : h'].concat(
      'if (a) b(c); while (d) e = !(f) ? g : h',
    ),
  },
  { operator: 'move boundary', source: 'x = a < b', changed: ['x = a <= b'] },
  { operator: 'move boundary', source: 'x = a <= b', changed: ['x = a < b'] },
  { operator: 'move boundary', source: 'x = a > b', changed: ['x = a >= b'] },
  { operator: 'move boundary', source: 'x = a >= b', changed: ['x = a > b'] },
  { operator: 'swap equality', source: 'x = a === b', changed: ['x = a !== b'] },
  { operator: 'swap equality', source: 'x = a !== b', changed: ['x = a === b'] },
  { operator: 'swap logic', source: 'x = a && b', changed: ['x = (a || b)'] },
  { operator: 'swap logic', source: 'x = a || b', changed: ['x = (a && b)'] },
  { operator: 'swap arithmetic', source: 'x += a + 1', changed: ['x -= a + 1', 'x += a - 1'] },
  { operator: 'swap arithmetic', source: 'x -= a - 1', changed: ['x += a - 1', 'x -= a + 1'] },
  { operator: 'add one', source: 'return 409', changed: ['return 410'] },
  { operator: 'flip boolean', source: 'a(true, false)', changed: ['a(false, false)', 'a(true, true)'] },
  {
    operator: 'drop call',
    source: 'a(); await b(); c = d()',
    changed: ['; await b(); c = d()', 'a(); ; c = d()'],
  },
  {
    operator: 'drop early exit',
    source: 'if (a) return; if (b) { c(); break } if (d) e()',
    changed: [' if (b) { c(); break } if (d) e()', 'if (a) return;  if (d) e()'],
  },
  { operator: 'drop early exit', source: 'if (a) return 1\nelse b()', changed: [] },
  { operator: 'drop await', source: 'await a(); b = await c()', changed: ['a(); b = await c()'] },
  { operator: 'drop element', source: 'x = [a, b]; y = []', changed: ['x = [b]; y = []'] },
  { operator: 'swap arguments', source: 'x = f(a, b, c)', changed: ['x = f(b, a, c)'] },
  { operator: 'swap arguments', source: 'x = f(a, a)', changed: [] },
  { operator: 'drop default', source: 'x = a ?? b', changed: ['x = a'] },
]

function changes(source: string, operator?: Operator): readonly string[] {
  return mutationsOf('some.ts', source)
    .filter((mutation) => operator === undefined || mutation.operator === operator)
    .map((mutation) => applied(source, mutation))
}

void test('each operator makes the changes of the table and no others', () => {
  for (const { operator, source, changed } of table) {
    assert.deepEqual(new Set(changes(source, operator)), new Set(changed), `${operator}: ${source}`)
  }
  assert.deepEqual(new Set(table.map(({ operator }) => operator)), new Set(operators))
})

void test('imports, types, logs, metrics, assertions, error texts, tuned limits and large numbers are not changed', () => {
  const unchanged = [
    "import { a } from './a.ts'",
    'type A = { b: true; c: 1 }',
    'log.warn(`${a < b ? 1 : 2}`)',
    'this.#log.info({ a: a + 1 }, b)',
    'metrics.writes.add(1, true)',
    'requests.inc()',
    'const x = new Counter({ a: true, b: [1, 2] })',
    'assert(a < b, c)',
    'throw new SomeError(`${a + 1} is too much`)',
    'const waitMs = 10 * 60',
    'const limits = { bodyBytes: 16 * 10 }',
    'x = 123456',
  ]
  for (const source of unchanged) assert.deepEqual(changes(source), [], source)
})

void test('the status of an error is changed, and the condition of its text is not', () => {
  assert.deepEqual(changes("throw new ApiError(409, `a ${b ? 'c' : 'd'}`)", 'add one'), [
    "throw new ApiError(410, `a ${b ? 'c' : 'd'}`)",
  ])
  assert.deepEqual(changes("throw new ApiError(409, `a ${b ? 'c' : 'd'}`)", 'negate condition'), [])
})

void test('a mutation has the line number that an editor shows', () => {
  assert.deepEqual(
    mutationsOf('some.ts', '// first\n\nx = a < b\n').map(({ line }) => line),
    [3],
  )
})

const drawnFrom = 'if (a < 1) return true\nb = c && d\ne()\nif (f) throw g\nh = [1, 2]\n'

function drawn(seed: number, count: number, accepts: (changed: string) => boolean): readonly string[] {
  return drawMutations(mutationsOf('some.ts', drawnFrom), {
    random: new SeededRandom(seed),
    count,
    sourceOf: () => drawnFrom,
    accepts: (_, changed) => accepts(changed),
  }).map((mutation) => applied(drawnFrom, mutation))
}

void test('a seed draws the same mutations each time, and another seed others', () => {
  const every = (): boolean => true
  assert.deepEqual(drawn(7, 5, every), drawn(7, 5, every))
  assert.notDeepEqual(drawn(7, 5, every), drawn(8, 5, every))
})

void test('a mutation that is not accepted is replaced by another one, and none is drawn twice', () => {
  const accepted = drawn(7, 100, (changed) => changed.includes('c && d'))
  assert.equal(accepted.length, new Set(accepted).size)
  assert.equal(accepted.length, changes(drawnFrom).filter((text) => text.includes('c && d')).length)
  assert.ok(accepted.length > 3)
})
