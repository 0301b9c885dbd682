/*
 * Goal: rules are evaluated on objects as upstream does: messages, reasons and fields, old values,
 * failing expressions, budgets; and an update does not fail for values that it leaves as they were.
 * Method: small schemas with objects that satisfy and violate each rule; causes as clients see
 * them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileStructural } from '../../../../../src/api/custom/structural-schema.ts'
import { causesOf, Findings } from '../../../../../src/api/errors/findings.ts'
import { formatFindings } from '../../../../../src/api/errors/field-error.ts'
import type { Json, JsonObject } from '../../../../../src/api/json.ts'
import { namesOf } from '../../../../../src/api/metadata/names.ts'

const X = 'x-orch-'

type Checked = { readonly causes: readonly string[]; readonly tolerated: readonly string[] }

/** Validates an object with that `a`. @param before `a` of the object that it replaces */
function check(a: JsonObject, value: Json, before?: Json): Checked {
  const { validate } = compileStructural(struct({ a }), namesOf('orch.io'))
  return checkWith(validate, value, before)
}

function checkWith(
  validate: ReturnType<typeof compileStructural>['validate'],
  value: Json,
  before?: Json,
): Checked {
  const object = (of: Json): JsonObject => ({
    apiVersion: 'example.com/v1',
    kind: 'Thing',
    metadata: {},
    a: of,
  })
  const tolerated = new Findings()
  const causes = causesOf((found) => {
    validate(object(value), before === undefined ? null : { object: object(before), tolerated }, found)
  })
  return { causes: causes.map(shown), tolerated: formatFindings(tolerated.list).map(shown) }
}

function shown({ field, reason, message }: { field: string; reason: string; message: string }): string {
  return `${reason} ${field}: ${message}`
}

function struct(properties: { readonly [name: string]: JsonObject }): JsonObject {
  return { type: 'object', properties }
}

function ruled(schema: JsonObject, ...rules: readonly (string | JsonObject)[]): JsonObject {
  return { ...schema, [`${X}validations`]: rules.map((rule) => (typeof rule === 'string' ? { rule } : rule)) }
}

const count = { type: 'integer' }
const text = { type: 'string' }
const I = 'FieldValueInvalid a: Invalid value'

for (const [what, schema, good, bad, words] of [
  ['shows itself', ruled(count, ' self > 1 '), 2, 1, `${I}: "integer": failed rule: self > 1`],
  [
    'shows its message',
    ruled(count, { rule: 'self > 1', message: ' too small ' }),
    2,
    1,
    `${I}: "integer": too small`,
  ],
  [
    'makes its message',
    ruled(count, { rule: 'self > 1', message: 'no', messageExpression: '"not " + string(self)' }),
    ...([2, 1, `${I}: "integer": not 1`] as const),
  ],
  [
    'shows its fixed message if the other one cannot be made',
    ruled(count, { rule: 'self > 1', message: 'no', messageExpression: 'string(10 / self)' }),
    ...([2, 0, `${I}: "integer": no`] as const),
  ],
  [
    'shows its fixed message if the other one is empty',
    ruled(count, { rule: 'self > 1', message: 'no', messageExpression: '" "' }),
    ...([2, 0, `${I}: "integer": no`] as const),
  ],
  [
    'shows itself if the message that it makes has two lines',
    ruled(count, { rule: 'self > 1', messageExpression: '"a\\nb"' }),
    ...([2, 0, `${I}: "integer": failed rule: self > 1`] as const),
  ],
  [
    'has the reason FieldValueForbidden',
    ruled(count, { rule: 'self > 1', message: 'no', reason: 'FieldValueForbidden' }),
    ...([2, 0, 'FieldValueForbidden a: Forbidden: no'] as const),
  ],
  [
    'has the reason FieldValueDuplicate',
    ruled(count, { rule: 'self > 1', message: 'no', reason: 'FieldValueDuplicate' }),
    ...([2, 0, 'FieldValueDuplicate a: Duplicate value: "integer"'] as const),
  ],
  [
    'has the reason FieldValueRequired and a field',
    ruled(struct({ b: count }), {
      ...{ rule: 'has(self.b)', message: 'no', reason: 'FieldValueRequired', fieldPath: '.b' },
    }),
    ...([{ b: 1 }, {}, 'FieldValueRequired a.b: Required value: no'] as const),
  ],
  [
    'names a key of a map',
    ruled({ type: 'object', additionalProperties: count }, { rule: 'self["b c"] > 1', fieldPath: "['b c']" }),
    ...([
      { 'b c': 2 },
      { 'b c': 1 },
      'FieldValueInvalid a[b c]: Invalid value: "object": failed rule: self["b c"] > 1',
    ] as const),
  ],
  [
    'fails for a missing key',
    ruled({ type: 'object', additionalProperties: count }, 'self["b"] > 1'),
    ...([{ b: 2 }, {}, `${I}: "object": no such key: b evaluating rule: self["b"] > 1`] as const),
  ],
  [
    'fails for a type that only the evaluation knows',
    ruled({ [`${X}int-or-string`]: true }, 'self + 1 > 1'),
    ...([1, 'x', `${I}: "": 'no such overload`] as const),
  ],
  [
    'is about the elements of a list',
    { type: 'array', items: ruled(text, 'self != "x"') },
    ...([
      ['a'],
      ['a', 'x'],
      'FieldValueInvalid a[1]: Invalid value: "string": failed rule: self != "x"',
    ] as const),
  ],
  [
    'is about the values of a map',
    { type: 'object', additionalProperties: ruled(text, 'self != "x"') },
    ...([
      { k: 'a' },
      { k: 'x' },
      'FieldValueInvalid a[k]: Invalid value: "string": failed rule: self != "x"',
    ] as const),
  ],
  [
    'is inside of allOf',
    { ...struct({ b: count }), allOf: [{ properties: { b: ruled({}, 'self > 1') } }] },
    ...([
      { b: 2 },
      { b: 1 },
      'FieldValueInvalid a.b: Invalid value: "integer": failed rule: self > 1',
    ] as const),
  ],
  [
    'reads members with escaped names',
    ruled(struct({ 'b-c': count, namespace: count }), 'self.b__dash__c < self.__namespace__'),
    ...([
      { 'b-c': 1, namespace: 2 },
      { 'b-c': 2, namespace: 1 },
      'failed rule: self.b__dash__c < self.__namespace__',
    ] as const),
  ],
  [
    'reads dates and durations',
    ruled(
      struct({
        from: { ...text, format: 'date' },
        to: { ...text, format: 'date-time' },
        every: { ...text, format: 'duration' },
      }),
      'self.from < self.to && self.every <= duration("1h")',
    ),
    ...([
      { from: '2026-01-01', to: '2026-01-01T00:00:01Z', every: '60m' },
      { from: '2026-01-02', to: '2026-01-01T00:00:01Z', every: '60m' },
      'failed rule: self.from < self.to',
    ] as const),
  ],
  [
    'compares sets without order',
    ruled(
      struct({
        b: { type: 'array', items: text, [`${X}list-type`]: 'set' },
        c: { type: 'array', items: text, [`${X}list-type`]: 'set' },
      }),
      'self.b == self.c',
    ),
    ...([{ b: ['x', 'y'], c: ['y', 'x'] }, { b: ['x'], c: ['y'] }, 'failed rule: self.b == self.c'] as const),
  ],
] as const) {
  void test(`a rule that ${what} accepts a good value and reports a bad one`, () => {
    assert.deepEqual(check(schema, good).causes, [])
    const { causes } = check(schema, bad)
    assert.equal(causes.length, 1, causes.join('\n'))
    assert.ok(causes[0]?.includes(words), causes[0])
  })
}

void test('rules at the root read the name of the object', () => {
  const whole = ruled(struct({ a: count }), 'self.metadata.name == "x" && self.kind == "Thing" && self.a > 1')
  const { validate } = compileStructural(whole, namesOf('orch.io'))
  const object = (name: string): JsonObject => ({
    ...{ apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name, labels: { a: 'b' } }, a: 2 },
  })
  assert.deepEqual(
    causesOf((found) => validate(object('x'), null, found)),
    [],
  )
  const [cause] = causesOf((found) => validate(object('y'), null, found))
  assert.equal(cause?.field, '')
})

void test('rules are not evaluated on an object that lacks a required member, and the error states that; other errors do not prevent them', () => {
  const schema = { ...struct({ b: count, c: ruled(count, 'self > 1') }), required: ['b'] }
  assert.deepEqual(check(schema, { c: 1 }).causes, [
    'FieldValueRequired a.b: Required value',
    'FieldValueInvalid <nil>: Invalid value: "null": some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
  ])
  assert.equal(check({ ...count, maximum: 5, ...ruled({}, 'self < 7') }, 8).causes.length, 2)
})

void test('a transition rule is only evaluated if there is an old value', () => {
  const schema = ruled(text, { rule: 'self == oldSelf', message: 'is immutable' })
  assert.deepEqual(check(schema, 'x').causes, [])
  assert.deepEqual(check(schema, 'x', 'x').causes, [])
  assert.deepEqual(check(schema, 'x', 'y'), {
    ...{ causes: [`${I}: "string": is immutable`], tolerated: [] },
  })
  assert.deepEqual(check(struct({ b: schema }), { b: 'x' }, {}).causes, [])
})

void test('old elements are found by the keys of lists and maps', () => {
  const item = {
    ...ruled(struct({ k: text, v: count }), { rule: 'self.v >= oldSelf.v', message: 'shrinks' }),
    required: ['k'],
  }
  const list = { type: 'array', items: item, [`${X}list-type`]: 'map', [`${X}list-map-keys`]: ['k'] }
  const before = [
    { k: 'x', v: 1 },
    { k: 'y', v: 5 },
  ]
  assert.deepEqual(
    check(
      list,
      [
        { k: 'y', v: 5 },
        { k: 'x', v: 1 },
        { k: 'z', v: 0 },
      ],
      before,
    ).causes,
    [],
  )
  assert.deepEqual(check(list, [{ k: 'y', v: 4 }], before).causes, [
    'FieldValueInvalid a[0]: Invalid value: "object": shrinks',
  ])
  const map = {
    type: 'object',
    additionalProperties: ruled(count, { rule: 'self >= oldSelf', message: 'shrinks' }),
  }
  assert.deepEqual(check(map, { x: 1, y: 0 }, { x: 2 }).causes, [
    'FieldValueInvalid a[x]: Invalid value: "integer": shrinks',
  ])
})

void test('an update does not fail for values that it leaves as they were, and their findings are returned as tolerated', () => {
  const schema = struct({ b: ruled({ ...count, maximum: 10 }, 'self < 5'), c: count })
  assert.deepEqual(check(schema, { b: 7, c: 2 }, { b: 7, c: 1 }), {
    causes: [],
    tolerated: ['FieldValueInvalid a.b: Invalid value: "integer": failed rule: self < 5'],
  })
  assert.equal(check(schema, { b: 8, c: 2 }, { b: 7, c: 1 }).causes.length, 1)
  // Errors of the schema are tolerated likewise, and the rules are then evaluated, too.
  const { causes, tolerated } = check(schema, { b: 11, c: 2 }, { b: 11 })
  assert.deepEqual([causes, tolerated.length], [[], 2])
  assert.equal(check(schema, { b: 11 }).causes.length, 2)
})

for (const [what, schema, value, before, isTolerated] of [
  ['a missing member of an unchanged struct', { ...struct({ b: count }), required: ['b'] }, {}, {}, true],
  [
    'a missing member of a changed struct',
    { ...struct({ b: count, c: count }), required: ['b'] },
    { c: 1 },
    {},
    false,
  ],
  ['an element at its place', { type: 'array', items: { ...count, maximum: 1 } }, [2, 1], [2], false],
  ['an element at another place', { type: 'array', items: { ...count, maximum: 1 } }, [1, 2], [2], false],
  [
    'an element of an atomic list that changes',
    { type: 'array', items: { ...count, maximum: 1 }, [`${X}list-type`]: 'atomic' },
    ...([[2, 1], [2], false] as const),
  ],
  [
    'an element of a set that changes',
    { type: 'array', items: { ...count, maximum: 1 }, [`${X}list-type`]: 'set' },
    ...([[2, 1], [2], false] as const),
  ],
  [
    'an element of an unchanged set',
    { type: 'array', items: { ...count, maximum: 1 }, [`${X}list-type`]: 'set' },
    ...([[2], [2], true] as const),
  ],
  ['an unchanged value that no alternative allows', { ...count, oneOf: [{ minimum: 9 }] }, 1, 1, true],
  ['a changed value that no alternative allows', { ...count, oneOf: [{ minimum: 9 }] }, 1, 2, false],
  [
    'repeated elements, if some were repeated before',
    { type: 'array', items: text, [`${X}list-type`]: 'set' },
    ...([['a', 'a', 'b'], ['a', 'a'], true] as const),
  ],
  [
    'repeated elements, if none were repeated before',
    { type: 'array', items: text, [`${X}list-type`]: 'set' },
    ...([['a', 'a'], ['a'], false] as const),
  ],
  [
    'a transition that is refused, though the value is unchanged',
    ruled(count, 'self > oldSelf'),
    1,
    1,
    false,
  ],
  [
    'an unchanged value that a rule in allOf refuses, in a changed struct',
    { ...struct({ b: count, c: count }), allOf: [{ properties: { b: ruled({}, 'self > 1') } }] },
    ...([{ b: 1, c: 2 }, { b: 1, c: 1 }, false] as const),
  ],
] as const) {
  void test(`an update ${isTolerated ? 'tolerates' : 'fails for'} ${what}`, () => {
    const { causes, tolerated } = check(schema, value, before)
    assert.deepEqual([causes.length > 0, tolerated.length > 0], [!isTolerated, isTolerated], causes.join())
  })
}

void test('many tolerated errors hide no new one', () => {
  const map = { type: 'object', additionalProperties: { ...count, maximum: 1 } }
  const before = Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`k${at}`, 2]))
  const { causes, tolerated } = check(map, { ...before, new: 3 }, before)
  assert.equal(causes.length, 1)
  assert.equal(tolerated.length, 200)
})

void test('an object that costs too much to evaluate is refused, with no rule after that', () => {
  const words = { type: 'array', items: text }
  const expensive = ruled(words, 'self.all(x, self.all(y, x != y || x == y))', 'false')
  const list = Array.from({ length: 2000 }, (_, index) => `x${index}`)
  assert.deepEqual(check(expensive, list).causes, [
    `${I}: "array": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: self.all(x, self.all(y, x != y || x == y))`,
  ])
  // Each evaluation is below the limit, but all together exceed it.
  const each = { type: 'array', items: ruled(words, 'self.all(x, self.all(y, x != y || x == y))') }
  const long = Array.from({ length: 100 }, () => list.slice(0, 300))
  const found = check(each, long).causes
  assert.equal(found.length, 1)
  assert.match(found.join(), /running out of cost budget, no further validation rules will be run$/)
})

void test('the rules of one write share the work that their cost leaves out', () => {
  const inner = { type: 'object', properties: { m: { type: 'array', items: count } } }
  const rules = Array.from({ length: 40 }, (_, at) => `self.l == self.l && ${at} >= 0`)
  const schema = ruled(struct({ l: inner }), ...rules)
  const found = check(schema, { l: { m: Array.from({ length: 30_000 }, (_, at) => at) } }).causes
  assert.equal(found.length, 1)
  assert.match(found.join(), /running out of cost budget, no further validation rules will be run$/)
  assert.deepEqual(check(schema, { l: { m: [1, 2] } }).causes, [])
})

for (const [what, rule] of [
  ['cost nothing', 'true'],
  ['are skipped', 'self == oldSelf'],
] as const) {
  void test(`rules that ${what} are evaluated as often as the budget of a write allows`, () => {
    const list = { type: 'array', items: ruled(count, ...Array<string>(50).fill(rule)) }
    const found = check(list, Array<number>(50_000).fill(1)).causes
    assert.equal(found.length, 1)
    assert.match(found.join(), /running out of cost budget, no further validation rules will be run$/)
    assert.deepEqual(check(list, Array<number>(1000).fill(1)).causes, [])
  })
}

void test('a stored rule that this release cannot compile refuses objects with a clear error', () => {
  assert.match(
    check(ruled(count, 'self.foo'), 1).causes.join(),
    /rule compile error: compilation failed: ERROR/,
  )
})
