import assert from 'node:assert/strict'
import { BinaryReader } from '@bufbuild/protobuf/wire'
import { parse, parseAllDocuments } from 'yaml'
import { decodeProtobuf } from '../../../src/api/codec/protobuf.ts'
import { applyDefaults } from '../../../src/api/schema/default.ts'
import type { Encoding } from '../../../src/api/codec/document.ts'
import type { JsonObject } from '../../../src/api/json.ts'
import { listMetaSchema } from '../../../src/api/schema/shared.ts'
import type { ObjectSchema } from '../../../src/api/schema/schema.ts'

/**
 * Decodes a response in the requested encoding, as a client does.
 *
 * @param schema for protobuf: of the expected object
 */
export function readAs(encoding: Encoding, schema: ObjectSchema, bytes: Uint8Array): JsonObject {
  const text = (): string => Buffer.from(bytes).toString('utf8')
  switch (encoding) {
    case 'json':
      return JSON.parse(text()) as JsonObject
    case 'yaml':
      return parse(text()) as JsonObject
    case 'protobuf':
      return asJson(schema, decodeProtobuf(schema, bytes))
  }
}

/** Returns the schema of a list of such items. */
export function listSchema(items: ObjectSchema): ObjectSchema {
  return {
    type: 'object',
    properties: { metadata: listMetaSchema, items: { type: 'list', items } },
    protobuf: { metadata: 1, items: 2 },
  }
}

export type SeenEvent = { readonly type: string; readonly object: JsonObject }

/** Decodes the events of a watch. @param schema for protobuf: returns the schema of a kind */
export function eventsAs(
  encoding: Encoding,
  schema: (kind: string) => ObjectSchema,
  bytes: Uint8Array,
): readonly SeenEvent[] {
  const text = Buffer.from(bytes).toString('utf8')
  switch (encoding) {
    case 'json':
      return text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as SeenEvent)
    case 'yaml':
      return parseAllDocuments(text).map((document) => document.toJS() as SeenEvent)
    case 'protobuf':
      return protobufEvents(schema, bytes)
  }
}

function protobufEvents(schema: (kind: string) => ObjectSchema, bytes: Uint8Array): readonly SeenEvent[] {
  const view = Buffer.from(bytes)
  const events: SeenEvent[] = []
  for (let at = 0; at < view.length;) {
    const end = at + 4 + view.readUInt32BE(at)
    const event = fields(view.subarray(at + 4, end))
    const body = fields(event.get(2) ?? new Uint8Array(0)).get(1) ?? new Uint8Array(0)
    const type = fields(fields(body.subarray(4)).get(1) ?? new Uint8Array(0))
    const kind = Buffer.from(type.get(2) ?? []).toString()
    events.push({
      type: Buffer.from(event.get(1) ?? []).toString(),
      object: asJson(schema(kind), decodeProtobuf(schema(kind), body)),
    })
    at = end
  }
  return events
}

/** Members of a message that has only text, bytes and messages. */
function fields(bytes: Uint8Array): ReadonlyMap<number, Uint8Array> {
  const found = new Map<number, Uint8Array>()
  const reader = new BinaryReader(bytes)
  while (reader.pos < reader.len) {
    const [number, wire] = reader.tag()
    assert.equal(wire, 2)
    found.set(number, reader.bytes())
  }
  return found
}

/** Converts a message to JSON with the empty members that JSON always has and protobuf omits. */
function asJson(schema: ObjectSchema, given: JsonObject): JsonObject {
  return applyDefaults(schema, given)
}
