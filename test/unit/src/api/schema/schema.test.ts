// Goal: what decoding, defaulting and validating make of an object. Method: one small schema with
// every type.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ApiErrorCause } from '../../../../../src/api/errors/api-error.ts'
import { causesOf, Findings } from '../../../../../src/api/errors/findings.ts'
import { ApiError } from '../../../../../src/api/errors/api-error.ts'
import type { JsonObject } from '../../../../../src/api/json.ts'
import {
  flag,
  int32,
  listOf,
  maybe,
  part,
  struct,
  text,
  textMap,
  texts,
  time,
} from '../../../../../src/api/schema/build.ts'
import { conform, strictDecodingError, unknownFieldWords } from '../../../../../src/api/schema/conform.ts'
import { applyDefaults } from '../../../../../src/api/schema/default.ts'
import type { ObjectSchema } from '../../../../../src/api/schema/schema.ts'
import { wholeObject } from '../../../../../src/api/schema/shared.ts'
import { validateSchema } from '../../../../../src/api/schema/validate.ts'

const schema: ObjectSchema = wholeObject({
  type: 'object',
  properties: {
    data: { type: 'map', values: { type: 'string' } },
    binary: { type: 'map', values: { type: 'string', format: 'bytes' } },
    spec: {
      type: 'object',
      properties: {
        mode: { type: 'string', enum: ['Slow', 'Fast'], default: 'Slow' },
        count: { type: 'integer', format: 'int32', minimum: 1, maximum: 9 },
        port: { type: 'int-or-string' },
        size: { type: 'quantity' },
        at: { type: 'string', format: 'date-time' },
        raw: { type: 'any' },
        parts: {
          type: 'list',
          items: {
            type: 'object',
            properties: {
              name: { type: 'string' },
              weight: { type: 'integer', format: 'int32', default: 1 },
            },
            required: ['name'],
          },
        },
      },
      required: ['count'],
    },
  },
})

function sample(more: JsonObject): JsonObject {
  return { kind: 'Thing', apiVersion: 'g.test/v1', metadata: { name: 'a', creationTimestamp: null }, ...more }
}

function refusal(more: JsonObject): ApiError {
  try {
    conform(schema, sample(more))
  } catch (error) {
    assert.ok(error instanceof ApiError)
    return error
  }
  return assert.fail('the object was taken')
}

void test('an object that conforms already is returned identically', () => {
  const object = sample({ data: { a: 'b' }, spec: { count: 1, parts: [{ name: 'x' }] } })
  const { value, unknown } = conform(schema, object)
  assert.equal(value, object)
  assert.deepEqual(unknown, [])
})

void test('unknown members are dropped at any depth and reported by path', () => {
  const object = sample({ bad: 1, spec: { count: 1, odd: {}, parts: [{ name: 'x', no: 1 }] } })
  const { value, unknown } = conform(schema, object)
  assert.deepEqual(value, sample({ spec: { count: 1, parts: [{ name: 'x' }] } }))
  assert.deepEqual(unknown, ['bad', 'spec.odd', 'spec.parts[0].no'])
  assert.equal(
    strictDecodingError(object, unknown.map(unknownFieldWords)).message,
    'Thing in version "v1" cannot be handled as a Thing: strict decoding error: unknown field "bad", ' +
      'unknown field "spec.odd", unknown field "spec.parts[0].no"',
  )
})

void test('a member of another type is a 400 that names the path', () => {
  const error = refusal({ data: { 'a b': 5 } })
  assert.equal(error.code, 'BadRequest')
  assert.equal(
    error.message,
    'Thing in version "v1" cannot be handled as a Thing: ' +
      'json: cannot unmarshal number into field data[a b] of type string',
  )
})

void test('invalid scalars are rejected', () => {
  for (const spec of [
    { count: 1.5 },
    { count: 2 ** 31 },
    { count: '1' },
    { port: true },
    { size: '1x' },
    { at: 'yesterday' },
    { at: '2026-02-30T00:00:00Z' },
    { parts: {} },
    { mode: [] },
  ]) {
    assert.equal(refusal({ spec }).code, 'BadRequest', JSON.stringify(spec))
  }
  assert.equal(refusal({ binary: { a: 'a' } }).code, 'BadRequest')
  assert.equal(refusal({ binary: { a: '?aaa' } }).code, 'BadRequest')
})

void test('null means absent, except in lists and maps, where it is empty, and in values of any type', () => {
  const object = sample({ data: { a: null }, spec: { mode: null, raw: { keep: null }, parts: [null] } })
  assert.deepEqual(
    conform(schema, object).value,
    sample({ data: { a: '' }, spec: { raw: { keep: null }, parts: [{}] } }),
  )
})

void test('times and quantities are written in canonical form', () => {
  const object = sample({ spec: { at: '2026-01-01T02:00:00.5+02:00', size: '1000m', port: 'http' } })
  assert.deepEqual(
    conform(schema, object).value,
    sample({ spec: { at: '2026-01-01T00:00:00Z', size: '1', port: 'http' } }),
  )
})

void test('a key named __proto__ is an ordinary key', () => {
  const object = JSON.parse('{"kind":"Thing","data":{"__proto__":null,"a":"b"}}') as JsonObject
  const { value } = conform(schema, object)
  assert.equal(JSON.stringify(value), '{"kind":"Thing","data":{"__proto__":"","a":"b"}}')
  assert.equal(({} as JsonObject)['a'], undefined)
})

/** Conforms an object like a request body. */
function read(schema: ObjectSchema, object: JsonObject): JsonObject {
  return applyDefaults(schema, conform(schema, object).value)
}

void test('a zero that equals absent gets the default, a distinct zero does not', () => {
  const zeros = struct('test.v1.Zeros', 'Zeros.', {
    text: text(1, 'Text.', { default: 'a' }),
    count: int32(2, 'A number.', { default: 3 }),
    own: int32(3, 'A number that may be 0.', { optional: true, default: 30 }),
    plain: int32(4, 'A number without a default.'),
  })
  assert.deepEqual(read(zeros, { text: '', count: 0, own: 0, plain: 0 }), { text: 'a', count: 3, own: 0 })
  assert.deepEqual(read(zeros, {}), { text: 'a', count: 3, own: 30 })
})

void test('a zero is written if it is required or distinct from absent, and omitted otherwise', () => {
  const inner = struct('test.v1.Inner', 'Inner.', {
    text: text(1, 'Text.'),
    name: text(2, 'Name.', { always: true }),
  })
  const zeros = struct('test.v1.Said', 'Said.', {
    texts: texts(1, 'Texts.'),
    map: textMap(2, 'Texts by name.'),
    at: time(3, 'A time.', { optional: true }),
    flag: flag(4, 'A flag.'),
    inners: listOf(5, inner, 'Structs.'),
    own: text(6, 'Text that may be empty.', { optional: true }),
    maybe: maybe(7, inner, 'A struct that may be absent.'),
    saidTexts: texts(11, 'Texts.', { always: true }),
    saidMap: textMap(12, 'Texts by name.', { always: true }),
    saidTime: time(13, 'A time.'),
    saidFlag: flag(14, 'A flag.', { always: true }),
    saidInner: part(15, inner, 'A struct.'),
    saidOwn: text(16, 'Text that may be empty.', { optional: true, always: true }),
  })
  const nothing = {
    ...{ saidTexts: null, saidMap: null, saidTime: null, saidFlag: false, saidInner: { name: '' } },
    saidOwn: null,
  }
  assert.deepEqual(read(zeros, {}), nothing)
  const empty = { texts: [], map: {}, at: null, flag: false, inners: [], own: null, maybe: null }
  const saidEmpty = { saidTexts: [], saidMap: {}, saidTime: '0001-01-01T00:00:00Z', saidInner: { text: '' } }
  assert.deepEqual(read(zeros, { ...empty, ...saidEmpty }), nothing)
  const kept = { inners: [{ text: '' }], own: '', maybe: {}, saidOwn: '' }
  const made = { ...nothing, ...kept, inners: [{ name: '' }], maybe: { name: '' } }
  assert.deepEqual(read(zeros, kept), made)
  assert.equal(read(zeros, made), made)
})

void test('defaults are applied inside of existing values', () => {
  const object = sample({ spec: { count: 1, parts: [{ name: 'x' }, { name: 'y', weight: 3 }] } })
  const filled = applyDefaults(schema, object)
  assert.deepEqual(
    filled,
    sample({
      spec: {
        count: 1,
        mode: 'Slow',
        parts: [
          { name: 'x', weight: 1 },
          { name: 'y', weight: 3 },
        ],
      },
    }),
  )
  assert.equal(applyDefaults(schema, filled), filled)
  const bare = sample({})
  assert.equal(applyDefaults(schema, bare), bare)
})

function causesIn(object: JsonObject): readonly ApiErrorCause[] {
  return causesOf((found) => {
    validateSchema(schema, object, found)
  })
}

void test('missing members, values outside of an enum and of a range are causes with paths', () => {
  const object = sample({ spec: { mode: 'Odd', parts: [{ name: 'x' }, {}] } })
  assert.deepEqual(causesIn(object), [
    { reason: 'FieldValueRequired', field: 'spec.count', message: 'Required value' },
    {
      reason: 'FieldValueNotSupported',
      field: 'spec.mode',
      message: 'Unsupported value: "Odd": supported values: "Slow", "Fast"',
    },
    { reason: 'FieldValueRequired', field: 'spec.parts[1].name', message: 'Required value' },
  ])
  assert.deepEqual(causesIn(sample({ spec: { count: 10 } })), [
    {
      reason: 'FieldValueInvalid',
      field: 'spec.count',
      message: 'Invalid value: 10: must be between 1 and 9, inclusive',
    },
  ])
})

void test('a struct runs its own check and those of every struct inlined into it', () => {
  const ran: string[] = []
  const first = struct('test.First', 'First.', {}, { check: () => ran.push('first') })
  const second = struct('test.Second', 'Second.', {}, { check: () => ran.push('second') })
  const inline = [
    { number: 1, schema: first },
    { number: 2, schema: second },
  ]
  struct('test.Two', 'Two.', {}, { inline }).check?.({}, null, new Findings())
  assert.deepEqual(ran.splice(0), ['first', 'second'])
  const rules = { inline, check: () => ran.push('own') }
  struct('test.Three', 'Three.', {}, rules).check?.({}, null, new Findings())
  assert.deepEqual(ran, ['first', 'second', 'own'])
})
