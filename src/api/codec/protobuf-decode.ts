import { Buffer } from 'node:buffer'
import { assertNever } from '../../../base/assert.ts'
import { ApiError } from '../errors/api-error.ts'
import type { Json, JsonObjectDraft } from '../json.ts'
import { isJsonList, isJsonObject, memberOf, setMember } from '../json.ts'
import type { ListSchema, MapSchema, ObjectSchema, Schema, StringSchema } from '../schema/schema.ts'
import { formatInstant } from '../metadata/time.ts'
import { exactNumber } from './json-exact.ts'
import { parseJson } from './json.ts'
import { planOf } from './protobuf-plan.ts'
import type { FieldPlan } from './protobuf-plan.ts'
import { Malformed, ProtobufReader } from './protobuf-reader.ts'
import { WIRE_BIT64, WIRE_BYTES, WIRE_VARINT } from './protobuf-writer.ts'
import { jsonValues } from './value-count.ts'
import { isZero, zeroOf } from '../schema/zero.ts'

const DEPTH_MAX = 100

/**
 * Decodes a message into an object without apiVersion and kind. Unknown fields are skipped. Zeros
 * of members where zero means absent are dropped, because protobuf messages always contain them. As
 * protobuf requires, the last of several values wins, structs sent in parts are merged, and numbers
 * of a list may be packed.
 *
 * @throws Malformed that names the member
 * @throws ApiError RequestEntityTooLarge: more than `valuesMax` values
 */
export function decodeProtobufMessage(
  schema: ObjectSchema,
  bytes: Uint8Array,
  valuesMax?: number,
): JsonObjectDraft {
  const draft: JsonObjectDraft = {}
  readMessage(draft, schema, new ProtobufReader(bytes, valuesMax), 1)
  return draft
}

function readMessage(
  draft: JsonObjectDraft,
  schema: ObjectSchema,
  reader: ProtobufReader,
  depth: number,
): void {
  if (depth > DEPTH_MAX) throw new Malformed(`it is nested more than ${DEPTH_MAX} deep`)
  const { byNumber } = planOf(schema)
  let field: FieldPlan | undefined
  try {
    while (reader.more) {
      field = undefined
      const tag = reader.tag()
      field = byNumber.get(tag >>> 3)
      if (field === undefined) {
        reader.skip(tag & 7)
        continue
      }
      if (field.kind === 'member') readMember(draft, field, { reader, wire: tag & 7, depth })
      else readStruct(draft, field.schema, { reader, wire: tag & 7, depth })
    }
  } catch (cause) {
    if (cause instanceof Malformed && field?.kind === 'member') throw cause.within(field.name)
    throw cause
  }
}

type Place = { readonly reader: ProtobufReader; readonly wire: number; readonly depth: number }
type Member = Extract<FieldPlan, { kind: 'member' }>

/** Reads a member. A value that was read earlier in the same message is continued. */
function readMember(draft: JsonObjectDraft, { name, schema, keepsZero }: Member, place: Place): void {
  const before = memberOf(draft, name)
  const isContainer = schema.type === 'object' || schema.type === 'list' || schema.type === 'map'
  if (isContainer) place.reader.countValues(1)
  const value = readOnto(before, schema, place)
  // A list or map that was continued was counted already: checking whether it is empty would be
  // linear in its size for each element.
  if (value === before && schema.type !== 'object') return
  if (value === null || (!keepsZero && isZero(schema, value))) delete draft[name]
  else {
    // Zeros that only the protobuf form contains are skipped, not counted.
    if (!isContainer) place.reader.countValues(1)
    setMember(draft, name, value)
  }
}

/** @returns null for an invalid time or value */
function readOnto(before: Json | undefined, schema: Schema, place: Place): Json {
  switch (schema.type) {
    case 'list': {
      const list: Json[] = isJsonList(before) ? (before as Json[]) : []
      if (schema.inMessage === true) readWrapped(list, schema, place)
      else readItem(list, schema.items, place)
      return list
    }
    case 'map': {
      const map: JsonObjectDraft = isJsonObject(before) ? before : {}
      readEntry(map, schema, place)
      return map
    }
    case 'object': {
      const struct: JsonObjectDraft = isJsonObject(before) ? before : {}
      readStruct(struct, schema, place)
      return struct
    }
    case 'int-or-string':
      return readIntOrString(before, place)
    case 'string':
    case 'boolean':
    case 'integer':
    case 'number':
    case 'quantity':
    case 'any':
      return readScalar(schema, place)
    default:
      return assertNever(schema)
  }
}

function readStruct(draft: JsonObjectDraft, schema: ObjectSchema, { reader, wire, depth }: Place): void {
  const outer = reader.enter(wire)
  readMessage(draft, schema, reader, depth + 1)
  reader.leave(outer)
}

/** Reads a list that is wrapped in a message, as its field 1. */
function readWrapped(list: Json[], schema: ListSchema, { reader, wire, depth }: Place): void {
  const outer = reader.enter(wire)
  while (reader.more) {
    const tag = reader.tag()
    reader.countValues(1)
    if (tag >>> 3 === 1) readItem(list, schema.items, { reader, wire: tag & 7, depth: depth + 1 })
    else reader.skip(tag & 7)
  }
  reader.leave(outer)
}

/** Reads one item, or several packed numbers. */
function readItem(list: Json[], items: Schema, { reader, wire, depth }: Place): void {
  try {
    const own = ownWire(items)
    if (own === null || wire !== WIRE_BYTES) {
      list.push(readElement(items, { reader, wire, depth }))
      return
    }
    const outer = reader.enter(wire)
    while (reader.more) {
      reader.countValues(1)
      list.push(readElement(items, { reader, wire: own, depth }))
    }
    reader.leave(outer)
  } catch (cause) {
    throw cause instanceof Malformed ? cause.within(`[${list.length}]`) : cause
  }
}

/** @returns null for types that cannot be packed */
function ownWire(items: Schema): number | null {
  if (items.type === 'integer' || items.type === 'boolean') return WIRE_VARINT
  return items.type === 'number' ? WIRE_BIT64 : null
}

/** Reads a map entry: a message of key 1 and value 2. Either may be omitted if empty. */
function readEntry(map: JsonObjectDraft, { values }: MapSchema, { reader, wire, depth }: Place): void {
  const outer = reader.enter(wire)
  let key = ''
  let value: Json | null = null
  try {
    while (reader.more) {
      const tag = reader.tag()
      if (tag >>> 3 === 1) key = reader.text(tag & 7)
      else if (tag >>> 3 === 2) value = readElement(values, { reader, wire: tag & 7, depth: depth + 1 })
      else reader.skip(tag & 7)
    }
  } catch (cause) {
    throw cause instanceof Malformed ? cause.within(`[${key}]`) : cause
  }
  reader.leave(outer)
  setMember(map, key, value ?? absentOf(values))
}

/** Reads an element of a list or a map. Elements are never absent. */
function readElement(schema: Schema, place: Place): Json {
  if (schema.type !== 'list') return readOnto(undefined, schema, place) ?? absentOf(schema)
  const list: Json[] = []
  readWrapped(list, schema, place)
  return list
}

/** Returns the value of an absent element. An unset time is null. */
function absentOf(schema: Schema): Json {
  const isTime = schema.type === 'string' && (schema.format === 'date-time' || schema.format === 'micro-time')
  return isTime ? null : zeroOf(schema)
}

type Scalar = Exclude<Schema, { type: 'list' | 'map' | 'object' | 'int-or-string' }>

function readScalar(schema: Scalar, { reader, wire }: Place): Json {
  switch (schema.type) {
    case 'string':
      return readString(schema, reader, wire)
    case 'boolean':
      return reader.flag(wire)
    case 'integer':
      return schema.format === 'int32' ? reader.int32(wire) : reader.int64(wire)
    case 'number':
      return exactNumber(reader.double(wire))
    case 'quantity':
      return textOf(reader, wire) || '0'
    case 'any':
      return readJson(textOf(reader, wire), reader)
    default:
      return assertNever(schema)
  }
}

function readString({ format }: StringSchema, reader: ProtobufReader, wire: number): Json {
  switch (format) {
    case undefined:
      return reader.text(wire)
    case 'bytes':
      return reader.bytes(wire).toString('base64')
    case 'date-time':
    case 'micro-time':
      return readTime(reader, wire, format)
    default:
      return assertNever(format)
  }
}

/** Returns the text in field 1 of a message. */
function textOf(reader: ProtobufReader, wire: number): string {
  const outer = reader.enter(wire)
  let text = ''
  while (reader.more) {
    const tag = reader.tag()
    if (tag >>> 3 === 1) text = reader.text(tag & 7)
    else reader.skip(tag & 7)
  }
  reader.leave(outer)
  return text
}

function readJson(text: string, reader: ProtobufReader): Json {
  if (text === '') return null
  reader.countValues(jsonValues(Buffer.from(text)))
  try {
    return parseJson(text)
  } catch (cause) {
    if (cause instanceof ApiError) throw new Malformed(cause.message, { cause })
    throw cause
  }
}

/** @returns null for an empty message, an unset time */
function readTime(reader: ProtobufReader, wire: number, format: 'date-time' | 'micro-time'): Json {
  const outer = reader.enter(wire)
  const isSet = reader.more
  let seconds = 0
  let nanos = 0
  while (reader.more) {
    const tag = reader.tag()
    if (tag >>> 3 === 1) seconds = Number(reader.int64(tag & 7))
    else if (tag >>> 3 === 2) nanos = reader.int32(tag & 7)
    else reader.skip(tag & 7)
  }
  reader.leave(outer)
  if (!isSet) return null
  const time = formatInstant({ seconds, nanos }, format)
  if (time === null) throw new Malformed('a time is outside of the years 1 to 9999')
  return time
}

/** @param before the value read earlier in the same message, if any */
function readIntOrString(before: Json | undefined, { reader, wire }: Place): Json {
  let isText = typeof before === 'string'
  let number = typeof before === 'number' ? before : 0
  let text = typeof before === 'string' ? before : ''
  const outer = reader.enter(wire)
  while (reader.more) {
    const tag = reader.tag()
    if (tag >>> 3 === 1) isText = reader.int64(tag & 7) === 1
    else if (tag >>> 3 === 2) number = reader.int32(tag & 7)
    else if (tag >>> 3 === 3) text = reader.text(tag & 7)
    else reader.skip(tag & 7)
  }
  reader.leave(outer)
  return isText ? text : number
}
