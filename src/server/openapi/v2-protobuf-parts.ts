import { WireType } from '@bufbuild/protobuf/wire'
import type { BinaryWriter } from '@bufbuild/protobuf/wire'
import { jsonText } from '../../api/codec/json-text.ts'
import { isJsonList, isJsonObject } from '../../api/json.ts'
import type { Json, JsonObject } from '../../api/json.ts'

export type WriteMessage = (object: JsonObject, writer: BinaryWriter) => void

/** Writes nothing for an absent value. */
export function message(
  writer: BinaryWriter,
  field: number,
  of: Json | undefined,
  write: WriteMessage,
): void {
  if (!isJsonObject(of)) return
  writer.tag(field, WireType.LengthDelimited).fork()
  write(of, writer)
  writer.join()
}

export function textMember(writer: BinaryWriter, field: number, text: Json | undefined): void {
  if (typeof text === 'string' && text !== '') writer.tag(field, WireType.LengthDelimited).string(text)
}

export function texts(writer: BinaryWriter, field: number, list: Json | undefined): void {
  for (const text of isJsonList(list) ? list : []) {
    if (typeof text === 'string') writer.tag(field, WireType.LengthDelimited).string(text)
  }
}

/** Writes a map as repeated `{ name = 1, value = 2 }`. */
export function named(writer: BinaryWriter, field: number, of: JsonObject, write: WriteMessage): void {
  for (const name of Object.keys(of)) {
    writer.tag(field, WireType.LengthDelimited).fork()
    textMember(writer, 1, name)
    message(writer, 2, of[name], write)
    writer.join()
  }
}

/** Writes `Any { yaml = 2 }`: JSON is YAML. */
export function anyMessage(writer: BinaryWriter, field: number, value: Json): void {
  writer.tag(field, WireType.LengthDelimited).fork()
  writer.tag(2, WireType.LengthDelimited).string(jsonText(value))
  writer.join()
}

/** Writes members that begin with `x-` as repeated `NamedAny`. */
export function eachVendorExtension(of: JsonObject, writer: BinaryWriter, field: number): void {
  for (const name of Object.keys(of)) {
    if (!name.startsWith('x-')) continue
    writer.tag(field, WireType.LengthDelimited).fork()
    textMember(writer, 1, name)
    anyMessage(writer, 2, of[name] as Json)
    writer.join()
  }
}
