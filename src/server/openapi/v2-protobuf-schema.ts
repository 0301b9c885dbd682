import { WireType } from '@bufbuild/protobuf/wire'
import type { BinaryWriter } from '@bufbuild/protobuf/wire'
import { isJsonList } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import { anyMessage, eachVendorExtension, message, named, textMember, texts } from './v2-protobuf-parts.ts'

/** The message `openapi.v2.Schema`. */
export function schemaMessage(schema: JsonObject, writer: BinaryWriter): void {
  textMember(writer, 1, schema['$ref'])
  textMember(writer, 2, schema['format'])
  textMember(writer, 4, schema['description'])
  if (schema['default'] !== undefined) anyMessage(writer, 5, schema['default'])
  number(writer, 7, schema['maximum'])
  number(writer, 9, schema['minimum'])
  count(writer, 11, schema['maxLength'])
  count(writer, 14, schema['maxItems'])
  texts(writer, 19, schema['required'])
  for (const value of isJsonList(schema['enum']) ? schema['enum'] : []) anyMessage(writer, 20, value)
  message(writer, 21, schema['additionalProperties'], (values, item) => {
    message(item, 1, values, schemaMessage)
  })
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
  eachVendorExtension(schema, writer, 31)
}

function number(writer: BinaryWriter, field: number, value: unknown): void {
  if (typeof value === 'number') writer.tag(field, WireType.Bit64).double(value)
}

function count(writer: BinaryWriter, field: number, value: unknown): void {
  if (typeof value === 'number') writer.tag(field, WireType.Varint).int64(value)
}
