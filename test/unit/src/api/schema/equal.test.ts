/*
 * Goal: two values are equal if and only if they are equivalent.
 * Method: a struct with a member of every type; pairs that are equal, and pairs that are not.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../../../src/api/json.ts'
import * as build from '../../../../../src/api/schema/build.ts'
import { equalUnder } from '../../../../../src/api/schema/equal.ts'

const inner = build.struct('test.v1.Inner', 'Inside.', { a: build.text(1, 'A.') })
const schema = build.struct('test.v1.Outer', 'Outside.', {
  text: build.text(1, 'T.'),
  pointer: build.text(2, 'P.', { optional: true }),
  flag: build.flag(3, 'F.'),
  count: build.int32(4, 'C.'),
  amount: build.quantity(5, 'Q.', { optional: true }),
  either: build.intOrString(6, 'E.'),
  anything: build.any(7, 'A.'),
  list: build.listOf(8, inner, 'L.'),
  map: build.mapOf(9, { type: 'quantity' }, 'M.'),
  part: build.part(10, inner, 'P.'),
  maybe: build.maybe(11, inner, 'M.'),
  ratio: build.double(12, 'R.'),
})

const equal = (a: JsonObject, b: JsonObject) => {
  const seen = equalUnder(schema, a, b)
  assert.equal(seen, equalUnder(schema, b, a))
  return seen
}

void test('equivalent values are equal', () => {
  const pairs: readonly (readonly [JsonObject, JsonObject])[] = [
    [{}, { text: '', flag: false, count: 0, ratio: 0, list: [], map: {}, part: {} }],
    [{ part: {} }, { part: { a: '' } }],
    [{ amount: '1Gi' }, { amount: '1073741824' }],
    [{ map: { a: '1' } }, { map: { a: '1000m' } }],
    [{ list: [{}] }, { list: [{ a: '' }] }],
    [{ anything: { a: 1, b: 2 } }, { anything: { b: 2, a: 1 } }],
    [
      { text: 'a', unknown: 1 },
      { text: 'a', unknown: 2 },
    ],
  ]
  for (const [a, b] of pairs) assert.ok(equal(a, b), JSON.stringify([a, b]))
})

void test('values with different meanings are not equal', () => {
  const pairs: readonly (readonly [JsonObject, JsonObject])[] = [
    [{}, { text: 'a' }],
    [{}, { pointer: '' }],
    [{}, { maybe: {} }],
    [{}, { amount: '0' }],
    [{}, { flag: true }],
    [{ count: 1 }, { count: 2 }],
    [{ ratio: 1 }, { ratio: 1.5 }],
    [{ amount: '1G' }, { amount: '1Gi' }],
    [{ map: { a: '1' } }, { map: { b: '1' } }],
    [{ map: { a: '0' } }, { map: {} }],
    [{ list: [{ a: 'x' }] }, { list: [{ a: 'y' }] }],
    [{ list: [{}] }, { list: [] }],
    [{ either: 1 }, { either: '1' }],
    [{ anything: [1] }, { anything: [2] }],
  ]
  for (const [a, b] of pairs) assert.ok(!equal(a, b), JSON.stringify([a, b]))
})
