import assert from 'node:assert/strict'
import { objectMember, objectsMember } from '../../src/api/json.ts'
import type { JsonObject } from '../../src/api/json.ts'
import { encodings, itemsOf, versionOf, withoutType } from './kind-client.ts'
import type { KindClient } from './kind-client.ts'
import { nameOf } from './kind-path.ts'
import { checkServersPart, clientsPart, storedObject, storedPart } from './server-owned.ts'

/** What becomes of one object: each step is looked at, and all of them once more by watches. */
export class ObjectLife {
  readonly #client: KindClient
  readonly #path: string
  readonly #query: string
  readonly #versions: JsonObject[] = []
  #turn: number

  /** @param turn which encoding comes first */
  constructor(client: KindClient, name: string, turn: number) {
    this.#client = client
    this.#path = `${client.collection}/${name}`
    this.#query = `?fieldSelector=metadata.name%3D${name}`
    this.#turn = turn
  }

  get current(): JsonObject {
    return this.#versions.at(-1) ?? {}
  }

  async create(said: JsonObject): Promise<void> {
    const { collection, names } = this.#client
    const got = await this.#send('POST', collection, said, 201)
    checkServersPart(got)
    assert.deepEqual(clientsPart(got), storedObject(said, names))
    await this.#isNow(got)
  }

  async update(): Promise<void> {
    const said = annotated(this.current, 'updated')
    const got = await this.#send('PUT', this.#path, said, 200)
    assert.deepEqual(clientsPart(got), clientsPart(said))
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

  async updatePart(name: string, said: JsonObject): Promise<void> {
    const got = await this.#send('PUT', `${this.#path}/${name}`, said, 200)
    assert.deepEqual(clientsPart(got), storedPart(said), name)
    await this.#isNow(got)
  }

  /** In lists as it is, and as a row of a table. */
  async listed(): Promise<void> {
    const { collection, definition, names } = this.#client
    const path = `${collection}${this.#query}`
    const list = await this.#client.get(path)
    assert.equal(list['kind'], `${definition.kind}List`)
    assert.deepEqual(itemsOf(list), [withoutType(this.current)])
    const accept = `application/json;as=Table;v=v1;g=${names.group('meta')}`
    this.#checkTable(await this.#client.get(`${path}&includeObject=Object`, accept), this.current)
  }

  /** Deleted, held by its finalizers until they are gone. */
  async end(): Promise<void> {
    const { api, definition } = this.#client
    const body = { kind: 'DeleteOptions', apiVersion: 'v1', gracePeriodSeconds: 0 }
    const deleted = await api.ask('DELETE', this.#path, { body })
    assert.ok([200, 202].includes(deleted.status), deleted.text)
    const marked = await this.#client.get(this.#path)
    assert.notEqual(objectMember(marked, 'metadata')['deletionTimestamp'], undefined)
    await this.#isNow(marked)
    const freed = await api.ask('PATCH', this.#path, {
      body: { metadata: { finalizers: null } },
      type: 'application/merge-patch+json',
    })
    assert.equal(freed.status, 200, freed.text)
    if (definition.holdsNamespaces === true) {
      const held = await this.#client.get(this.#path)
      await this.#isNow(held)
      await this.#send('PUT', `${this.#path}/finalize`, { ...held, spec: {} }, 200)
    }
    assert.equal((await api.ask('GET', this.#path)).status, 404)
  }

  /** Every version, by watches. @param from the revision before it was made */
  async toldAgain(from: string): Promise<void> {
    const client = this.#client
    const count = this.#versions.length + 1
    const query = `${this.#query}&watch=true&resourceVersion=${from}`
    const types = [...this.#versions.map((_, at) => (at === 0 ? 'ADDED' : 'MODIFIED')), 'DELETED']
    const events = await client.watch(query, count)
    assert.deepEqual(
      events.map(({ type }) => type),
      types,
    )
    const objects = events.map(({ object }) => object as JsonObject)
    assert.deepEqual(objects.slice(0, -1), this.#versions)
    assert.equal(nameOf(objects.at(-1) ?? {}), nameOf(this.current))
    const accept = `application/json;as=Table;v=v1;g=${client.names.group('meta')}`
    const rows = await client.watch(`${query}&includeObject=Object`, count, accept)
    for (const [at, version] of this.#versions.entries())
      this.#checkTable((rows[at]?.object ?? {}) as JsonObject, version, at === 0)
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

  /** In the next encoding. */
  #send(method: string, path: string, object: JsonObject, code: number): Promise<JsonObject> {
    const body = encodings[this.#turn++ % encodings.length] ?? 'json'
    return this.#client.send(method, path, object, { body, code })
  }

  /** What was answered is what there is. */
  async #isNow(object: JsonObject): Promise<void> {
    assert.deepEqual(await this.#client.get(this.#path), object)
    if (versionOf(object) !== versionOf(this.current)) this.#versions.push(object)
  }
}

function annotated(object: JsonObject, name: string): JsonObject {
  const metadata = objectMember(object, 'metadata')
  const annotations = { ...objectMember(metadata, 'annotations'), [name]: 'yes' }
  return { ...object, metadata: { ...metadata, annotations } }
}
