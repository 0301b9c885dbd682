// Goal: bodies that typed clients send are read as the objects they mean. Method: a body captured
// from kubectl, one of each type written by hand, and every prefix of a body.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { ApiError } from '../../../../../src/api/errors/api-error.ts'
import { decodeProtobuf } from '../../../../../src/api/codec/protobuf.ts'
import type { JsonObject } from '../../../../../src/api/json.ts'
import { conform } from '../../../../../src/api/schema/conform.ts'
import type { ObjectSchema, Schema } from '../../../../../src/api/schema/schema.ts'
import { wholeObject } from '../../../../../src/api/schema/shared.ts'
import { all, body, bytes, leaf, nested, text, tree, varint } from './protobuf-bodies.ts'
import type { Write } from './protobuf-bodies.ts'

const configMap = wholeObject({
  type: 'object',
  properties: {
    data: { type: 'map', values: { type: 'string' } },
    binaryData: { type: 'map', values: { type: 'string', format: 'bytes' } },
    immutable: { type: 'boolean', zeroMatters: true },
  },
  protobuf: { data: 2, binaryData: 3, immutable: 4 },
})

const captured = Buffer.from(
  '6b3873000a0f0a0276311209436f6e6669674d6170121b0a110a01611200' +
    '1a0022002a0032003800420012060a01781201791a002200',
  'hex',
)

void test('spec 4.7: the body that kubectl sends to create a ConfigMap is decoded', () => {
  assert.deepEqual(decodeProtobuf(configMap, captured), {
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: { name: 'a' },
    data: { x: 'y' },
  })
})

void test('every type is decoded, zeros only where they matter, and unknown members are skipped', () => {
  const schema: ObjectSchema = {
    type: 'object',
    properties: {
      text: { type: 'string' },
      bytes: { type: 'map', values: { type: 'string', format: 'bytes' } },
      flag: { type: 'boolean', zeroMatters: true },
      plainFlag: { type: 'boolean' },
      count: { type: 'integer', format: 'int64' },
      numbers: { type: 'list', items: { type: 'integer', format: 'int32' } },
      size: { type: 'quantity' },
      port: { type: 'int-or-string' },
      named: { type: 'int-or-string' },
      at: { type: 'string', format: 'date-time' },
      fine: { type: 'string', format: 'micro-time' },
      never: { type: 'string', format: 'date-time' },
      raw: { type: 'any' },
      parts: {
        type: 'list',
        items: { type: 'object', properties: { name: { type: 'string' } }, protobuf: { name: 1 } },
      },
    },
    protobuf: {
      ...{ text: 1, bytes: 2, flag: 3, plainFlag: 4, count: 5, numbers: 6, size: 7, port: 8, named: 9 },
      ...{ at: 10, fine: 11, never: 12, raw: 13, parts: 14 },
    },
  }
  const bytes = body(
    all(
      text(1, 'é'),
      nested(2, all(text(1, 'k'), text(2, '\u0001'))),
      nested(2, text(1, 'empty')),
      ...[varint(3, 0), varint(4, 0), varint(5, -7), varint(6, 1), varint(6, 2)],
      nested(7, text(1, '10Mi')),
      nested(8, all(varint(1, 0), varint(2, 80), text(3, ''))),
      nested(9, all(varint(1, 1), varint(2, 0), text(3, 'http'))),
      nested(10, all(varint(1, 1767225600), varint(2, 0))),
      nested(11, all(varint(1, 1767225600), varint(2, 5000))),
      nested(12, () => undefined),
      nested(13, text(1, '{"a":[1]}')),
      nested(14, text(1, 'x')),
      nested(14, () => undefined),
      ...[text(99, 'unknown'), varint(98, 1)],
    ),
  )
  const object = decodeProtobuf(schema, bytes)
  assert.deepEqual(object, {
    kind: 'Thing',
    apiVersion: 'v1',
    text: 'é',
    bytes: { k: 'AQ==', empty: '' },
    flag: false,
    count: -7,
    numbers: [1, 2],
    size: '10Mi',
    port: 80,
    named: 'http',
    at: '2026-01-01T00:00:00Z',
    fine: '2026-01-01T00:00:00.000005Z',
    raw: { a: [1] },
    parts: [{ name: 'x' }, {}],
  })
  assert.deepEqual(conform(wholeObject(schema), object).value, object)
})

void test('a truncated body, or one of another format, is a 400', () => {
  // The last four bytes of the body are two empty members of the envelope, which may be missing.
  const cut = Array.from({ length: captured.length - 4 }, (_, length) => captured.subarray(0, length))
  const twice = body(() => undefined)
  const bad = [
    Buffer.from('{"kind":"ConfigMap"}'),
    body((writer) => writer.tag(2, WireType.LengthDelimited).bytes(new Uint8Array([0x0a, 0x01, 0xff]))),
    body((writer) => writer.tag(2, WireType.Varint).int64(1)),
    Buffer.concat([twice, Buffer.from([0x1a, 0x04]), Buffer.from('gzip')]),
    body(
      nested(
        1,
        nested(7, () => undefined),
      ),
    ),
  ]
  for (const bytes of [...cut, ...bad]) {
    assert.throws(
      () => decodeProtobuf(configMap, bytes),
      (error) => error instanceof ApiError && error.code === 'BadRequest',
      Buffer.from(bytes).toString('hex'),
    )
  }
})

function read(...writes: readonly Write[]): JsonObject {
  return decodeProtobuf(tree, body(all(...writes)))
}

function type(object: JsonObject): JsonObject {
  return { kind: 'Thing', apiVersion: 'v1', ...object }
}

void test('the last of several values of a member counts, and a struct sent in parts is merged', () => {
  assert.deepEqual(read(text(1, 'a'), text(1, 'b')), type({ own: 'b' }))
  assert.deepEqual(read(text(1, 'a'), text(1, '')), type({}))
  const parts = [nested(2, all(text(1, 'a'), varint(2, 7))), nested(2, all(text(1, 'b'), varint(3, 8)))]
  assert.deepEqual(read(...parts), type({ leaf: { name: 'b', count: 7, small: 8 } }))
  const portAtOnce = nested(2, all(nested(5, varint(1, 1)), nested(5, text(3, 'http'))))
  assert.deepEqual(read(portAtOnce), type({ leaf: { port: 'http' } }))
  assert.deepEqual(
    read(
      nested(4, all(text(1, 'k'), nested(2, text(1, 'a')))),
      nested(4, all(text(1, 'k'), nested(2, varint(2, 1)))),
    ),
    type({ byName: { k: { count: 1 } } }),
  )
})

void test('numbers of a list may be packed, unpacked, or both', () => {
  assert.deepEqual(read(bytes(5, '01ac02'), varint(5, 3), bytes(5, '')), type({ numbers: [1, 300, 3] }))
  assert.deepEqual(read(bytes(6, '000105')), type({ flags: [false, true, true] }))
  assert.deepEqual(read(bytes(7, '000000000000f83f')), type({ fractions: [1.5] }))
})

void test('a list inside of a message, and a map of such lists, is decoded', () => {
  assert.deepEqual(read(nested(8, text(1, 'a')), nested(8, text(1, 'b'))), type({ texts: ['a', 'b'] }))
  assert.deepEqual(read(nested(8, () => undefined)), type({}))
  const entry = all(text(1, 'k'), nested(2, all(text(1, 'a'), text(1, 'b'))))
  assert.deepEqual(
    read(nested(9, entry), nested(9, text(1, 'e'))),
    type({ textsByName: { k: ['a', 'b'], e: [] } }),
  )
})

void test('members of an inlined struct are decoded to their place in JSON', () => {
  assert.deepEqual(
    read(nested(10, text(1, 'n')), text(1, 'o'), nested(10, varint(2, 5))),
    type({ name: 'n', own: 'o', count: 5 }),
  )
})

void test('an empty struct is absent, unless JSON always has it or absent means something else', () => {
  const empty = nested(1, () => undefined)
  const of = (rules: object): JsonObject =>
    decodeProtobuf(
      { type: 'object', properties: { a: { ...leaf, ...rules } }, protobuf: { a: 1 } },
      body(empty),
    )
  assert.deepEqual(of({}), type({}))
  assert.deepEqual(of({ zeroMatters: true }), type({ a: {} }))
  assert.deepEqual(of({ always: true }), type({ a: {} }))
})

void test('a zero is kept where JSON requires the number or boolean, but not where absent has a default', () => {
  const zero = body(varint(1, 0))
  const of = (rules: object, required: readonly string[] = []): JsonObject => {
    const a: Schema = { type: 'integer', format: 'int32', ...rules }
    return decodeProtobuf({ type: 'object', properties: { a }, required, protobuf: { a: 1 } }, zero)
  }
  assert.deepEqual(of({}), type({}))
  assert.deepEqual(of({}, ['a']), type({ a: 0 }))
  assert.deepEqual(of({ always: true }), type({ a: 0 }))
  assert.deepEqual(of({ default: 3 }, ['a']), type({}))
  assert.deepEqual(of({ default: 3, zeroMatters: true }), type({ a: 0 }))
})

void test('numbers have the width of their type', () => {
  assert.deepEqual(read(nested(2, varint(3, -5))), type({ leaf: { small: -5 } }))
  assert.deepEqual(read(nested(2, varint(3, 2 ** 32 - 5))), type({ leaf: { small: -5 } }))
  for (const count of [2 ** 53 - 1, 1 - 2 ** 53, 2 ** 28, 2 ** 35 + 1, -1]) {
    assert.deepEqual(read(nested(2, varint(2, count))), type({ leaf: { count } }))
  }
})

void test('any JSON in a message is kept, even a zero', () => {
  for (const raw of [0, '', false, { a: [null] }]) {
    assert.deepEqual(read(nested(2, nested(6, text(1, JSON.stringify(raw))))), type({ leaf: { raw } }))
  }
})

void test('an envelope whose content has another media type is rejected', () => {
  const message = body(() => undefined)
  const with4 = (contentType: string): Uint8Array => {
    const writer = new BinaryWriter()
    writer.tag(4, WireType.LengthDelimited).string(contentType)
    return Buffer.concat([message, writer.finish()])
  }
  assert.doesNotThrow(() => decodeProtobuf(tree, with4('application/vnd.orch.protobuf')))
  assert.throws(() => decodeProtobuf(tree, with4('application/json')), /its content is of another media type/)
})
