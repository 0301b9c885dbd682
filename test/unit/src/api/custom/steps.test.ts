/*
 * Goal: the steps of checking an object of a custom kind are charged by what the work costs, so
 * that the limit on them bounds the time, and ordinary large objects need few of them.
 * Method: steps are counted for an ordinary object of 1.5 MB, and for pairs of schemas or values of
 * which one costs more. For the worst cases (`fixtures/expensive-schemas.ts`), the elements that
 * methods of lists visit are counted, not timed; `bench/micro/custom-validation.ts` measures the
 * time.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RE2JS } from 're2js'
import { expensiveCases } from '../../../../../fixtures/expensive-schemas.ts'
import { customLimits } from '../../../../../src/api/custom/limits.ts'
import { statesOf } from '../../../../../src/api/custom/pattern-states.ts'
import { compilePattern } from '../../../../../src/api/custom/pattern.ts'
import { compileStructural } from '../../../../../src/api/custom/structural-schema.ts'
import { markerNames, readStructural } from '../../../../../src/api/custom/structural.ts'
import { validateObject } from '../../../../../src/api/custom/validate-object.ts'
import { Findings } from '../../../../../src/api/errors/findings.ts'
import type { Json, JsonObject } from '../../../../../src/api/json.ts'
import { namesOf } from '../../../../../src/api/metadata/names.ts'
import { StepBudget } from '../../../../../src/api/step-budget.ts'
import { countSteps } from '../../../../support/tools/step-count.ts'

const times = <T>(count: number, make: (at: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, at) => make(at))

type Checked = { readonly steps: number; readonly found: Findings }

/** Checks the member `a` of an object. @param before of the object that an update replaces */
function checked(a: JsonObject, value: Json, before?: Json, stepsMax = 100_000_000): Checked {
  const root = readStructural({ type: 'object', properties: { a } }, markerNames('x-orch-'))
  const objectOf = (of: Json): JsonObject => ({ apiVersion: 'example.com/v1', kind: 'Thing', a: of })
  const work = new StepBudget(stepsMax)
  const found = new Findings()
  const replaced = before === undefined ? null : { object: objectOf(before), tolerated: new Findings() }
  validateObject({ root, rules: () => null }, objectOf(value), replaced, found, work)
  return { steps: work.spent, found }
}

const text = { type: 'string' }
const name = { type: 'string', maxLength: 63, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' }
const keyed = (key: string): JsonObject => ({
  ...{ type: 'array', 'x-orch-list-type': 'map', 'x-orch-list-map-keys': [key] },
})

/** A kind such as operators define: lists of parts with names, amounts, times and conditions. */
const ordinary: JsonObject = {
  type: 'object',
  required: ['parts'],
  properties: {
    parts: {
      ...keyed('name'),
      items: {
        type: 'object',
        required: ['name', 'image'],
        properties: {
          name,
          image: { type: 'string', minLength: 1 },
          policy: { type: 'string', enum: ['Always', 'IfNotPresent', 'Never'] },
          replicas: { type: 'integer', minimum: 0, maximum: 100 },
          port: { 'x-orch-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
          since: { type: 'string', format: 'date-time' },
          hosts: { type: 'array', 'x-orch-list-type': 'set', items: name },
          labels: { type: 'object', additionalProperties: text },
          text,
        },
      },
    },
  },
}

function ordinaryObject(image: Json): JsonObject {
  const parts = times(1334, (at) => ({
    ...{ name: `part-${at}`, image, policy: 'IfNotPresent', replicas: at % 100, port: 8080 },
    ...{ since: '2026-01-02T03:04:05Z', hosts: [`a-${at}`, `b-${at}`, 'www'] },
    ...{ labels: { app: 'web', tier: 'front', zone: `z${at % 3}` }, text: 'x'.repeat(950) },
  }))
  return { parts }
}

void test('an object of 1.5 MB with 20,000 members needs less than a quarter of the steps', () => {
  const object = ordinaryObject('registry.test/app:1')
  const length = JSON.stringify(object).length
  assert.ok(length > 1_500_000 && length < 2_000_000, `${length} characters`)
  const { steps, found } = checked(ordinary, object)
  assert.equal(found.count, 0)
  assert.ok(steps < customLimits.validationStepsMax / 4, `${steps} steps`)
})

void test('an update of such an object that is full of old errors needs less than three quarters of the steps', () => {
  const object = ordinaryObject(1)
  const { steps, found } = checked(ordinary, object, structuredClone(object))
  assert.equal(found.count, 0)
  assert.ok(steps < (customLimits.validationStepsMax * 3) / 4, `${steps} steps`)
})

const long = 'x'.repeat(100_000)
const members = (count: number): JsonObject => Object.fromEntries(times(count, (at) => [`m${at}`, at]))
const open = { type: 'object', 'x-orch-preserve-unknown-fields': true }
const set = { type: 'array', 'x-orch-list-type': 'set' }

type Priced = readonly [
  what: string,
  small: readonly [JsonObject, Json],
  large: readonly [JsonObject, Json],
  least: number,
]

for (const [what, small, large, least] of [
  ['members of an object', [open, members(10)], [open, members(1000)], 900],
  ['characters that are counted', [{ maxLength: 1 }, 'x'], [{ maxLength: 1 }, long], 1500],
  ['characters of a format', [{ format: 'uri' }, '/'], [{ format: 'uri' }, `/${long}`], 5000],
  ['characters of a card number', [{ format: 'creditcard' }, '4'], [{ format: 'credit-card' }, long], 40_000],
  ['elements of a set', [set, [1]], [set, times(1000, (at) => at)], 2900],
  ['members of the elements of a set', [set, [members(1)]], [set, [members(1000)]], 3900],
  ['characters of the elements of a set', [set, ['x']], [set, [long]], 1500],
  [
    'members that are compared with an enum',
    [{ ...open, enum: [{}] }, members(1)],
    [{ ...open, enum: [{}] }, members(1000)],
    4900,
  ],
  [
    'errors of alternatives',
    [{ ...open, anyOf: [{ required: ['m0'] }, {}] }, members(1)],
    [{ ...open, anyOf: [{ required: times(100, (at) => `r${at}`) }, {}] }, members(1)],
    290,
  ],
  [
    'values of the metadata of an embedded object',
    [{ ...open, 'x-orch-embedded-resource': true }, { metadata: {} }],
    [{ ...open, 'x-orch-embedded-resource': true }, { metadata: { labels: members(100) } }],
    390,
  ],
] as readonly Priced[]) {
  void test(`more ${what} cost more steps`, () => {
    const [few, many] = [checked(...small).steps, checked(...large).steps]
    assert.ok(many - few >= least, `${few} and ${many} steps`)
  })
}

void test('an enum costs as many steps for many values as for few', () => {
  const known = (count: number): JsonObject => ({
    enum: [...times(count, (at) => ({ at })), ...times(count, (at) => `t${at}`)],
  })
  for (const [value, isKnown] of [
    ['t9', true],
    ['t', false],
    [{ at: 9 }, true],
    [{ at: '9' }, false],
  ] as const) {
    const [few, many] = [checked(known(10), value), checked(known(10_000), value)]
    assert.deepEqual([few.steps, few.found.count], [many.steps, isKnown ? 0 : 1])
  }
})

void test('an enum compares values as JSON: members in any order, integers of any size', () => {
  const values: readonly Json[] = [{ a: 1, b: [null, 'x'] }, 2n ** 70n, 0, true, null, 'a']
  for (const value of [{ b: [null, 'x'], a: 1 }, 2n ** 70n, -0, true, 'a']) {
    assert.equal(checked({ enum: values }, value).found.count, 0)
  }
  for (const value of [{ a: 1 }, { a: 1, b: ['x', null] }, 2n ** 70n + 1n, 1, false, 'b', [], {}]) {
    assert.equal(checked({ enum: values }, value).found.count, 1)
  }
})

void test('all checks of one update share the steps', () => {
  const schema = { type: 'array', items: text }
  const value = times(1000, (at) => at)
  const once = checked(schema, value).steps
  const update = checked(schema, value, value).steps
  assert.ok(update > 2 * once, `${once} and ${update} steps`)
  const { found } = checked(schema, value, value, once + 1000)
  const [{ detail = '' } = {}] = found.list.slice(-1)
  assert.match(String(detail), /needs more than \d+ steps/)
})

void test('common expressions have few states, and those whose states grow with the text do not', () => {
  const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
  for (const [source, isSmall] of [
    ['^a+$', true],
    [`^${label}(\\.${label})*$`, true],
    ['^([0-9]{1,3}\\.){3}[0-9]{1,3}(/[0-9]{1,2})?$', true],
    ['^(?:sha256|sha512):[a-f0-9]{64}$', true],
    ['^https?://[^\\s/]+(/.*)?$', true],
    ['^v[0-9]+((alpha|beta)[0-9]+)?$', true],
    ['[ab]*a[ab]{20}[cd]', false],
    ['(a|b)*a(a|b){60}c', false],
    ['[^c]*a[^c]{900}[cd]$', false],
    ['\\pL+x', false],
    ['(?i)abc', true],
    ['(?i)[ab]*a[ab]{20}[cd]', false],
  ] as const) {
    assert.equal(statesOf(RE2JS.compile(source)).count !== null, isSmall, source)
  }
})

void test('a text costs by its length for an expression with few states, and also by the size of the expression for others', () => {
  const steps = (source: string, value: string, isFirst = false): number => {
    const pattern = compilePattern(source)
    assert.ok(typeof pattern !== 'string')
    if (!isFirst) pattern.steps(value)
    return pattern.steps(value)
  }
  assert.ok(steps('^a+$', 'a'.repeat(8000)) < 1100)
  assert.ok(steps('^a+$', 'é'.repeat(8000)) > 3900)
  assert.ok(steps('[ab]*a[ab]{60}[cd]', 'a'.repeat(8000)) > 250_000)
  assert.ok(steps('[ab]*a[ab]{600}[cd]', 'a'.repeat(8000)) > 2_000_000)
  // The states are made with the first texts.
  const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?x'
  assert.ok(steps(label, 'a'.repeat(80), true) > 5 * steps(label, 'a'.repeat(80)))
})

void test('defaults cost more than their characters: too many small ones make an object too large', () => {
  const defaults = (count: number): JsonObject =>
    Object.fromEntries(times(count, (at) => [`d${at}`, { type: 'integer', default: 1 }]))
  const schema = (count: number): JsonObject => ({
    ...{
      type: 'object',
      properties: { a: { type: 'array', items: { type: 'object', properties: defaults(count) } } },
    },
  })
  const object = { apiVersion: 'example.com/v1', kind: 'Thing', a: times(1000, () => ({})) }
  const filled = (count: number): JsonObject =>
    compileStructural(schema(count), namesOf('orch.io')).applyDefaults(object)
  assert.equal(JSON.stringify(filled(60)).match(/"d/g)?.length, 60_000)
  assert.throws(() => filled(200), { code: 'RequestEntityTooLarge' })
})

const STEPS = 50_000
/** One value of an object may be looked at after the last step: the largest has 60,000 members. */
const OVERSHOOT = 400_000
const VISITS_A_STEP = 25

void test('no worst case visits many more elements than it spends steps', async () => {
  let count = 0
  for (const { what, schema, value, before } of expensiveCases()) {
    if (/^(?:format|pattern)/.test(what)) continue
    let spent = 0
    const visits = await countSteps(async () => {
      spent = checked(schema, value, before, STEPS).steps
      return Promise.resolve()
    })
    const most = OVERSHOOT + VISITS_A_STEP * Math.min(spent, STEPS)
    assert.ok(visits <= most, `${what}: ${visits} visits for ${spent} steps`)
    count++
  }
  assert.ok(count > 30, `${count} cases`)
})
