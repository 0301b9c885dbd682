import assert from 'node:assert/strict'
import { stringify } from 'yaml'
import { encodeProtobuf } from '../../../src/api/codec/protobuf-envelope.ts'
import type { Encoding } from '../../../src/api/codec/document.ts'
import { objectMember, objectsMember, textMember } from '../../../src/api/json.ts'
import type { JsonObject } from '../../../src/api/json.ts'
import type { Names } from '../../../src/api/metadata/names.ts'
import type { ObjectSchema } from '../../../src/api/schema/schema.ts'
import { wholeObject } from '../../../src/api/schema/shared.ts'
import type { ResourceDefinition } from '../../../src/registry/kinds/definition.ts'
import { hasProtobuf } from '../../../src/registry/representations/representation.ts'
import { collectionOf } from '../fixtures/kind-path.ts'
import { eventsAs, listSchema, readAs } from './representations.ts'
import type { SeenEvent } from './representations.ts'
import type { Reply, SpecServer } from '../fixtures/spec-server.ts'

export const encodings: readonly Encoding[] = ['json', 'yaml', 'protobuf']

/** A client of one kind that writes and reads it in every encoding that the kind has. */
export class KindClient {
  readonly encodings: readonly Encoding[]
  readonly api: SpecServer
  readonly names: Names
  readonly definition: ResourceDefinition
  readonly schema: ObjectSchema
  readonly collection: string

  constructor(api: SpecServer, names: Names, definition: ResourceDefinition) {
    this.api = api
    this.names = names
    this.definition = definition
    this.encodings = hasProtobuf(definition) ? encodings : ['json', 'yaml']
    this.schema = wholeObject(definition.schema)
    this.collection = collectionOf(definition)
  }

  /** @returns the response, which is requested in the encoding `by.accept` */
  async send(
    method: string,
    path: string,
    object: JsonObject,
    by: { readonly body: Encoding; readonly accept: Encoding; readonly code: number },
  ): Promise<JsonObject> {
    const reply = await this.api.ask(method, path, {
      body: this.written(by.body, object),
      type: this.mediaType(by.body),
      headers: { accept: this.mediaType(by.accept) },
    })
    assert.equal(reply.status, by.code, `${method} ${path} in ${by.body}: ${reply.text}`)
    return this.#read(reply, by.accept, this.schema)
  }

  async get(path: string, encoding: Encoding): Promise<JsonObject> {
    const reply = await this.api.ask('GET', path, { headers: { accept: this.mediaType(encoding) } })
    assert.equal(reply.status, 200, `GET ${path}: ${reply.text}`)
    return this.#read(reply, encoding, this.schema)
  }

  /** @param accept media type to request; unset: that of whole objects */
  async list(query: string, encoding: Encoding, accept?: string, items = this.schema): Promise<JsonObject> {
    const wanted = accept ?? this.mediaType(encoding)
    const reply = await this.api.ask('GET', this.collection + query, { headers: { accept: wanted } })
    assert.equal(reply.status, 200, `GET ${this.collection}${query} as ${wanted}: ${reply.text}`)
    return this.#read(reply, encoding, listSchema(items))
  }

  /** Returns the next `count` events. @param query selects the start */
  async watch(
    query: string,
    encoding: 'json' | 'protobuf',
    count: number,
    accept = '',
  ): Promise<readonly SeenEvent[]> {
    const wanted = accept === '' ? this.mediaType(encoding) : accept
    const watching = await this.api.watch(`${this.collection}${query}`, { accept: wanted })
    assert.equal(watching.response.status, 200)
    let bytes = new Uint8Array(0)
    for await (const chunk of watching.response.body as AsyncIterable<Uint8Array>) {
      bytes = Buffer.concat([bytes, chunk])
      if (wholeEvents(encoding, bytes) >= count) break
    }
    watching.leave()
    return eventsAs(encoding, () => this.schema, bytes)
  }

  /** Returns the current revision of the server. */
  async revision(): Promise<string> {
    return textMember(objectMember(await this.list('?limit=1', 'json'), 'metadata'), 'resourceVersion')
  }

  written(encoding: Encoding, object: JsonObject): string | Uint8Array {
    switch (encoding) {
      case 'json':
        return JSON.stringify(object)
      case 'yaml':
        return stringify(object, { defaultStringType: 'QUOTE_DOUBLE', defaultKeyType: 'QUOTE_DOUBLE' })
      case 'protobuf':
        return encodeProtobuf(this.schema, object)
    }
  }

  mediaType(encoding: Encoding): string {
    return encoding === 'protobuf' ? this.names.protobufMediaType : `application/${encoding}`
  }

  #read(reply: Reply, encoding: Encoding, schema: ObjectSchema): JsonObject {
    assert.equal(reply.headers.get('content-type'), this.mediaType(encoding))
    return readAs(encoding, schema, reply.bytes)
  }
}

function wholeEvents(encoding: 'json' | 'protobuf', bytes: Uint8Array): number {
  if (encoding === 'json') return bytes.filter((byte) => byte === 0x0a).length
  const view = Buffer.from(bytes)
  let count = 0
  for (let at = 0; at + 4 <= view.length; count++) {
    at += 4 + view.readUInt32BE(at)
    if (at > view.length) return count
  }
  return count
}

export function versionOf(object: JsonObject): string {
  return textMember(objectMember(object, 'metadata'), 'resourceVersion')
}

/** Items omit kind and version in some encodings; the list has them. */
export function itemsOf(list: JsonObject): readonly JsonObject[] {
  return objectsMember(list, 'items').map(withoutType)
}

export function withoutType(object: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(object).filter(([name]) => name !== 'kind' && name !== 'apiVersion'),
  )
}
