import { base64Encode, BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import { assertNever } from '../../../raft/base/assert.ts'
import { ApiError } from '../api-error.ts'
import { badRequest } from '../api-errors.ts'
import type { Json, JsonObject, JsonObjectDraft } from '../json.ts'
import { isJsonList, isJsonObject, memberOf, setMember } from '../json.ts'
import type { ObjectSchema, Schema } from '../schema/schema.ts'
import { parseJson } from './json.ts'
import { formatInstant } from '../time.ts'

/** The four bytes that every body in this form begins with. */
const MAGIC = [0x6b, 0x38, 0x73, 0x00]
const DEPTH_MAX = 100

/**
 * An object from its protobuf form: the envelope of spec 4.7 around the message that the schema numbers.
 * Members the schema does not have are passed over, as protobuf means it. Zeros of members where they do
 * not matter are taken for absent, because a message always says them.
 *
 * @throws ApiError BadRequest: not that form, or cut short
 * @source spec 4.7; apimachinery `pkg/runtime/serializer/protobuf`
 */
export function decodeProtobuf(schema: ObjectSchema, bytes: Uint8Array): JsonObject {
  if (MAGIC.some((byte, at) => bytes[at] !== byte)) {
    throw badRequest('provided data does not appear to be a protobuf message, expected prefix 6b 38 73 00')
  }
  try {
    const envelope = fieldsOf(bytes.subarray(MAGIC.length))
    const type = fieldsOf(bytesOf(envelope.get(1)))
    if (textOf(envelope.get(3)) !== '') throw new Malformed('it is encoded once more')
    if (!envelope.has(2)) throw new Malformed('it holds no object')
    const object = decodeMessage(schema, bytesOf(envelope.get(2)), 1)
    return { kind: textOf(type.get(2)), apiVersion: textOf(type.get(1)), ...object }
  } catch (cause) {
    if (cause instanceof ApiError) throw cause
    // The reader throws whatever the language has for a place outside of the bytes, or text that is none.
    const words = cause instanceof Malformed ? cause.message : 'it is cut short or malformed'
    throw badRequest(`the body is not a readable protobuf message: ${words}`, { cause })
  }
}

class Malformed extends Error {}

function decodeMessage(schema: ObjectSchema, bytes: Uint8Array, depth: number): JsonObject {
  if (depth > DEPTH_MAX) throw new Malformed(`it is nested more than ${DEPTH_MAX} deep`)
  const draft: JsonObjectDraft = {}
  const names = new Map(Object.entries(schema.protobuf ?? {}).map(([name, number]) => [number, name]))
  const reader = new BinaryReader(bytes)
  while (reader.pos < reader.len) {
    const [number, wire] = reader.tag()
    const name = names.get(number)
    const type = name === undefined ? undefined : schema.properties[name]
    if (name === undefined || type === undefined) reader.skip(wire, number)
    else readMember(draft, name, type, { reader, wire, depth })
  }
  return draft
}

type Place = { readonly reader: BinaryReader; readonly wire: WireType; readonly depth: number }

function readMember(draft: JsonObjectDraft, name: string, type: Schema, place: Place): void {
  if (type.type === 'list') {
    const before = memberOf(draft, name)
    const list = isJsonList(before) ? (before as Json[]) : []
    readItems(list, type.items, place)
    setMember(draft, name, list)
  } else if (type.type === 'map') {
    const before = memberOf(draft, name)
    const map: JsonObjectDraft = isJsonObject(before) ? before : {}
    readEntry(map, type.values, place)
    setMember(draft, name, map)
  } else {
    const value = readValue(type, place)
    const zero = value === '' || value === 0 || value === false
    if (value !== null && (!zero || type.zeroMatters === true)) setMember(draft, name, value)
  }
}

function readItems(list: Json[], items: Schema, { reader, wire, depth }: Place): void {
  const packed = wire === WireType.LengthDelimited && (items.type === 'integer' || items.type === 'boolean')
  if (!packed) {
    list.push(readValue(items, { reader, wire, depth }))
    return
  }
  const inner = new BinaryReader(reader.bytes())
  while (inner.pos < inner.len) list.push(readValue(items, { reader: inner, wire: WireType.Varint, depth }))
}

/** A message of key 1 and value 2; either may be left out when empty. */
function readEntry(map: JsonObjectDraft, values: Schema, { reader, wire, depth }: Place): void {
  expect(wire, WireType.LengthDelimited)
  const inner = new BinaryReader(reader.bytes())
  let key = ''
  let value: Json | null = null
  while (inner.pos < inner.len) {
    const [number, innerWire] = inner.tag()
    if (number === 1) key = textFrom(inner, innerWire)
    else if (number === 2) value = readValue(values, { reader: inner, wire: innerWire, depth: depth + 1 })
    else inner.skip(innerWire, number)
  }
  setMember(map, key, value ?? (values.type === 'string' ? '' : {}))
}

/** @returns null for a time that is none */
function readValue(type: Schema, { reader, wire, depth }: Place): Json {
  switch (type.type) {
    case 'string':
      if (type.format === undefined) return textFrom(reader, wire)
      if (type.format === 'bytes') return base64Encode(bytesFrom(reader, wire))
      return timeFrom(bytesFrom(reader, wire), type.format)
    case 'boolean':
      expect(wire, WireType.Varint)
      return reader.bool()
    case 'integer':
      return integerFrom(reader, wire)
    case 'number':
      expect(wire, WireType.Bit64)
      return reader.double()
    case 'quantity':
      return textOf(fieldsOf(bytesFrom(reader, wire)).get(1)) || '0'
    case 'int-or-string': {
      const fields = fieldsOf(bytesFrom(reader, wire))
      return fields.get(1) === 1n ? textOf(fields.get(3)) : Number(BigInt.asIntN(32, numberOf(fields.get(2))))
    }
    case 'any':
      return parseJson(textOf(fieldsOf(bytesFrom(reader, wire)).get(1)) || 'null')
    case 'object':
      return decodeMessage(type, bytesFrom(reader, wire), depth + 1)
    case 'list':
    case 'map':
      throw new Malformed('lists and maps of lists and maps have no message')
    default:
      return assertNever(type)
  }
}

function timeFrom(bytes: Uint8Array, format: 'date-time' | 'micro-time'): Json {
  // Nothing in it: the time nobody set.
  if (bytes.length === 0) return null
  const fields = fieldsOf(bytes)
  const seconds = Number(BigInt.asIntN(64, numberOf(fields.get(1))))
  const nanos = Number(BigInt.asIntN(32, numberOf(fields.get(2))))
  const time = formatInstant({ seconds, nanos }, format)
  if (time === null) throw new Malformed('a time is outside of the years 1 to 9999')
  return time
}

function integerFrom(reader: BinaryReader, wire: WireType): number {
  expect(wire, WireType.Varint)
  const value = Number(reader.int64())
  if (!Number.isSafeInteger(value)) throw new Malformed('a number is outside the range that is kept exactly')
  return value
}

function textFrom(reader: BinaryReader, wire: WireType): string {
  expect(wire, WireType.LengthDelimited)
  return reader.string(true)
}

function bytesFrom(reader: BinaryReader, wire: WireType): Uint8Array {
  expect(wire, WireType.LengthDelimited)
  return reader.bytes()
}

function expect(wire: WireType, wanted: WireType): void {
  if (wire !== wanted) throw new Malformed('a member is of another type')
}

/** A number, or bytes that may be text. */
type Field = bigint | { readonly bytes: Uint8Array; readonly text: () => string }

/** Members of a small message by number; of one that repeats, the last. */
function fieldsOf(bytes: Uint8Array): ReadonlyMap<number, Field> {
  const fields = new Map<number, Field>()
  const reader = new BinaryReader(bytes)
  while (reader.pos < reader.len) {
    const [number, wire] = reader.tag()
    const start = reader.pos
    if (wire === WireType.LengthDelimited) {
      const text = (): string => {
        const again = new BinaryReader(bytes)
        again.pos = start
        return again.string(true)
      }
      fields.set(number, { bytes: reader.bytes(), text })
    } else if (wire === WireType.Varint) {
      fields.set(number, BigInt(reader.int64()))
    } else {
      reader.skip(wire, number)
    }
  }
  return fields
}

function bytesOf(field: Field | undefined): Uint8Array {
  return typeof field === 'object' ? field.bytes : new Uint8Array(0)
}

function textOf(field: Field | undefined): string {
  return typeof field === 'object' ? field.text() : ''
}

function numberOf(field: Field | undefined): bigint {
  return typeof field === 'bigint' ? field : 0n
}
