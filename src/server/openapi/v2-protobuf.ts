import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { assert } from '../../../base/assert.ts'
import { isJsonList, isJsonObject } from '../../api/json.ts'
import type { Json, JsonObject } from '../../api/json.ts'
import { schemaMessage } from './v2-protobuf-schema.ts'
import { eachVendorExtension, message, named, textMember, texts } from './v2-protobuf-parts.ts'
import type { WriteMessage } from './v2-protobuf-parts.ts'
import { SWAGGER } from './v2-forms.ts'
import type { DocumentForm } from './v2-forms.ts'
import { API_TITLE } from './words.ts'

/**
 * The Swagger 2.0 document as the protobuf message `openapi.v2.Document`, which clients up to
 * release 1.26 request. Field numbers are next to each member.
 *
 * @source github.com/google/gnostic, `openapiv2/OpenAPIv2.proto`
 */
export const protobufForm: DocumentForm = {
  path: (path, item) => memberOf(2, path, item, pathItem),
  definition: (name, schema) => memberOf(1, name, schema, schemaMessage),
  whole: (version, paths, definitions) => [
    head(version),
    lengthOf(8, paths),
    ...paths,
    lengthOf(9, definitions),
    ...definitions,
  ],
}

function head(version: string): Uint8Array {
  const writer = new BinaryWriter()
  textMember(writer, 1, SWAGGER)
  message(writer, 2, { title: API_TITLE, version }, (info, inner) => {
    textMember(inner, 1, info['title'])
    textMember(inner, 2, info['version'])
  })
  return writer.finish()
}

/** Returns the tag and the length of an embedded message with these members. */
function lengthOf(field: number, members: readonly Uint8Array[]): Uint8Array {
  const bytes = members.reduce((sum, member) => sum + member.byteLength, 0)
  return new BinaryWriter().tag(field, WireType.LengthDelimited).uint32(bytes).finish()
}

function memberOf(field: number, name: string, value: JsonObject, write: WriteMessage): Uint8Array {
  const writer = new BinaryWriter()
  named(writer, field, { [name]: value }, write)
  return writer.finish()
}

const METHODS = { get: 2, put: 3, post: 4, delete: 5, options: 6, head: 7, patch: 8 } as const

function pathItem(item: JsonObject, writer: BinaryWriter): void {
  for (const [method, field] of Object.entries(METHODS)) message(writer, field, item[method], operation)
  parameters(writer, 9, item['parameters'])
}

function operation(of: JsonObject, writer: BinaryWriter): void {
  texts(writer, 1, of['tags'])
  textMember(writer, 3, of['description'])
  textMember(writer, 5, of['operationId'])
  texts(writer, 6, of['produces'])
  texts(writer, 7, of['consumes'])
  parameters(writer, 8, of['parameters'])
  message(writer, 9, of['responses'], (responses, inner) => {
    named(inner, 1, responses, (response, value) => {
      message(value, 1, response, responseMessage)
    })
  })
  texts(writer, 10, of['schemes'])
  eachVendorExtension(of, writer, 13)
}

function responseMessage(response: JsonObject, writer: BinaryWriter): void {
  textMember(writer, 1, response['description'])
  message(writer, 2, response['schema'], (schema, item) => {
    message(item, 1, schema, schemaMessage)
  })
}

/**
 * Writes `ParametersItem { Parameter parameter = 1 }` around `Parameter { body = 1 | non-body = 2
 * }`.
 */
function parameters(writer: BinaryWriter, field: number, list: Json | undefined): void {
  for (const parameter of isJsonList(list) ? list : []) {
    assert(isJsonObject(parameter), 'a parameter is an object')
    message(writer, field, parameter, (_, item) => {
      message(item, 1, parameter, parameterMessage)
    })
  }
}

function parameterMessage(parameter: JsonObject, writer: BinaryWriter): void {
  if (parameter['in'] === 'body') {
    message(writer, 1, parameter, (body, inner) => {
      textMember(inner, 2, body['name'])
      textMember(inner, 3, body['in'])
      if (body['required'] === true) inner.tag(4, WireType.Varint).bool(true)
      message(inner, 5, body['schema'], schemaMessage)
    })
    return
  }
  message(writer, 2, parameter, (nonBody, inner) => {
    if (nonBody['in'] === 'query') message(inner, 3, nonBody, queryParameter)
    else message(inner, 4, nonBody, pathParameter)
  })
}

function queryParameter(parameter: JsonObject, writer: BinaryWriter): void {
  place(parameter, writer)
  textMember(writer, 6, parameter['type'])
  if (parameter['uniqueItems'] === true) writer.tag(20, WireType.Varint).bool(true)
}

function pathParameter(parameter: JsonObject, writer: BinaryWriter): void {
  if (parameter['required'] === true) writer.tag(1, WireType.Varint).bool(true)
  place(parameter, writer)
  textMember(writer, 5, parameter['type'])
  if (parameter['uniqueItems'] === true) writer.tag(19, WireType.Varint).bool(true)
}

function place(parameter: JsonObject, writer: BinaryWriter): void {
  textMember(writer, 2, parameter['in'])
  textMember(writer, 3, parameter['description'])
  textMember(writer, 4, parameter['name'])
}
