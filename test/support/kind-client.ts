import assert from 'node:assert/strict'
import { stringify } from 'yaml'
import { encodeProtobuf } from '../../src/api/codec/protobuf-envelope.ts'
import { objectMember, objectsMember, textMember } from '../../src/api/json.ts'
import type { JsonObject } from '../../src/api/json.ts'
import type { Names } from '../../src/api/names.ts'
import type { ObjectSchema } from '../../src/api/schema/schema.ts'
import { wholeObject } from '../../src/api/schema/shared.ts'
import type { ResourceDefinition } from '../../src/registry/definition.ts'
import { collectionOf } from './kind-path.ts'
import type { SpecServer, WatchEvent } from './spec-server.ts'

export type Written = 'json' | 'yaml' | 'protobuf'
export const encodings: readonly Written[] = ['json', 'yaml', 'protobuf']

/** One kind of a server, written in every encoding and read as JSON. */
export class KindClient {
  readonly api: SpecServer
  readonly names: Names
  readonly definition: ResourceDefinition
  readonly collection: string
  readonly #schema: ObjectSchema

  constructor(api: SpecServer, names: Names, definition: ResourceDefinition) {
    this.api = api
    this.names = names
    this.definition = definition
    this.collection = collectionOf(definition)
    this.#schema = wholeObject(definition.schema)
  }

  /** @returns what was answered */
  async send(method: string, path: string, object: JsonObject, by: Sending): Promise<JsonObject> {
    const type = by.body === 'protobuf' ? this.names.protobufMediaType : `application/${by.body}`
    const reply = await this.api.ask(method, path, { body: this.#written(by.body, object), type })
    assert.equal(reply.status, by.code, `${method} ${path} in ${by.body}: ${reply.text}`)
    return JSON.parse(reply.text) as JsonObject
  }

  /** An object or a list. */
  async get(path: string, accept = 'application/json'): Promise<JsonObject> {
    const reply = await this.api.ask('GET', path, { headers: { accept } })
    assert.equal(reply.status, 200, `GET ${path}: ${reply.text}`)
    return JSON.parse(reply.text) as JsonObject
  }

  /** The next so many events. @param query says from where on */
  async watch(query: string, count: number, accept = 'application/json'): Promise<readonly WatchEvent[]> {
    const watching = await this.api.watch(`${this.collection}${query}`, { accept })
    assert.equal(watching.response.status, 200)
    const events = await watching.take(count)
    watching.leave()
    return events
  }

  /** Of the whole server, as it is now. */
  async revision(): Promise<string> {
    const list = await this.get(`${this.collection}?limit=1`)
    return textMember(objectMember(list, 'metadata'), 'resourceVersion')
  }

  #written(encoding: Written, object: JsonObject): string | Uint8Array {
    switch (encoding) {
      case 'json':
        return JSON.stringify(object)
      case 'yaml':
        return stringify(object, { defaultStringType: 'QUOTE_DOUBLE', defaultKeyType: 'QUOTE_DOUBLE' })
      case 'protobuf':
        return encodeProtobuf(this.#schema, object)
    }
  }
}

type Sending = { readonly body: Written; readonly code: number }

export function versionOf(object: JsonObject): string {
  return textMember(objectMember(object, 'metadata'), 'resourceVersion')
}

/** Items say neither kind nor version: the list does. */
export function itemsOf(list: JsonObject): readonly JsonObject[] {
  return objectsMember(list, 'items').map(withoutType)
}

export function withoutType(object: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(object).filter(([name]) => name !== 'kind' && name !== 'apiVersion'),
  )
}
