// Goal: bodies that typed clients send are read as the objects they mean. Method: a body captured from
// kubectl, one of each type written by hand, and every prefix of a body.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { ApiError } from '../../../../../src/api/api-error.ts'
import { decodeProtobuf } from '../../../../../src/api/codec/protobuf.ts'
import { conform } from '../../../../../src/api/schema/conform.ts'
import type { ObjectSchema } from '../../../../../src/api/schema/schema.ts'
import { wholeObject } from '../../../../../src/api/schema/shared.ts'

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

type Write = (writer: BinaryWriter) => void

function nested(field: number, write: Write): Write {
  return (writer) => {
    writer.tag(field, WireType.LengthDelimited).fork()
    write(writer)
    writer.join()
  }
}

function text(field: number, value: string): Write {
  return (writer) => writer.tag(field, WireType.LengthDelimited).string(value)
}

function varint(field: number, value: number): Write {
  return (writer) => writer.tag(field, WireType.Varint).int64(value)
}

function all(...writes: readonly Write[]): Write {
  return (writer) => {
    for (const write of writes) write(writer)
  }
}

function body(write: Write): Uint8Array {
  const writer = new BinaryWriter()
  all(nested(1, all(text(1, 'v1'), text(2, 'Thing'))), nested(2, write))(writer)
  return Buffer.concat([Buffer.from('6b387300', 'hex'), writer.finish()])
}

test('spec 4.7: what kubectl sends to create a ConfigMap is that ConfigMap', () => {
  assert.deepEqual(decodeProtobuf(configMap, captured), {
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: { name: 'a' },
    data: { x: 'y' },
  })
})

test('every type is read, zeros only where they matter, and members we do not know are passed over', () => {
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

test('a body that is cut short, or no such body, is a 400', () => {
  // Its last four bytes are two empty members of the envelope, which may be missing.
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
