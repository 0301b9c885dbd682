import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import type { ObjectSchema } from '../../../../../src/api/schema/schema.ts'

/** Bodies encoded field by field with an independent writer. */
export type Write = (writer: BinaryWriter) => void

export function nested(field: number, write: Write): Write {
  return (writer) => {
    writer.tag(field, WireType.LengthDelimited).fork()
    write(writer)
    writer.join()
  }
}

export function text(field: number, value: string): Write {
  return (writer) => writer.tag(field, WireType.LengthDelimited).string(value)
}

export function varint(field: number, value: number): Write {
  return (writer) => writer.tag(field, WireType.Varint).int64(value)
}

export function all(...writes: readonly Write[]): Write {
  return (writer) => {
    for (const write of writes) write(writer)
  }
}

export function body(write: Write): Uint8Array {
  const writer = new BinaryWriter()
  all(nested(1, all(text(1, 'v1'), text(2, 'Thing'))), nested(2, write))(writer)
  return Buffer.concat([Buffer.from('6b387300', 'hex'), writer.finish()])
}

export function bytes(field: number, hex: string): Write {
  return (writer) => writer.tag(field, WireType.LengthDelimited).bytes(Buffer.from(hex, 'hex'))
}

/** A struct with members of the scalar types. */
export const leaf: ObjectSchema = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    count: { type: 'integer', format: 'int64' },
    small: { type: 'integer', format: 'int32' },
    at: { type: 'string', format: 'date-time' },
    port: { type: 'int-or-string' },
    raw: { type: 'any' },
  },
  protobuf: { name: 1, count: 2, small: 3, at: 4, port: 5, raw: 6 },
}
/** A struct with the members of `leaf` inlined, and with structs, lists and maps. */
export const tree: ObjectSchema = {
  type: 'object',
  properties: {
    ...leaf.properties,
    leaf,
    leaves: { type: 'list', items: leaf },
    byName: { type: 'map', values: leaf },
    numbers: { type: 'list', items: { type: 'integer', format: 'int64' } },
    flags: { type: 'list', items: { type: 'boolean' } },
    fractions: { type: 'list', items: { type: 'number' } },
    texts: { type: 'list', items: { type: 'string' }, inMessage: true },
    textsByName: { type: 'map', values: { type: 'list', items: { type: 'string' }, inMessage: true } },
    own: { type: 'string' },
  },
  protobuf: {
    ...{
      own: 1,
      leaf: 2,
      leaves: 3,
      byName: 4,
      numbers: 5,
      flags: 6,
      fractions: 7,
      texts: 8,
      textsByName: 9,
    },
  },
  inline: [{ number: 10, schema: leaf }],
}
