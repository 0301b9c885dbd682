/*
 * Goal: an integer that JSON spells as a fraction is rejected for integer members of built-in
 * kinds, as upstream's parser does; elsewhere it is an ordinary number.
 * Method: texts through the detection of such numbers, and objects that have them in integer and
 * other members.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../../../../src/api/errors/api-error.ts'
import { parseSpelledObject } from '../../../../../src/api/codec/json.ts'
import { conform } from '../../../../../src/api/schema/conform.ts'
import { int32, intOrString, listOf, mapOf, quantity, struct } from '../../../../../src/api/schema/build.ts'

const schema = struct('test.v1.Numbers', 'Numbers.', {
  count: int32(1, 'How many.'),
  port: intOrString(2, 'Where.'),
  amount: quantity(3, 'How much.'),
  counts: mapOf(4, { type: 'integer', format: 'int64' }, 'By name.'),
  list: listOf(5, { type: 'integer', format: 'int32' }, 'In order.'),
})

function read(text: string): unknown {
  const { value, fractions } = parseSpelledObject(text)
  return conform(schema, value, fractions).value
}

for (const [text, spelled, place] of [
  ['{"count":1.0}', '1.0', 'count of type int32'],
  ['{"count": 1e3}', '1e3', 'count of type int32'],
  ['{"count":-1.0E0}', '-1.0E0', 'count of type int32'],
  ['{"port":80.0}', '80.0', 'port of type int32'],
  ['{"counts":{"a.b":1,"c":2.0}}', '2.0', 'counts[c] of type int64'],
  ['{"list":[1,2.0]}', '2.0', 'list[1] of type int32'],
  ['{"count":1,"count":2.0}', '2.0', 'count of type int32'],
] as const) {
  void test(`${text} is rejected`, () => {
    assert.throws(
      () => read(text),
      (error) =>
        error instanceof ApiError &&
        error.code === 'BadRequest' &&
        error.message.endsWith(`json: cannot unmarshal number ${spelled} into field ${place}`),
    )
  })
}

for (const [text, value] of [
  ['{"count":1}', { count: 1 }],
  ['{"count":2.0,"count":1}', { count: 1 }],
  ['{"amount":1.0}', { amount: '1' }],
  ['{"port":"80.0"}', { port: '80.0' }],
  ['{"count":7,"unknown":{"count":1.0}}', { count: 7 }],
] as const) {
  void test(`${text} is accepted`, () => assert.deepEqual(read(text), value))
}

void test('fractions are found with their place, and only those of integers', () => {
  assert.equal(parseSpelledObject('{"image":"a:1.5","n":10,"f":"1e3"}').fractions.size, 0)
  const { fractions } = parseSpelledObject('{"a":[{"b":1.50},{"b":1.0,"c":2}],"d":{"e":{}}}')
  assert.deepEqual(fractions, new Map([['a', new Map([[1, new Map([['b', '1.0']])]])]]))
})

void test('fractions below a name of a megabyte are found, and ignored if the schema lacks the name', () => {
  const name = 'n'.repeat(1024 * 1024)
  const text = `{"${name}":[${'1,'.repeat(60_000)}1.0],"list":[${'1,'.repeat(60_000)}1]}`
  assert.deepEqual([...parseSpelledObject(text).fractions.keys()], [name])
  assert.deepEqual(read(text), { list: Array<number>(60_001).fill(1) })
})
