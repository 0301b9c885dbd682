import assert from 'node:assert/strict'
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import { assertNever } from '../../base/assert.ts'
import { isJsonList, isJsonObject, setMember } from '../../src/api/json.ts'
import type { Json, JsonObject, JsonObjectDraft } from '../../src/api/json.ts'
import { messageOf } from './message-table.ts'
import type { BasicType, MemberType, MessageMember, MessageTable } from './message-table.ts'

/**
 * A second decoder, independent of that of the server: driven by the table, with another reader. It
 * requires the form that upstream's encoder writes, although decoders accept others: fields ordered
 * by number, entries by key, each member that cannot be unset present once, and no member outside
 * the table.
 *
 * @returns the object, including the zero values in the message
 */
export function decodeByTable(table: MessageTable, name: string, bytes: Uint8Array): JsonObject {
  const draft: JsonObjectDraft = {}
  decodeInto(draft, table, name, bytes)
  return draft
}

type Field = { readonly number: number; readonly wire: WireType; readonly reader: BinaryReader }

/** Calls `read` for each field, which must consume it from the reader. */
function eachField(bytes: Uint8Array, read: (field: Field) => void): void {
  const reader = new BinaryReader(bytes)
  let last = 0
  while (reader.pos < reader.len) {
    const [number, wire] = reader.tag()
    assert.ok(number >= last, `field ${number} follows ${last}`)
    last = number
    read({ number, wire, reader })
  }
  assert.equal(reader.pos, reader.len)
}

function decodeInto(draft: JsonObjectDraft, table: MessageTable, name: string, bytes: Uint8Array): void {
  const message = messageOf(table, name)
  assert.ok(message.kind === 'message')
  const seen = new Set<number>()
  eachField(bytes, (field) => {
    const member = message.members.find(({ number }) => number === field.number)
    assert.ok(member, `${name} has no field ${field.number}`)
    const repeats = member.type.kind === 'list' || member.type.kind === 'map'
    assert.ok(repeats || !seen.has(field.number), `${name}.${member.name} is present twice`)
    seen.add(field.number)
    decodeMember(draft, table, member, field)
  })
  for (const { name: member, number, type, optional } of message.members) {
    const mayMiss = optional || type.kind === 'list' || type.kind === 'map' || type.kind === 'bytes'
    const isList = type.kind === 'message' && messageOf(table, type.name).kind === 'alias'
    assert.ok(mayMiss || isList || seen.has(number), `${name} lacks ${member}`)
  }
}

function decodeMember(
  draft: JsonObjectDraft,
  table: MessageTable,
  member: MessageMember,
  field: Field,
): void {
  const { name, type } = member
  if (name === null) {
    assert.ok(type.kind === 'message')
    decodeInto(draft, table, type.name, bytesOf(field))
    return
  }
  const before = draft[name]
  if (type.kind === 'list') {
    draft[name] = [...(isJsonList(before) ? before : []), decodeValue(table, type.of, field)]
  } else if (type.kind === 'map') {
    const map: JsonObjectDraft = isJsonObject(before) ? before : {}
    decodeEntry(map, table, type.of, bytesOf(field))
    draft[name] = map
  } else {
    draft[name] = decodeValue(table, type, field)
  }
}

function decodeEntry(map: JsonObjectDraft, table: MessageTable, type: MemberType, bytes: Uint8Array): void {
  const last = Object.keys(map).at(-1)
  const seen: number[] = []
  let key = ''
  eachField(bytes, (field) => {
    seen.push(field.number)
    if (field.number === 1) key = textOf(field)
    else setMember(map, key, decodeValue(table, type, field))
  })
  assert.deepEqual(seen, [1, 2])
  // JavaScript objects have numeric keys first, so the order of these is not checked.
  const isSorted = last === undefined || Buffer.compare(Buffer.from(last), Buffer.from(key)) < 0
  assert.ok(isSorted || /^\d+$/.test(key) || /^\d+$/.test(last), `${key} follows ${last}`)
}

function decodeValue(table: MessageTable, type: MemberType, field: Field): Json {
  if (type.kind === 'list' || type.kind === 'map')
    return assert.fail('a list or map cannot contain lists or maps')
  if (type.kind !== 'message') return decodeBasic(type.kind, field)
  const message = messageOf(table, type.name)
  if (message.kind === 'message') return decodeByTable(table, type.name, bytesOf(field))
  if (message.of.kind !== 'list') return decodeValue(table, message.of, field)
  const items: Json[] = []
  const { of } = message.of
  eachField(bytesOf(field), (item) => {
    assert.equal(item.number, 1)
    items.push(decodeValue(table, of, item))
  })
  return items
}

function decodeBasic(type: BasicType, field: Field): Json {
  switch (type) {
    case 'string':
      return textOf(field)
    case 'bytes':
      return Buffer.from(bytesOf(field)).toString('base64')
    case 'bool':
      return numberOf(field) !== 0n
    case 'int32':
    case 'int64':
      return Number(numberOf(field))
    case 'float64':
      assert.equal(field.wire, WireType.Bit64)
      return field.reader.double()
    case 'Time':
      return timeOf(field, 0)
    case 'MicroTime':
      return timeOf(field, 6)
    case 'Quantity':
      return small(field).texts.get(1) ?? assert.fail('a quantity has a text')
    case 'IntOrString': {
      const { texts, numbers } = small(field)
      assert.deepEqual([...numbers.keys(), ...texts.keys()], [1, 2, 3])
      return numbers.get(1) === 1n ? (texts.get(3) ?? '') : Number(numbers.get(2))
    }
    case 'RawExtension': {
      const text = small(field).texts.get(1)
      return text === undefined ? null : (JSON.parse(text) as Json)
    }
    default:
      return assertNever(type)
  }
}

/** @param digits the decimal places of the seconds. @returns null for an empty message */
function timeOf(field: Field, digits: number): Json {
  const { numbers } = small(field)
  if (numbers.size === 0) return null
  assert.deepEqual([...numbers.keys()], [1, 2])
  const nanos = Number(numbers.get(2))
  const whole = new Date(Number(numbers.get(1)) * 1000).toISOString().replace('.000Z', '')
  if (digits === 0) assert.equal(nanos, 0)
  return digits === 0 ? `${whole}Z` : `${whole}.${String(nanos).padStart(9, '0').slice(0, digits)}Z`
}

type Small = { readonly texts: Map<number, string>; readonly numbers: Map<number, bigint> }

/** Decodes a message of texts and numbers. */
function small(field: Field): Small {
  const found: Small = { texts: new Map(), numbers: new Map() }
  eachField(bytesOf(field), (inner) => {
    if (inner.wire === WireType.Varint) found.numbers.set(inner.number, numberOf(inner))
    else found.texts.set(inner.number, textOf(inner))
  })
  return found
}

function bytesOf({ wire, reader }: Field): Uint8Array {
  assert.equal(wire, WireType.LengthDelimited)
  return reader.bytes()
}

function textOf(field: Field): string {
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytesOf(field))
}

function numberOf({ wire, reader }: Field): bigint {
  assert.equal(wire, WireType.Varint)
  return BigInt(reader.int64())
}

/**
 * Returns the object without the zeros of members that cannot be unset, and without empty lists and
 * maps.
 */
export function withoutZeros(table: MessageTable, name: string, object: JsonObject): JsonObject {
  const message = messageOf(table, name)
  assert.ok(message.kind === 'message')
  const draft: JsonObjectDraft = {}
  for (const { name: member, type, optional } of message.members) {
    if (member === null) {
      assert.ok(type.kind === 'message')
      Object.assign(draft, withoutZeros(table, type.name, object))
      continue
    }
    const value = object[member]
    if (value === undefined) continue
    const rest = bare(table, type, value)
    const isEmpty = optional && type.kind !== 'RawExtension' ? rest === null : isZero(type, rest)
    if (!isEmpty) draft[member] = rest
  }
  return draft
}

function bare(table: MessageTable, type: MemberType, value: Json): Json {
  if (type.kind === 'list' && isJsonList(value)) return value.map((item) => bare(table, type.of, item))
  if (type.kind === 'map' && isJsonObject(value)) {
    const map: JsonObjectDraft = {}
    for (const key of Object.keys(value)) setMember(map, key, bare(table, type.of, value[key] ?? null))
    return map
  }
  if (type.kind !== 'message' || !isJsonObject(value)) return value
  return messageOf(table, type.name).kind === 'message' ? withoutZeros(table, type.name, value) : value
}

function isZero({ kind }: MemberType, value: Json): boolean {
  if (value === null) return true
  if (kind === 'RawExtension' || (kind === 'IntOrString' && value === '')) return false
  if (kind === 'Quantity') return value === '0'
  if (isJsonList(value)) return value.length === 0
  if (isJsonObject(value)) return Object.keys(value).length === 0
  return value === '' || value === 0 || value === false
}
