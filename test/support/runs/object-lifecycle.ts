import assert from 'node:assert/strict'
import type { Encoding } from '../../../src/api/codec/document.ts'
import { objectMember, objectsMember } from '../../../src/api/json.ts'
import type { JsonObject } from '../../../src/api/json.ts'
import { partialObjectMetadataSchema } from '../../../src/api/schema/shared.ts'
import { itemsOf, versionOf, withoutType } from '../drivers/kind-client.ts'
import type { KindClient } from '../drivers/kind-client.ts'
import { nameOf } from '../fixtures/kind-path.ts'
import { checkServersPart, clientsPart, storedObject, storedPart } from '../fixtures/stored-object.ts'

/**
 * The lifecycle of one object: the result of each step is read in every encoding, and finally all
 * steps are read by watches.
 */
export class ObjectLife {
  readonly #client: KindClient
  readonly #path: string
  readonly #query: string
  readonly #versions: JsonObject[] = []
  #turn: number

  /** @param turn selects the first encoding */
  constructor(client: KindClient, name: string, turn: number) {
    this.#client = client
    this.#path = `${client.collection}/${name}`
    this.#query = `?fieldSelector=metadata.name%3D${name}`
    this.#turn = turn
  }

  get current(): JsonObject {
    return this.#versions.at(-1) ?? {}
  }

  async create(given: JsonObject): Promise<void> {
    const { collection, names } = this.#client
    const got = await this.#send('POST', collection, given, 201)
    checkServersPart(got)
    assert.deepEqual(clientsPart(got), storedObject(given, names))
    await this.#isNow(got)
  }

  async update(): Promise<void> {
    const given = annotated(this.current, 'updated')
    const got = await this.#send('PUT', this.#path, given, 200)
    assert.deepEqual(clientsPart(got), clientsPart(given))
    await this.#isNow(got)
  }

  async patch(): Promise<void> {
    const patches: readonly (readonly [string, unknown])[] = [
      ['merge-patch', { metadata: { annotations: { merged: 'yes' } } }],
      ['json-patch', [{ op: 'add', path: '/metadata/annotations/pointed', value: 'yes' }]],
      ['strategic-merge-patch', { metadata: { annotations: { woven: 'yes' } } }],
    ]
    for (const [type, body] of patches) {
      const wanted = annotated(
        this.current,
        { 'merge-patch': 'merged', 'json-patch': 'pointed' }[type] ?? 'woven',
      )
      const reply = await this.#client.api.ask('PATCH', this.#path, {
        body,
        type: `application/${type}+json`,
      })
      assert.equal(reply.status, 200, `${type}: ${reply.text}`)
      const got = JSON.parse(reply.text) as JsonObject
      assert.deepEqual(clientsPart(got), clientsPart(wanted), type)
      await this.#isNow(got)
    }
  }

  async updatePart(name: string, given: JsonObject): Promise<void> {
    const got = await this.#send('PUT', `${this.#path}/${name}`, given, 200)
    assert.deepEqual(clientsPart(got), storedPart(given, this.#client.names), name)
    await this.#isNow(got)
  }

  /** Reads it in lists: as it is, as a row of a table, and as metadata only. */
  async listed(): Promise<void> {
    const client = this.#client
    const group = client.names.group('meta')
    for (const encoding of client.encodings) {
      const list = await client.list(this.#query, encoding)
      assert.equal(list['kind'], `${client.definition.kind}List`)
      assert.deepEqual(itemsOf(list), [withoutType(this.current)], encoding)
      const accept = `${client.mediaType(encoding)};as=PartialObjectMetadataList;v=v1;g=${group}`
      const partial = await client.list(this.#query, encoding, accept, partialObjectMetadataSchema)
      assert.equal(partial['kind'], 'PartialObjectMetadataList')
      assert.deepEqual(itemsOf(partial), [{ metadata: this.current['metadata'] }], encoding)
    }
    const accept = `application/json;as=Table;v=v1;g=${group}`
    this.#checkTable(await client.list(`${this.#query}&includeObject=Object`, 'json', accept), this.current)
  }

  /** Deletes it; it stays until its finalizers are removed. */
  async end(): Promise<void> {
    const { api, definition } = this.#client
    const body = { kind: 'DeleteOptions', apiVersion: 'v1', gracePeriodSeconds: 0 }
    const deleted = await api.ask('DELETE', this.#path, { body })
    assert.ok([200, 202].includes(deleted.status), deleted.text)
    const marked = await this.#client.get(this.#path, 'json')
    assert.notEqual(objectMember(marked, 'metadata')['deletionTimestamp'], undefined)
    await this.#isNow(marked)
    const freed = await api.ask('PATCH', this.#path, {
      body: { metadata: { finalizers: null } },
      type: 'application/merge-patch+json',
    })
    assert.equal(freed.status, 200, freed.text)
    if (definition.isNamespaceKind === true) {
      const held = await this.#client.get(this.#path, 'json')
      await this.#isNow(held)
      await this.#send('PUT', `${this.#path}/finalize`, { ...held, spec: {} }, 200)
    }
    assert.equal((await api.ask('GET', this.#path)).status, 404)
  }

  /** Reads every version by watches. @param from the revision before its creation */
  async watchAgain(from: string): Promise<void> {
    const client = this.#client
    const count = this.#versions.length + 1
    const query = `${this.#query}&watch=true&resourceVersion=${from}`
    const types = [...this.#versions.map((_, at) => (at === 0 ? 'ADDED' : 'MODIFIED')), 'DELETED']
    for (const encoding of ['json', 'protobuf'] as const) {
      if (!client.encodings.includes(encoding)) continue
      const events = await client.watch(query, encoding, count)
      const given = events.map(({ type }) => type)
      assert.deepEqual(given, types, encoding)
      const objects = events.map(({ object }) => object)
      assert.deepEqual(objects.slice(0, -1), this.#versions, encoding)
      assert.equal(nameOf(objects.at(-1) ?? {}), nameOf(this.current))
    }
    const accept = `application/json;as=Table;v=v1;g=${client.names.group('meta')}`
    const rows = await client.watch(`${query}&includeObject=Object`, 'json', count, accept)
    for (const [at, version] of this.#versions.entries())
      this.#checkTable(rows[at]?.object ?? {}, version, at === 0)
  }

  #checkTable(table: JsonObject, object: JsonObject, saysColumns = true): void {
    const columns = this.#client.definition.columns?.length ?? 2
    if (saysColumns) assert.equal(objectsMember(table, 'columnDefinitions').length, columns)
    const [row, ...more] = objectsMember(table, 'rows')
    assert.deepEqual([more.length, row?.['object']], [0, object])
    const cells = row?.['cells'] as readonly unknown[]
    assert.equal(cells.length, columns)
    for (const cell of cells) {
      assert.ok(['string', 'number', 'boolean'].includes(typeof cell), `a cell is ${JSON.stringify(cell)}`)
      assert.ok(!/\[object|undefined|NaN/.test(String(cell)), String(cell))
    }
  }

  /** Sends the object in the next encoding, and requests the response in the one after that. */
  #send(method: string, path: string, object: JsonObject, code: number): Promise<JsonObject> {
    const turn = this.#turn++
    const { encodings } = this.#client
    const body: Encoding = encodings[turn % encodings.length] ?? 'json'
    const accept: Encoding = encodings[(turn + 1) % encodings.length] ?? 'json'
    return this.#client.send(method, path, object, { body, accept, code })
  }

  /** Checks that the response equals the stored object in every representation. */
  async #isNow(object: JsonObject): Promise<void> {
    for (const encoding of this.#client.encodings) {
      assert.deepEqual(await this.#client.get(this.#path, encoding), object, encoding)
    }
    if (versionOf(object) !== versionOf(this.current)) this.#versions.push(object)
  }
}

function annotated(object: JsonObject, name: string): JsonObject {
  const metadata = objectMember(object, 'metadata')
  const annotations = { ...objectMember(metadata, 'annotations'), [name]: 'yes' }
  return { ...object, metadata: { ...metadata, annotations } }
}
