// Goal: a body that is not a message of the kind is refused in one line that states what is wrong.
// Method: bodies that are wrong in one place each.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { ApiError } from '../../../../../src/api/errors/api-error.ts'
import { decodeProtobuf } from '../../../../../src/api/codec/protobuf.ts'
import type { ObjectSchema } from '../../../../../src/api/schema/schema.ts'
import { all, body, bytes, nested, text, tree, varint } from './protobuf-bodies.ts'

const far = '8080808080808010'
const wrong: readonly [string, Uint8Array, string][] = [
  ['a text that is a number', body(varint(1, 1)), 'own: it is of another type (wire type 0, not 2)'],
  [
    'a number that is a text',
    body(nested(2, text(2, 'x'))),
    'leaf.count: it is of another type (wire type 2, not 0)',
  ],
  [
    'a time that is a number',
    body(nested(2, varint(4, 1))),
    'leaf.at: it is of another type (wire type 0, not 2)',
  ],
  [
    'a number that is a text, in a struct in a list',
    body(all(nested(3, text(1, 'a')), nested(3, text(2, '')))),
    'leaves[1].count: ',
  ],
  [
    'a number that is a text, in a struct in a map',
    body(nested(4, all(text(1, 'k'), nested(2, text(2, ''))))),
    'byName[k].count: ',
  ],
  ['a packed number', body(bytes(5, '0180')), 'numbers[1]: it is cut short'],
  ['half a packed number', body(bytes(7, '00000000')), 'fractions[0]: it is cut short'],
  ['a fraction that is NaN', body(bytes(7, '000000000000f87f')), 'fractions[0]: number NaN is not finite'],
  ['invalid UTF-8', body(nested(2, bytes(1, 'ff'))), 'leaf.name: it is not valid UTF-8'],
  ['half a surrogate pair', body(nested(2, bytes(1, 'eda080'))), 'leaf.name: it is not valid UTF-8'],
  [
    'a length beyond the struct',
    body(nested(2, (writer) => writer.raw(Buffer.of(0x0a, 9)))),
    'leaf.name: it is cut short',
  ],
  [
    'a length of 2^63',
    body(nested(2, (writer) => writer.raw(Buffer.from(`0a${far}80`, 'hex')))),
    'leaf.name: it is cut',
  ],
  [
    '65 bits',
    body(nested(2, (writer) => writer.raw(Buffer.from('1080808080808080808002', 'hex')))),
    'leaf.count: a number has more than 64 bits',
  ],
  [
    'eleven bytes',
    body(nested(2, (writer) => writer.raw(Buffer.from('108080808080808080808000', 'hex')))),
    'leaf.count: a number has more than 64 bits',
  ],
  [
    'a time of the year 10000',
    body(nested(2, nested(4, varint(1, 253402300800)))),
    'leaf.at: a time is outside of the years 1 to 9999',
  ],
  [
    'a fraction of a time below zero',
    body(nested(2, nested(4, varint(2, -1)))),
    'leaf.at: a time is outside',
  ],
  [
    'invalid embedded JSON',
    body(nested(2, nested(6, text(1, '{')))),
    "leaf.raw: couldn't parse the body as JSON",
  ],
  [
    'JSON with a number that is too large',
    body(nested(2, nested(6, text(1, '{"a":[1e400]}')))),
    'leaf.raw: a[0]: number 1e400 is',
  ],
  [
    'a group',
    body((writer) => writer.tag(30, WireType.StartGroup).tag(30, WireType.EndGroup)),
    'wire type 3 is not supported',
  ],
  ['the end of a group', body((writer) => writer.tag(30, WireType.EndGroup)), 'wire type 4 is not supported'],
  [
    'a group that is a member',
    body((writer) => writer.tag(2, WireType.StartGroup)),
    'leaf: it is of another type (wire type 3',
  ],
  [
    'an unknown wire type',
    body((writer) => writer.raw(Buffer.of(0xf7, 0x01))),
    'wire type 7 is not supported',
  ],
  ['field 0', body((writer) => writer.raw(Buffer.of(0, 0))), 'a field has an invalid number'],
  [
    'a field beyond 2^29',
    body((writer) => writer.raw(Buffer.from('808080808001', 'hex'))),
    'a field has an invalid number',
  ],
  [
    'an unknown field that is cut short',
    body((writer) => writer.tag(30, WireType.Bit64).raw(Buffer.of(1))),
    'it is cut short',
  ],
]

for (const [what, bytes, words] of wrong) {
  void test(`a malformed message is rejected in words for what is wrong: ${what}`, () => {
    const prefix = 'the body is not a readable protobuf message: '
    assert.throws(
      () => decodeProtobuf(tree, bytes),
      (error) =>
        error instanceof ApiError && error.code === 'BadRequest' && error.message.startsWith(prefix + words),
    )
  })
}

void test('endlessly nested structs are rejected before the stack overflows', () => {
  type Self = { -readonly [key in keyof ObjectSchema]: ObjectSchema[key] }
  const self: Self = { type: 'object', properties: {}, protobuf: { a: 1 } }
  self.properties = { a: self }
  const deep = (depth: number): Uint8Array => {
    let message: Uint8Array = Buffer.of(0x12, 0)
    for (let level = 0; level < depth; level++) {
      const writer = new BinaryWriter()
      writer.tag(1, WireType.LengthDelimited).bytes(message)
      message = writer.finish()
    }
    return body((writer) => writer.raw(message))
  }
  assert.doesNotThrow(() => decodeProtobuf(self, deep(99)))
  assert.throws(() => decodeProtobuf(self, deep(100)), /: a\.a\..*: it is nested more than 100 deep/)
  assert.throws(() => decodeProtobuf(self, deep(20_000)), /it is nested more than 100 deep/)
})
