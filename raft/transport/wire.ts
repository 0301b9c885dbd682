import type { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire'
import { assert } from '../../base/assert.ts'
import { nodeId } from '../core/types.ts'
import type { NodeId } from '../core/types.ts'
import { TransportError } from './errors.ts'

/** The wire types that this protocol uses. @source protobuf.dev, "Encoding" */
export const wireType = Object.freeze({ varint: 0, fixed64: 1, bytes: 2 })

const two32 = 2 ** 32

/* ------------------------------------------------------------------ encoding */

export function tag(field: number, type: number): number {
  return (field << 3) | type
}

/** Writes a whole number from 0 to 2^53 - 1 as a varint. */
export function writeWhole(writer: BinaryWriter, field: number, value: number): void {
  writer.uint32(tag(field, wireType.varint))
  // Both forms write the same bytes; larger numbers need the 64-bit form, which uses a slow bigint.
  if (value < two32) writer.uint32(value)
  else writer.uint64(value)
}

export function writeFlag(writer: BinaryWriter, field: number, value: boolean): void {
  if (value) writer.uint32(tag(field, wireType.varint)).bool(true)
}

export function writeId(writer: BinaryWriter, field: number, id: NodeId): void {
  writer.uint32(tag(field, wireType.fixed64))
  writeFixed64(writer, id)
}

/** Writes two little-endian halves, because the 64-bit form uses a slow bigint. */
function writeFixed64(writer: BinaryWriter, value: number): void {
  writer.fixed32(value % two32).fixed32(Math.floor(value / two32))
}

export function writeIds(writer: BinaryWriter, field: number, ids: readonly NodeId[]): void {
  if (ids.length === 0) return
  writer.uint32(tag(field, wireType.bytes)).uint32(ids.length * 8)
  for (const id of ids) writeFixed64(writer, id)
}

export function writeBytes(writer: BinaryWriter, field: number, bytes: Uint8Array): void {
  writer.uint32(tag(field, wireType.bytes)).bytes(bytes)
}

export function writeText(writer: BinaryWriter, field: number, text: string): void {
  writer.uint32(tag(field, wireType.bytes)).string(text)
}

/** Opens a nested message: everything written between this and `writer.join()`. */
export function openMessage(writer: BinaryWriter, field: number): void {
  writer.uint32(tag(field, wireType.bytes)).fork()
}

/* ------------------------------------------------------------------ decoding */

export function malformed(what: string, cause?: unknown): TransportError {
  return new TransportError('malformed', what, { cause })
}

/**
 * Runs a decoder on untrusted bytes. Every error that it throws counts as `malformed`.
 *
 * @throws TransportError `malformed`
 */
export function decoding<T>(what: string, decode: () => T): T {
  try {
    return decode()
  } catch (cause) {
    if (cause instanceof TransportError) throw cause
    throw malformed(`${what} cannot be read`, cause)
  }
}

/** Reads the length prefix of a nested message. Returns its end, which is never beyond `limit`. */
export function readEnd(reader: BinaryReader, type: number, limit: number): number {
  expect(type, wireType.bytes)
  const length = reader.uint32()
  const end = reader.pos + length
  if (end > limit) throw malformed('a message is longer than the message that contains it')
  return end
}

/** Checks, after a nested message was read, that none of its fields exceeded its end. */
export function expectEnd(reader: BinaryReader, end: number): void {
  if (reader.pos !== end) throw malformed('a field runs over the end of its message')
}

/** Reads a whole number from 0 to 2^53 - 1. */
export function readWhole(reader: BinaryReader, type: number): number {
  expect(type, wireType.varint)
  const value = Number(reader.uint64())
  if (value > Number.MAX_SAFE_INTEGER) throw malformed('a number is 2^53 or more')
  return value
}

export function readFlag(reader: BinaryReader, type: number): boolean {
  expect(type, wireType.varint)
  return reader.bool()
}

export function readId(reader: BinaryReader, type: number): NodeId {
  expect(type, wireType.fixed64)
  return readFixedId(reader)
}

/**
 * Reads ids, packed or not, as every protobuf decoder must. Appends them to `into`, which holds at
 * most `countMax`.
 */
export function readIds(
  reader: BinaryReader,
  type: number,
  limit: number,
  into: NodeId[],
  countMax: number,
): void {
  const end = type === wireType.fixed64 ? reader.pos + 8 : readEnd(reader, type, limit)
  while (reader.pos < end) {
    if (into.length >= countMax) throw malformed('too many node ids')
    into.push(readFixedId(reader))
  }
  expectEnd(reader, end)
}

function readFixedId(reader: BinaryReader): NodeId {
  const low = reader.fixed32()
  const value = low + reader.fixed32() * two32
  if (value < 1 || value > Number.MAX_SAFE_INTEGER) throw malformed('a node id is out of range')
  return nodeId(value)
}

/** Returns a view into the reader's bytes, not a copy. */
export function readBytes(reader: BinaryReader, type: number): Uint8Array {
  expect(type, wireType.bytes)
  return reader.bytes()
}

/** @param bytesMax of the text in UTF-8 */
export function readText(reader: BinaryReader, type: number, bytesMax: number): string {
  expect(type, wireType.bytes)
  const bytes = reader.bytes()
  if (bytes.byteLength > bytesMax) throw malformed('a text is too long')
  return utf8.decode(bytes)
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Skips a field of a later version. Groups are refused: they are obsolete and nest without bound.
 */
export function skipField(reader: BinaryReader, field: number, type: number): void {
  assert(type >= 0 && type <= 7, 'a wire type has three bits')
  if (field === 0) throw malformed('field number 0')
  if (type === 3 || type === 4 || type > 5) throw malformed(`wire type ${type}`)
  reader.skip(type)
}

function expect(type: number, wanted: number): void {
  if (type !== wanted) throw malformed(`wire type ${type} where ${wanted} belongs`)
}
