import { Buffer } from 'node:buffer'
import { assertNever } from '../../../base/assert.ts'
import type { JsonObject } from '../json.ts'
import type { ObjectSchema } from '../schema/schema.ts'
import { jsonText } from './json-text.ts'
import { encodeProtobuf } from './protobuf-envelope.ts'
import { yamlText } from './yaml-writer.ts'

/** How an object is written down. */
export type Encoding = 'json' | 'yaml' | 'protobuf'

/**
 * An object as the whole body of an answer.
 *
 * @param schema only protobuf needs it: it says the numbers
 * @param object of the schema's types; says its apiVersion and kind
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
