/*
 * Goal: JSON values are seen through their declared types, with the identity of their lists.
 * Method: expressions over variables with a type and a value, and their results.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { celFieldName } from '../../../../../src/api/cel/field-names.ts'
import type { CelType } from '../../../../../src/api/cel/types.ts'
import {
  celBool,
  celBytes,
  celDouble,
  celDuration,
  celDyn,
  celInt,
  celList,
  celMap,
  celObject,
  celOptional,
  celString,
  celTimestamp,
} from '../../../../../src/api/cel/types.ts'
import type { Json } from '../../../../../src/api/json.ts'
import { resultOf } from './cel-support.ts'

const pair = celObject(
  'Pair',
  new Map([
    ['name', { member: 'name', type: celString }],
    ['value', { member: 'value', type: celInt }],
  ]),
)
const set: CelType = { ...celList(celString), identity: 'set' }
const byName: CelType = { ...celList(pair), identity: { keys: ['name'] } }

for (const [title, type, value, expression, result] of [
  ['an integer is an int', celInt, 3, 'v == 3', 'true'],
  ['an integer of type double is a double', celDouble, 3, 'v', 'double 3'],
  ['an integer beyond 2^53 keeps every digit', celInt, 9007199254740993n, 'v', '9007199254740993'],
  ['a text of type bytes is base64', celBytes, 'YQ==', "v == b'a'", 'true'],
  ['a text of type duration is one', celDuration, '90s', 'v.getMinutes()', '1'],
  ['a duration may have units in words', celDuration, '1 day 2min', 'v.getMinutes()', '1442'],
  ['a duration may count weeks', celDuration, '3 WEEKS', 'v.getHours()', '504'],
  ['a short unit is a duration', celDuration, '1d', 'v.getHours()', '24'],
  ['a date is a timestamp', celTimestamp, '2024-02-29', 'v.getDayOfYear()', '59'],
  ['a dyn integer is an int', celDyn, 3, 'type(v) == int', 'true'],
  ['a dyn fraction is a double', celDyn, 3.5, 'type(v) == double', 'true'],
  ['int-or-string accepts both', celDyn, 'a', "v == 1 || v == 'a'", 'true'],
  [
    'a member named __proto__ is like any other',
    celMap(celString, celInt),
    JSON.parse('{"__proto__":1}'),
    "v['__proto__']",
    '1',
  ],
  [
    'an inherited member does not exist',
    celMap(celString, celInt),
    {},
    "'toString' in v || has(v.constructor)",
    'false',
  ],
  ['a field that is absent is an error', pair, { name: 'a' }, 'v.value == 1', 'error: no such key: value'],
  ['has() is true for a field that is present', pair, { name: 'a' }, 'has(v.name) && !has(v.value)', 'true'],
  [
    'a member that is not a field does not exist',
    pair,
    { name: 'a', other: 1 },
    "dyn(v) == dyn({'name': 'a'})",
    'true',
  ],
  [
    'a value of another type is an error',
    celBool,
    'x',
    'v',
    'error: invalid data, expected a value of type bool',
  ],
  ['null is null whatever the type', celString, null, 'dyn(v) == null', 'true'],
  ['a map is iterated by its keys', celMap(celString, celInt), { a: 1, b: 2 }, 'v.all(k, v[k] > 0)', 'true'],
  ['sets are equal in any order', set, ['a', 'b'], "v == ['b', 'a']", 'true'],
  ['sets with other elements differ', set, ['a', 'b'], "v == ['b', 'c']", 'false'],
  ['+ of sets is the union', set, ['a', 'b'], "v + ['c', 'a']", '["a", "b", "c"]'],
  [
    'lists by key are equal in any order',
    byName,
    [{ name: 'a' }, { name: 'b', value: 1 }],
    'v == [v[1], v[0]]',
    'true',
  ],
  [
    '+ of lists by key replaces by key',
    byName,
    [{ name: 'a', value: 1 }, { name: 'b' }],
    "(v + v.filter(x, x.name == 'a')).map(x, x.name)",
    '["a", "b"]',
  ],
  ['plain lists are equal in order only', celList(celString), ['a', 'b'], "v == ['b', 'a']", 'false'],
] as readonly (readonly [string, CelType, Json, string, string])[]) {
  void test(`${title}: ${expression}`, () => {
    assert.equal(resultOf(expression, { v: [type, value] }), result)
  })
}

void test('an optional variable without a value is empty', () => {
  assert.equal(resultOf('old.hasValue()', { old: [celOptional(celInt)] }), 'false')
  assert.equal(resultOf('old.orValue(3)', { old: [celOptional(celInt), 1] }), '1')
  assert.equal(resultOf('old == 1', { old: [celInt] }), 'error: no such attribute(s): old')
})

void test('a recursive type is checked to any depth', () => {
  const node: CelType = {
    kind: 'object',
    name: 'Node',
    fieldOf: (name) => (name === 'next' ? { member: 'next', type: node } : undefined),
  }
  const variables = { v: [node, { next: { next: {} } }] } as const
  assert.equal(resultOf('has(v.next.next) && !has(v.next.next.next)', variables), 'true')
  assert.match(resultOf('v.next.other', variables), /undefined field 'other'/)
})

void test('names of members are escaped in expressions', () => {
  const names = ['a', '-b', 'a-b', 'a.b/c', 'x__y', 'namespace', 'int', '1a', 'ü']
  const expected = [
    'a',
    '__dash__b',
    'a__dash__b',
    'a__dot__b__slash__c',
    'x__underscores__y',
    '__namespace__',
    'int',
  ]
  assert.deepEqual(names.map(celFieldName), [...expected, undefined, undefined])
})

void test('elements of a literal have one type, unless they are dyn', () => {
  assert.match(resultOf("[1, 'a']"), /1:5: expected type 'int' but found 'string'/)
  assert.equal(resultOf("[dyn(1), 'a']"), '[1, "a"]')
})
