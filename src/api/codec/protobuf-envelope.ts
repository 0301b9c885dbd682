import type { ObjectSchema } from '../schema/schema.ts'
import type { JsonObject } from '../json.ts'
import { textMember } from '../json.ts'
import { listMetaSchema } from '../schema/shared.ts'
import { encodeProtobufMessage } from './protobuf-encode.ts'
import { BackwardWriter, WIRE_BYTES } from './protobuf-writer.ts'

/** The type of the object in a protobuf body; the message itself does not contain it. */
export type TypeMeta = { readonly apiVersion: string; readonly kind: string }

/** The four bytes at the beginning of every protobuf body. */
export const PROTOBUF_MAGIC: Readonly<Uint8Array> = Uint8Array.of(0x6b, 0x38, 0x73, 0x00)

/** The end of the envelope, after the message: no content encoding, no content type. */
export const PROTOBUF_TAIL: Readonly<Uint8Array<ArrayBuffer>> = Uint8Array.of(0x1a, 0x00, 0x22, 0x00)

/**
 * Encodes an object with its kind and version as the body of a request or response.
 *
 * @param object has the types of the schema, with apiVersion and kind
 * @source spec 4.7
 */
export function encodeProtobuf(schema: ObjectSchema, object: JsonObject): Uint8Array<ArrayBuffer> {
  const type = { apiVersion: textMember(object, 'apiVersion'), kind: textMember(object, 'kind') }
  return protobufEnvelope(type, encodeProtobufMessage(schema, object))
}

/** @param raw the message from `encodeProtobufMessage` */
export function protobufEnvelope(type: TypeMeta, raw: Uint8Array): Uint8Array<ArrayBuffer> {
  const writer = new BackwardWriter()
  writer.raw(PROTOBUF_TAIL)
  writer.raw(raw)
  writeHead(writer, type, raw.length)
  return writer.finish()
}

/** The fields of a list that precede its items. */
export type ListHead = TypeMeta & {
  /** `ListMeta`. */
  readonly metadata: JsonObject
  /**
   * The size of all items with their heads: the sum of `protobufListItemBytes`. It is part of the
   * length of the enclosing message, which is written first.
   */
  readonly itemsBytes: number
}

/**
 * Returns the first piece of an encoded list. `protobufListItemHead` and the message follow for
 * each item, and then `PROTOBUF_TAIL`.
 *
 * @source spec 4.7; lists have their metadata as field 1 and their items as field 2
 */
export function protobufListHead({ metadata, itemsBytes, ...type }: ListHead): Uint8Array<ArrayBuffer> {
  const writer = new BackwardWriter()
  writer.raw(encodeProtobufMessage(listMetaSchema, metadata))
  writer.nested(1, 0)
  writeHead(writer, type, writer.length + itemsBytes)
  return writer.finish()
}

/** @param bytes size of the item's message */
export function protobufListItemHead(bytes: number): Uint8Array<ArrayBuffer> {
  const writer = new BackwardWriter()
  writer.varint(bytes)
  writer.tag(2, WIRE_BYTES)
  return writer.finish()
}

/** Returns the size of an item with its head. @param bytes size of the item's message */
export function protobufListItemBytes(bytes: number): number {
  let size = 2 + bytes
  for (let rest = bytes; rest >= 0x80; rest = Math.floor(rest / 0x80)) size++
  return size
}

/** @param rawBytes size of the message that follows */
function writeHead(writer: BackwardWriter, { apiVersion, kind }: TypeMeta, rawBytes: number): void {
  writer.varint(rawBytes)
  writer.tag(2, WIRE_BYTES)
  const before = writer.length
  writeText(writer, 2, kind)
  writeText(writer, 1, apiVersion)
  writer.nested(1, before)
  writer.raw(PROTOBUF_MAGIC)
}

function writeText(writer: BackwardWriter, number: number, text: string): void {
  const before = writer.length
  writer.text(text)
  writer.nested(number, before)
}
