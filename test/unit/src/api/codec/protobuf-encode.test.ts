/*
 * Goal: responses in protobuf are, byte for byte, what upstream's encoder writes.
 * Method: a body captured from kubectl; each type against bytes written by hand; lists composed of
 * their pieces, and events split into theirs.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  encodeProtobuf,
  PROTOBUF_TAIL,
  protobufListHead,
  protobufListItemBytes,
  protobufListItemHead,
} from '../../../../../src/api/codec/protobuf-envelope.ts'
import { encodeProtobufMessage } from '../../../../../src/api/codec/protobuf-encode.ts'
import { protobufWatchFrame } from '../../../../../src/api/codec/protobuf-watch.ts'
import { decodeProtobuf } from '../../../../../src/api/codec/protobuf.ts'
import type { JsonObject } from '../../../../../src/api/json.ts'
import type { ObjectSchema, Schema } from '../../../../../src/api/schema/schema.ts'
import { listMetaSchema, objectMetaSchema, wholeObject } from '../../../../../src/api/schema/shared.ts'

const configMap = wholeObject({
  type: 'object',
  properties: {
    data: { type: 'map', values: { type: 'string' } },
    immutable: { type: 'boolean', zeroMatters: true },
  },
  protobuf: { data: 2, immutable: 4 },
})

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

/** Encodes a message of one member `a` with the number 1. */
function one(schema: Schema, value: JsonObject): string {
  return hex(encodeProtobufMessage({ type: 'object', properties: { a: schema }, protobuf: { a: 1 } }, value))
}

void test('spec 4.7: a ConfigMap is written as kubectl writes it', () => {
  const object = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'a' }, data: { x: 'y' } }
  const captured =
    '6b3873000a0f0a0276311209436f6e6669674d6170121b0a110a01611200' +
    '1a0022002a0032003800420012060a01781201791a002200'
  // The body is of a later kubectl, which does not have the member `clusterName`.
  const numbers = Object.entries(objectMetaSchema.protobuf ?? {}).filter(([name]) => name !== 'clusterName')
  const metadata: ObjectSchema = { ...objectMetaSchema, protobuf: Object.fromEntries(numbers) }
  const schema = { ...configMap, properties: { ...configMap.properties, metadata } }
  assert.equal(hex(encodeProtobuf(schema, object)), captured)
})

const text: Schema = { type: 'string' }
const cases: readonly [string, Schema, JsonObject, string][] = [
  ['a text', text, { a: 'é' }, '0a02c3a9'],
  ['an absent text', text, {}, '0a00'],
  ['an absent text whose zero matters', { ...text, zeroMatters: true }, {}, ''],
  ['an empty text whose zero matters', { ...text, zeroMatters: true }, { a: '' }, '0a00'],
  ['bytes', { ...text, format: 'bytes' }, { a: 'AQID' }, '0a03010203'],
  ['empty bytes', { ...text, format: 'bytes' }, { a: '' }, '0a00'],
  ['absent bytes', { ...text, format: 'bytes' }, {}, ''],
  ['a flag', { type: 'boolean' }, { a: true }, '0801'],
  ['an absent flag', { type: 'boolean' }, {}, '0800'],
  ['a flag that is false and matters', { type: 'boolean', zeroMatters: true }, { a: false }, '0800'],
  ['an absent flag that would matter', { type: 'boolean', zeroMatters: true }, {}, ''],
  ['a number', { type: 'integer', format: 'int32' }, { a: 300 }, '08ac02'],
  ['a negative number', { type: 'integer', format: 'int32' }, { a: -2 }, '08feffffffffffffffff01'],
  ['the largest number', { type: 'integer', format: 'int64' }, { a: 2 ** 53 - 1 }, '08ffffffffffffff0f'],
  ['the least number', { type: 'integer', format: 'int64' }, { a: 1 - 2 ** 53 }, '0881808080808080f0ff01'],
  ['a fraction', { type: 'number' }, { a: 1.5 }, '09000000000000f83f'],
  ['a quantity', { type: 'quantity' }, { a: '10Mi' }, '0a060a0431304d69'],
  ['an absent quantity', { type: 'quantity' }, {}, '0a030a0130'],
  ['a port by number', { type: 'int-or-string' }, { a: 80 }, '0a06080010501a00'],
  ['a port by name', { type: 'int-or-string' }, { a: 'web' }, '0a09080110001a03776562'],
  ['an absent port', { type: 'int-or-string' }, {}, '0a06080010001a00'],
  ['a time', { ...text, format: 'date-time' }, { a: '1970-01-01T00:00:07Z' }, '0a0408071000'],
  [
    'a time with a fraction',
    { ...text, format: 'date-time' },
    { a: '1970-01-01T00:00:07.9Z' },
    '0a0408071000',
  ],
  [
    'a time before 1970',
    { ...text, format: 'date-time' },
    { a: '1969-12-31T23:59:59Z' },
    '0a0d08ffffffffffffffffff011000',
  ],
  [
    'a time to the microsecond',
    { ...text, format: 'micro-time' },
    { a: '1970-01-01T00:00:07.000001Z' },
    '0a05080710e807',
  ],
  ['an absent time', { ...text, format: 'date-time' }, {}, '0a00'],
  ['no time', { ...text, format: 'date-time', always: true }, { a: null }, '0a00'],
  ['the zero time', { ...text, format: 'date-time' }, { a: '0001-01-01T00:00:00Z' }, '0a00'],
  ['an absent time that would matter', { ...text, format: 'date-time', zeroMatters: true }, {}, ''],
  ['anything', { type: 'any' }, { a: { b: [1] } }, '0a0b0a097b2262223a5b315d7d'],
  ['nothing of anything', { type: 'any' }, {}, '0a00'],
  ['nothing of anything that would matter', { type: 'any', zeroMatters: true }, {}, ''],
  ['an absent struct', { type: 'object', properties: { b: text }, protobuf: { b: 3 } }, {}, '0a021a00'],
  [
    'an absent struct that would matter',
    { type: 'object', properties: { b: text }, protobuf: { b: 3 }, zeroMatters: true },
    {},
    '',
  ],
  ['texts', { type: 'list', items: text }, { a: ['x', ''] }, '0a01780a00'],
  ['no texts', { type: 'list', items: text }, { a: [] }, ''],
  ['numbers', { type: 'list', items: { type: 'integer', format: 'int64' } }, { a: [1, 0] }, '08010800'],
  ['texts in a message', { type: 'list', items: text, inMessage: true }, { a: ['x'] }, '0a030a0178'],
  ['a map', { type: 'map', values: text }, { a: { b: '1', a: '' } }, '0a050a016112000a060a0162120131'],
  [
    'a map of bytes',
    { type: 'map', values: { ...text, format: 'bytes' } },
    { a: { b: '' } },
    '0a050a01621200',
  ],
  [
    'a map of lists',
    { type: 'map', values: { type: 'list', items: text, inMessage: true } },
    { a: { b: ['x', 'y'] } },
    '0a0b0a016212060a01780a0179',
  ],
]

for (const [what, schema, value, expected] of cases) {
  void test(`a value is encoded as upstream encodes it: ${what}`, () =>
    assert.equal(one(schema, value), expected))
}

void test('map keys are sorted by UTF-8 bytes, not by code units', () => {
  const map = { '\u{1f600}': '', '\uff5e': '', b: '', a: '', ab: '' }
  const keys = Object.keys(map).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  const expected = keys.map((key) => {
    const bytes = Buffer.from(key)
    return hex(Buffer.concat([Buffer.of(10, bytes.length + 4, 10, bytes.length), bytes, Buffer.of(18, 0)]))
  })
  assert.equal(one({ type: 'map', values: text }, { a: map }), expected.join(''))
})

void test('members of an inlined struct are in a message of their own, which is always written', () => {
  const inner: ObjectSchema = { type: 'object', properties: { b: text }, protobuf: { b: 1 } }
  const schema: ObjectSchema = {
    type: 'object',
    properties: { b: text, a: text, c: text },
    protobuf: { a: 1, c: 3 },
    inline: [{ number: 2, schema: inner }],
  }
  assert.equal(hex(encodeProtobufMessage(schema, { a: 'x', b: 'y', c: 'z' })), '0a017812030a01791a017a')
  assert.equal(hex(encodeProtobufMessage(schema, {})), '0a0012020a001a00')
})

void test('texts and lengths of every size are written completely', () => {
  const sizes = [0, 1, 39, 40, 41, 127, 128, 1023, 1024, 1025, 16_383, 16_384]
  const texts = sizes.flatMap((size) => ['a', 'é', '\u{1f600}'].map((unit) => unit.repeat(size)))
  for (const value of [...texts, 'a'.repeat(2 ** 21 - 1), 'a'.repeat(2 ** 21)]) {
    const bytes = encodeProtobuf(configMap, { kind: 'ConfigMap', apiVersion: 'v1', data: { key: value } })
    assert.ok(decodedData(bytes)['key'] === value, `${value.length} of ${value.slice(0, 2)}`)
  }
})

function decodedData(bytes: Uint8Array): JsonObject {
  return decodeProtobuf(configMap, bytes)['data'] as JsonObject
}

void test('a list encoded in pieces equals the list encoded at once', () => {
  const items = ['a', 'b'.repeat(300)].map((name) => ({ metadata: { name }, data: { k: 'v' } }))
  const whole = {
    kind: 'ConfigMapList',
    apiVersion: 'v1',
    metadata: { resourceVersion: '7', continue: 'c', remainingItemCount: 0 },
    items,
  }
  const schema: ObjectSchema = {
    type: 'object',
    properties: { metadata: listMetaSchema, items: { type: 'list', items: configMap } },
    protobuf: { metadata: 1, items: 2 },
  }
  const messages = items.map((item) => encodeProtobufMessage(configMap, item))
  const itemsBytes = messages.reduce((sum, { length }) => sum + protobufListItemBytes(length), 0)
  const pieces = [
    protobufListHead({ ...whole, itemsBytes }),
    ...messages.flatMap((message) => [protobufListItemHead(message.length), message]),
    PROTOBUF_TAIL,
  ]
  assert.equal(hex(Buffer.concat(pieces)), hex(encodeProtobuf(schema, whole)))
})

void test('spec 4.7: events of a watch are framed by their length, the object in its envelope', () => {
  const body = encodeProtobuf(configMap, { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'a' } })
  assert.deepEqual(openFrame(protobufWatchFrame('ADDED', body)), { type: 'ADDED', body: hex(body) })
})

/** Splits a frame, if its lengths take one or two bytes. */
function openFrame(frame: Uint8Array): { readonly type: string; readonly body: string } {
  const bytes = Buffer.from(frame)
  assert.equal(bytes.readUInt32BE(0), bytes.length - 4)
  let at = 4
  const field = (number: number): Buffer => {
    assert.equal(bytes[at++], number * 8 + 2)
    let length = bytes[at++] ?? 0
    if (length >= 0x80) length = (length & 0x7f) + (bytes[at++] ?? 0) * 0x80
    at += length
    return bytes.subarray(at - length, at)
  }
  const type = field(1).toString()
  const end = field(2).length
  at -= end
  const body = field(1)
  assert.equal(at, bytes.length)
  return { type, body: body.toString('hex') }
}
