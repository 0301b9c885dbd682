import { Buffer } from 'node:buffer'
import { assertNever } from '../../../base/assert.ts'
import type { JsonObject } from '../json.ts'
import type { ObjectSchema } from '../schema/schema.ts'
import { jsonText } from './json-text.ts'
import { encodeProtobuf } from './protobuf-envelope.ts'
import { yamlText } from './yaml-writer.ts'

/** Encodings of objects. */
export type Encoding = 'json' | 'yaml' | 'protobuf'

/**
 * Encodes an object as a whole response body.
 *
 * @param schema needed for protobuf only, for the field numbers
 * @param object has the types of the schema, with apiVersion and kind
 */
export function encodeDocument(encoding: Encoding, schema: ObjectSchema, object: JsonObject): Uint8Array {
  switch (encoding) {
    case 'json':
      return Buffer.from(jsonText(object))
    case 'yaml':
      return Buffer.from(yamlText(object))
    case 'protobuf':
      return encodeProtobuf(schema, object)
    default:
      return assertNever(encoding)
  }
}
