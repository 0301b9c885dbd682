import { WireType } from '@bufbuild/protobuf/wire'
import type { BinaryWriter } from '@bufbuild/protobuf/wire'
import { isJsonList } from '../../api/json.ts'
import type { Json, JsonObject } from '../../api/json.ts'
import { anyMessage, eachVendorExtension, message, named, textMember, texts } from './v2-protobuf-parts.ts'

/** Writes the message `openapi.v2.Schema`. */
export function schemaMessage(schema: JsonObject, writer: BinaryWriter): void {
  textMember(writer, 1, schema['$ref'])
  textMember(writer, 2, schema['format'])
  textMember(writer, 3, schema['title'])
  textMember(writer, 4, schema['description'])
  if (schema['default'] !== undefined) anyMessage(writer, 5, schema['default'])
  bounds(schema, writer)
  texts(writer, 19, schema['required'])
  for (const value of isJsonList(schema['enum']) ? schema['enum'] : []) anyMessage(writer, 20, value)
  additionalProperties(schema['additionalProperties'], writer)
  if (typeof schema['type'] === 'string') {
    message(writer, 22, schema, (of, item) => {
      textMember(item, 1, of['type'])
    })
  }
  message(writer, 23, schema['items'], (items, item) => {
    message(item, 1, items, schemaMessage)
  })
  message(writer, 25, schema['properties'], (properties, inner) => {
    named(inner, 1, properties, schemaMessage)
  })
  message(writer, 29, schema['externalDocs'], (docs, inner) => {
    textMember(inner, 1, docs['description'])
    textMember(inner, 2, docs['url'])
  })
  if (schema['example'] !== undefined) anyMessage(writer, 30, schema['example'])
  eachVendorExtension(schema, writer, 31)
}

function bounds(schema: JsonObject, writer: BinaryWriter): void {
  number(writer, 6, schema['multipleOf'])
  number(writer, 7, schema['maximum'])
  flag(writer, 8, schema['exclusiveMaximum'])
  number(writer, 9, schema['minimum'])
  flag(writer, 10, schema['exclusiveMinimum'])
  count(writer, 11, schema['maxLength'])
  count(writer, 12, schema['minLength'])
  textMember(writer, 13, schema['pattern'])
  count(writer, 14, schema['maxItems'])
  count(writer, 15, schema['minItems'])
  flag(writer, 16, schema['uniqueItems'])
  count(writer, 17, schema['maxProperties'])
  count(writer, 18, schema['minProperties'])
}

/** Writes `AdditionalPropertiesItem { schema = 1 | boolean = 2 }`. */
function additionalProperties(of: Json | undefined, writer: BinaryWriter): void {
  if (typeof of === 'boolean') {
    writer.tag(21, WireType.LengthDelimited).fork()
    writer.tag(2, WireType.Varint).bool(of)
    writer.join()
  }
  message(writer, 21, of, (values, item) => {
    message(item, 1, values, schemaMessage)
  })
}

function number(writer: BinaryWriter, field: number, value: Json | undefined): void {
  if (typeof value !== 'number' && typeof value !== 'bigint') return
  writer.tag(field, WireType.Bit64).double(Number(value))
}

function count(writer: BinaryWriter, field: number, value: Json | undefined): void {
  if (typeof value !== 'number' && typeof value !== 'bigint') return
  writer.tag(field, WireType.Varint).int64(BigInt(value))
}

function flag(writer: BinaryWriter, field: number, value: Json | undefined): void {
  if (value === true) writer.tag(field, WireType.Varint).bool(true)
}
