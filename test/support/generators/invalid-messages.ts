import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { protobufEnvelope } from '../../../src/api/codec/protobuf-envelope.ts'
import type { TypeMeta } from '../../../src/api/codec/protobuf-envelope.ts'
import type { ObjectSchema, Schema } from '../../../src/api/schema/schema.ts'

/** A protobuf body with one error. */
export type BrokenMessage = { readonly body: Uint8Array; readonly field: string; readonly words: string }

/** Writes a member into the message that encloses it. */
type Around = (write: (writer: BinaryWriter) => void) => (writer: BinaryWriter) => void

/**
 * Returns bodies, one for each member of each struct, in which that member has a wrong wire type.
 *
 * @param seen members that were broken already
 */
export function wrongWireTypes(
  schema: ObjectSchema,
  type: TypeMeta,
  seen: Set<string>,
): readonly BrokenMessage[] {
  const broken: BrokenMessage[] = []
  const look = (shape: ObjectSchema, field: string, around: Around): void => {
    for (const part of shape.inline ?? []) look(part.schema, field, within(around, part.number))
    for (const [name, number] of Object.entries(shape.protobuf ?? {})) {
      const member = shape.properties[name]
      const place = `${shape.definition ?? type.kind}.${name}`
      if (member === undefined || seen.has(place)) continue
      seen.add(place)
      const at = `${field}${field === '' ? '' : '.'}${name}${isInList(member) ? '[0]' : ''}`
      const writer = new BinaryWriter()
      around((inner) => writeAsAnother(inner, number, member))(writer)
      broken.push({
        body: protobufEnvelope(type, writer.finish()),
        field: at,
        words: 'it is of another type',
      })
      const inside = member.type === 'list' ? member.items : member
      if (inside.type === 'object') look(inside, at, within(around, number))
    }
  }
  look(schema, '', (write) => write)
  return broken
}

/**
 * Whether errors name the element of the list. If the list is wrapped in a message, decoding fails
 * before the elements.
 */
function isInList(member: Schema): boolean {
  return member.type === 'list' && member.inMessage !== true
}

function within(around: Around, number: number): Around {
  return (write) =>
    around((writer) => {
      writer.tag(number, WireType.LengthDelimited).fork()
      write(writer)
      writer.join()
    })
}

function writeAsAnother(writer: BinaryWriter, number: number, member: Schema): void {
  const one = member.type === 'list' ? member.items : member
  if (one.type === 'integer' || one.type === 'boolean') writer.tag(number, WireType.Bit32).fixed32(1)
  else writer.tag(number, WireType.Varint).int32(1)
}

/** Malformed messages, as the content of an object. */
export const malformedContents: readonly (readonly [what: string, hex: string, words: string])[] = [
  ['a length of eleven bytes', '0affffffffffffffffffff01', 'a number has more than 64 bits'],
  ['a length beyond the end', '0a7f00', 'it is cut short'],
  ['half a tag', '80', 'it is cut short'],
  ['a group', 'f301f401', 'wire type 3'],
  ['field 0', '0000', 'a field has an invalid number'],
  ['an invalid wire type', 'f701', 'wire type 7'],
]
