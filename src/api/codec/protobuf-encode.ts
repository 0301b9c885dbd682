import { assertNever } from '../../../base/assert.ts'
import type { Json, JsonObject } from '../json.ts'
import { isJsonList, isJsonObject, memberOf } from '../json.ts'
import type { ListSchema, MapSchema, ObjectSchema, Schema, StringSchema } from '../schema/schema.ts'
import { parseTime } from '../metadata/time.ts'
import type { Instant } from '../metadata/time.ts'
import { jsonText } from './json-text.ts'
import { planOf } from './protobuf-plan.ts'
import type { FieldPlan } from './protobuf-plan.ts'
import { BackwardWriter, WIRE_BIT64, WIRE_VARINT } from './protobuf-writer.ts'

/**
 * Encodes an object as a message with the field numbers of its schema, byte for byte as upstream's
 * encoder: fields by number, map entries by key. Members other than lists, maps and bytes are
 * always written, with the zero of their type if they are absent, unless a zero differs from absent
 * (`zeroMatters`). Unknown members are omitted.
 *
 * @param object has the types of the schema, as `conform` leaves it
 * @source spec 4.7; the encoding of proto2 and of apimachinery's Time, Quantity, IntOrString and
 * RawExtension
 */
export function encodeProtobufMessage(schema: ObjectSchema, object: JsonObject): Uint8Array<ArrayBuffer> {
  const writer = new BackwardWriter()
  writeMessage(writer, schema, object)
  return writer.finish()
}

function writeMessage(writer: BackwardWriter, schema: ObjectSchema, object: JsonObject): void {
  for (const field of planOf(schema).descending) {
    if (field.kind === 'member') {
      writeMember(writer, field, memberOf(object, field.name))
    } else {
      const before = writer.length
      writeMessage(writer, field.schema, object)
      writer.nested(field.number, before)
    }
  }
}

type Member = Extract<FieldPlan, { kind: 'member' }>

function writeMember(writer: BackwardWriter, { number, schema }: Member, value: Json | undefined): void {
  const given = value !== undefined && value !== null
  if (schema.type === 'map') {
    if (isJsonObject(value)) writeEntries(writer, number, schema, value)
  } else if (schema.type === 'list') {
    if (isJsonList(value)) writeList(writer, number, schema, value)
  } else if (given || (schema.zeroMatters !== true && !isBytes(schema))) {
    writeValue(writer, number, schema, value)
  }
}

function isBytes(schema: Schema): boolean {
  return schema.type === 'string' && schema.format === 'bytes'
}

function writeList(writer: BackwardWriter, number: number, schema: ListSchema, list: readonly Json[]): void {
  if (schema.inMessage === true) writeValue(writer, number, schema, list)
  else writeItems(writer, number, schema, list)
}

function writeItems(
  writer: BackwardWriter,
  number: number,
  { items }: ListSchema,
  list: readonly Json[],
): void {
  for (let at = list.length - 1; at >= 0; at--) writeValue(writer, number, items, list[at])
}

function writeEntries(writer: BackwardWriter, number: number, schema: MapSchema, map: JsonObject): void {
  const keys = Object.keys(map).sort(compareUtf8)
  for (let at = keys.length - 1; at >= 0; at--) {
    const key = keys[at] ?? ''
    const before = writer.length
    writeValue(writer, 2, schema.values, map[key])
    const beforeKey = writer.length
    writer.text(key)
    writer.nested(1, beforeKey)
    writer.nested(number, before)
  }
}

/** Compares the UTF-8 bytes; the order of JavaScript strings differs for surrogates only. */
function compareUtf8(a: string, b: string): number {
  const end = Math.min(a.length, b.length)
  for (let at = 0; at < end; at++) {
    const left = a.charCodeAt(at)
    const right = b.charCodeAt(at)
    if (left !== right) return rank(left) - rank(right)
  }
  return a.length - b.length
}

/** Orders UTF-16 code units by code point: surrogates sort after all other units. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit
}

/** Writes one field, even if the value is absent. */
function writeValue(writer: BackwardWriter, number: number, schema: Schema, value: Json | undefined): void {
  switch (schema.type) {
    case 'boolean':
      writer.varint(value === true ? 1 : 0)
      writer.tag(number, WIRE_VARINT)
      return
    case 'integer':
      writer.varint(typeof value === 'number' || typeof value === 'bigint' ? value : 0)
      writer.tag(number, WIRE_VARINT)
      return
    case 'number':
      writer.double(typeof value === 'number' || typeof value === 'bigint' ? Number(value) : 0)
      writer.tag(number, WIRE_BIT64)
      return
    case 'list':
    case 'string':
    case 'quantity':
    case 'int-or-string':
    case 'any':
    case 'object':
    case 'map': {
      const before = writer.length
      writeContent(writer, schema, value)
      writer.nested(number, before)
      return
    }
    default:
      assertNever(schema)
  }
}

type Lengthy = Exclude<Schema, { type: 'boolean' | 'integer' | 'number' }>

function writeContent(writer: BackwardWriter, schema: Lengthy, value: Json | undefined): void {
  switch (schema.type) {
    case 'string':
      writeString(writer, schema, typeof value === 'string' ? value : '')
      return
    case 'quantity':
      writeText(writer, 1, typeof value === 'string' ? value : '0')
      return
    case 'int-or-string':
      writeText(writer, 3, typeof value === 'string' ? value : '')
      writer.varint(typeof value === 'number' ? value : 0)
      writer.tag(2, WIRE_VARINT)
      writer.varint(typeof value === 'string' ? 1 : 0)
      writer.tag(1, WIRE_VARINT)
      return
    case 'any':
      if (value !== undefined && value !== null) writeText(writer, 1, jsonText(value))
      return
    case 'object':
      writeMessage(writer, schema, isJsonObject(value) ? value : {})
      return
    case 'list':
      // A list inside a map or a list, or one that the schema wraps in a message.
      writeItems(writer, 1, schema, isJsonList(value) ? value : [])
      return
    case 'map':
      // Maps only occur as members, which `writeMember` writes.
      return
    default:
      assertNever(schema)
  }
}

function writeText(writer: BackwardWriter, number: number, text: string): void {
  const before = writer.length
  writer.text(text)
  writer.nested(number, before)
}

function writeString(writer: BackwardWriter, { format }: StringSchema, value: string): void {
  switch (format) {
    case undefined:
      writer.text(value)
      return
    case 'bytes':
      writer.base64(value)
      return
    case 'date-time':
      writeTime(writer, parseTime(value), () => 0)
      return
    case 'micro-time':
      writeTime(writer, parseTime(value), (nanos) => nanos - (nanos % 1000))
      return
    default:
      assertNever(format)
  }
}

/** 0001-01-01T00:00:00Z, the zero time of upstream. */
const NO_TIME_SECONDS = -62_135_596_800

function writeTime(writer: BackwardWriter, time: Instant | null, nanosOf: (nanos: number) => number): void {
  if (time === null || (time.seconds === NO_TIME_SECONDS && time.nanos === 0)) return
  writer.varint(nanosOf(time.nanos))
  writer.tag(2, WIRE_VARINT)
  writer.varint(time.seconds)
  writer.tag(1, WIRE_VARINT)
}
