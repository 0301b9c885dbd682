/*
 * Goal: a kind that is served in two versions, of one group or of two, is one kind: an object
 * written in one version is read in the other, by every verb, and nothing is lost.
 * Method: the shipped verbs over made-up kinds whose versions differ in shape, in name only, or in
 * group, and over random objects converted both ways.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { SeededRandom } from '../../../../../base/random.ts'
import { isJsonObject, memberOf } from '../../../../../src/api/json.ts'
import type { Json, JsonObject } from '../../../../../src/api/json.ts'
import type { ObjectSchema } from '../../../../../src/api/schema/schema.ts'
import { ageColumn, nameColumn } from '../../../../../src/registry/kinds/columns.ts'
import type { AnyObject, ResourceDefinition } from '../../../../../src/registry/kinds/definition.ts'
import { prefixOf } from '../../../../../src/store/key.ts'
import { Events, Fixture, refused } from '../fixture.ts'
import type { Call, Got, List } from '../fixture.ts'

const seed = Number(process.env['SEED'] ?? 20)

const tags = { type: 'list', items: { type: 'string' } } as const
const size = { type: 'integer', format: 'int64' } as const
const spec = { type: 'object', properties: { size, tags } } as const

const base = {
  ...{ group: 'test.example', kind: 'Gadget', plural: 'gadgets', singular: 'gadget' },
  ...{ shortNames: [], categories: [], scope: 'Namespaced', subresources: [] },
  verbs: ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'],
  ...{ validateName: () => [], deleteReturnsObject: true },
} as const satisfies Partial<ResourceDefinition>

const gadget: ResourceDefinition = {
  ...base,
  version: 'v1',
  schema: { type: 'object', properties: { spec } } satisfies ObjectSchema,
  columns: [nameColumn, ageColumn],
  hooks: {},
}

/** A version that has the members of `spec` at the top level, under other names. */
const older: ResourceDefinition = {
  ...base,
  version: 'v1beta1',
  schema: { type: 'object', properties: { amount: size, words: tags } } satisfies ObjectSchema,
  columns: [
    nameColumn,
    { name: 'Amount', type: 'integer', description: 'How many.', cell: (object) => Number(object['amount']) },
  ],
  hooks: {},
  storedAs: { name: 'v1', conversion: { toStored, fromStored } },
}

/** A version with the same shape as `gadget`. */
const alike: ResourceDefinition = { ...gadget, version: 'v1alpha1', storedAs: { name: 'v1' } }

/** A kind like `older` in another group, with a computed selectable field. */
const elsewhere: ResourceDefinition = {
  ...older,
  ...{ group: 'other.example', version: 'v2' },
  selectableFields: [{ name: 'parity', textOf: ({ amount }) => (Number(amount) % 2 === 0 ? 'even' : 'odd') }],
  storedAs: { name: 'v1', group: 'test.example', conversion: { toStored, fromStored } },
}

function toStored({ apiVersion, kind, metadata, amount, words }: AnyObject): AnyObject {
  const inner = {
    ...(amount === undefined ? {} : { size: amount }),
    ...(words === undefined ? {} : { tags: words }),
  }
  return { apiVersion, kind, metadata, ...(Object.keys(inner).length === 0 ? {} : { spec: inner }) }
}

function fromStored({ apiVersion, kind, metadata, spec: inner }: AnyObject): AnyObject {
  const amount = isJsonObject(inner) ? memberOf(inner, 'size') : undefined
  const words = isJsonObject(inner) ? memberOf(inner, 'tags') : undefined
  return {
    ...{ apiVersion, kind, metadata },
    ...(amount === undefined ? {} : { amount }),
    ...(words === undefined ? {} : { words }),
  }
}

class Versions {
  readonly fixture: Fixture
  readonly version: ResourceDefinition

  constructor(fixture: Fixture, version: ResourceDefinition) {
    this.fixture = fixture
    this.version = version
  }

  async ask(verb: 'get' | 'list' | 'create' | 'update' | 'patch' | 'delete', call: Call): Promise<Got> {
    const { fixture, version } = this
    const answer = await fixture.registry[verb]({ ...fixture.request(call), definition: version })
    assert.ok(answer.kind !== 'watch')
    const pieces: Uint8Array[] = []
    if (answer.kind === 'document') pieces.push(answer.bytes)
    else for await (const piece of answer.pieces as AsyncIterable<Uint8Array>) pieces.push(piece)
    const text = Buffer.concat(pieces).toString()
    return { code: answer.code, object: JSON.parse(text) as Got['object'], text }
  }

  async watch(query: Record<string, string>): Promise<Events> {
    const request = { ...this.fixture.request({ query }), definition: this.version }
    const answer = await this.fixture.registry.watch(request)
    assert.ok(answer.kind === 'watch')
    return new Events(answer.stream)
  }

  make(name: string, more: JsonObject): Promise<Got> {
    return this.ask('create', { body: { metadata: { name }, ...more } })
  }
}

type Started = { readonly fixture: Fixture; readonly v1: Versions; readonly beta: Versions }

async function start(t: TestContext): Promise<Started> {
  const fixture = await Fixture.open({ extra: [gadget, older, alike, elsewhere] })
  t.after(() => fixture.close())
  return { fixture, v1: new Versions(fixture, gadget), beta: new Versions(fixture, older) }
}

function shape({ object }: { readonly object: JsonObject }): JsonObject {
  const { metadata, ...rest } = object
  assert.ok(metadata !== undefined)
  return rest
}

const inV1 = (count: number, words: readonly string[]): JsonObject => ({
  ...{ kind: 'Gadget', apiVersion: 'test.example/v1' },
  spec: { size: count, ...(words.length === 0 ? {} : { tags: words }) },
})
const inBeta = (count: number, words: readonly string[]): JsonObject => ({
  ...{ kind: 'Gadget', apiVersion: 'test.example/v1beta1' },
  ...{ amount: count, ...(words.length === 0 ? {} : { words }) },
})

void test('spec 9.5: an object written in one version round-trips through the other', async (t) => {
  const { fixture, v1, beta } = await start(t)
  const made = await beta.make('a', { amount: 3, words: ['x'] })
  assert.equal(made.code, 201)
  assert.deepEqual(shape(made), inBeta(3, ['x']))
  const seen = await v1.ask('get', { name: 'a' })
  assert.deepEqual(shape(seen), inV1(3, ['x']))
  assert.deepEqual(seen.object.metadata, made.object.metadata)
  assert.deepEqual(await beta.ask('get', { name: 'a' }), { ...made, code: 200 })

  const prefix = prefixOf({ group: 'test.example', plural: 'gadgets', namespace: null })
  const { objects } = fixture.store.view().list(prefix, { after: null, limit: null })
  assert.match(
    Buffer.from(objects[0]?.bytes ?? []).toString(),
    /^{"kind":"Gadget","apiVersion":"test.example\/v1",/,
  )

  await v1.make('b', { spec: { size: 4, tags: [] } })
  assert.deepEqual(shape(await beta.ask('get', { name: 'b' })), inBeta(4, []))
})

void test('every verb that changes an object uses the shape of its version', async (t) => {
  const { v1, beta } = await start(t)
  const { object } = await v1.make('a', { spec: { size: 1, tags: ['x', 'y'] } })
  const put = await beta.ask('update', {
    name: 'a',
    body: { ...inBeta(2, ['z']), metadata: object.metadata },
  })
  assert.deepEqual(shape(put), inBeta(2, ['z']))
  assert.deepEqual(shape(await v1.ask('get', { name: 'a' })), inV1(2, ['z']))

  for (const [type, body, expected] of [
    ['merge-patch', { amount: 5 }, inV1(5, ['z'])],
    ['strategic-merge-patch', { words: ['w'] }, inV1(5, ['w'])],
    ['json-patch', [{ op: 'add', path: '/words/-', value: 'q' }], inV1(5, ['w', 'q'])],
  ] as const) {
    await beta.ask('patch', { name: 'a', body, contentType: `application/${type}+json` })
    assert.deepEqual(shape(await v1.ask('get', { name: 'a' })), expected, type)
  }
  const before = await v1.ask('get', { name: 'a' })
  const same = await beta.ask('patch', {
    name: 'a',
    body: { amount: 5 },
    contentType: 'application/merge-patch+json',
  })
  assert.equal(same.object.metadata.resourceVersion, before.object.metadata.resourceVersion)

  const wrong = await refused(
    beta.ask('update', { name: 'a', body: { ...inV1(1, []), metadata: { name: 'a' } } }),
  )
  assert.match(wrong.message, /does not match the expected API version \(test\.example\/v1beta1\)/)
  const stale = { ...inBeta(9, []), metadata: object.metadata }
  assert.equal((await refused(beta.ask('update', { name: 'a', body: stale }))).code, 409)
})

void test('lists, pages and tables have the requested version', async (t) => {
  const { fixture, v1, beta } = await start(t)
  for (const [at, name] of ['a', 'b', 'c'].entries())
    await v1.make(name, { spec: { size: at + 1, tags: [] } })
  const whole = (await beta.ask('list', {})).object as unknown as List
  assert.equal(whole.apiVersion, 'test.example/v1beta1')
  assert.deepEqual(
    whole.items.map((item) => item['amount']),
    [1, 2, 3],
  )
  const first = (await beta.ask('list', { query: { limit: '2' } })).object as unknown as List
  const token = first.metadata.continue ?? ''
  // A page of one version continues in the other.
  const rest = (await v1.ask('list', { query: { limit: '2', continue: token } })).object as unknown as List
  assert.deepEqual(
    rest.items.map(({ metadata }) => metadata.name),
    ['c'],
  )
  const chosen = await beta.ask('list', { query: { fieldSelector: 'metadata.name=b' } })
  assert.deepEqual(
    (chosen.object['items'] as readonly JsonObject[]).map((item) => item['amount']),
    [2],
  )

  const table = await fixture.registry.get({
    ...fixture.request({ name: 'b' }),
    definition: older,
    representation: {
      as: 'table',
      encoding: 'json',
      shape: { apiVersion: 'meta.k8s.io/v1', includeObject: 'None' },
    },
  })
  assert.ok(table.kind === 'document')
  const { rows } = JSON.parse(Buffer.from(table.bytes).toString()) as {
    readonly rows: readonly { readonly cells: Json }[]
  }
  assert.deepEqual(rows[0]?.cells, ['b', 2])
})

void test('watches of either version see every change, whichever version it was made in', async (t) => {
  const { v1, beta } = await start(t)
  await v1.make('a', { spec: { size: 1, tags: [] } })
  const watches = [await v1.watch({ labelSelector: '!off' }), await beta.watch({ labelSelector: '!off' })]
  await beta.make('b', { amount: 2 })
  await beta.ask('patch', { name: 'a', body: { amount: 7 }, contentType: 'application/merge-patch+json' })
  await v1.ask('patch', {
    name: 'b',
    body: { metadata: { labels: { off: '' } } },
    contentType: 'application/merge-patch+json',
  })
  await beta.ask('delete', { name: 'a' })
  const [old = [], young = []] = [await watches[0]?.now(), await watches[1]?.now()]
  const words = (events: typeof old): readonly string[] =>
    events.map(({ type, object }) => `${type} ${object.metadata.name}`)
  assert.deepEqual(words(old), ['ADDED a', 'ADDED b', 'MODIFIED a', 'DELETED b', 'DELETED a'])
  assert.deepEqual(words(young), words(old))
  assert.deepEqual(
    young.map(({ object }) => object['amount']),
    [1, 2, 7, 2, 7],
  )
  assert.deepEqual(
    young.map(({ object }) => object.metadata.resourceVersion),
    old.map(({ object }) => object.metadata.resourceVersion),
  )
  for (const { object } of young) assert.equal(object.apiVersion, 'test.example/v1beta1')
})

void test('if two versions differ in name only, their objects differ in apiVersion only', async (t) => {
  const { fixture, v1 } = await start(t)
  const other = new Versions(fixture, alike)
  const made = await other.make('a', { spec: { size: 1, tags: ['é'] } })
  const seen = await v1.ask('get', { name: 'a' })
  assert.equal(seen.text, made.text.replace('test.example/v1alpha1', 'test.example/v1'))
  const list = await other.ask('list', {})
  assert.equal(list.object.apiVersion, 'test.example/v1alpha1')
  const dry = await other.ask('create', { body: { metadata: { name: 'b' } }, query: { dryRun: 'All' } })
  assert.equal(dry.object.apiVersion, 'test.example/v1alpha1')
  const gone = await other.ask('delete', { name: 'a' })
  assert.equal(gone.object.apiVersion, 'test.example/v1alpha1')
})

void test('an object that is equal in both versions is parsed once per version, until it changes', async (t) => {
  const { fixture, v1 } = await start(t)
  for (const name of ['a', 'b']) await v1.make(name, { spec: { size: 1 } })
  await v1.make('more', { spec: { size: 1, tags: ['x'] } })
  let read = 0
  const withoutTags = (object: AnyObject): AnyObject => {
    read++
    const inner = object['spec']
    if (!isJsonObject(inner) || memberOf(inner, 'tags') === undefined) return object
    return { ...object, spec: { size: memberOf(inner, 'size') ?? 0 } }
  }
  const conversion = { toStored: (object: AnyObject) => object, fromStored: withoutTags }
  for (const [at, version] of ['v1', 'v2'].entries()) {
    const requested = new Versions(fixture, { ...gadget, version, storedAs: { name: 'v1', conversion } })
    const reads: number[] = []
    let first = ''
    for (const patched of [null, null, 'b']) {
      if (patched !== null) await v1.ask('patch', { name: patched, ...merge({ spec: { size: 2 + at } }) })
      read = 0
      const { text, object } = await requested.ask('list', {})
      reads.push(read)
      first ||= text
      if (patched === null) assert.equal(text, first)
      assert.equal(object.apiVersion, `test.example/${version}`)
      assert.ok(!text.includes('"tags"'))
    }
    // A converted object is converted again by each read.
    assert.deepEqual(reads, [3, 1, 2], version)
  }
})

function merge(body: JsonObject): Call {
  return { body, contentType: 'application/merge-patch+json' }
}

void test('a list converts each object once, also one that does not fit in the rest of a piece', async (t) => {
  const { fixture, v1 } = await start(t)
  for (let at = 1; at < 10; at++) {
    await v1.make(`o${at}`, { spec: { size: at, tags: ['x'.repeat(at * 10_000)] } })
  }
  const converted: Json[] = []
  const counting = (object: AnyObject): AnyObject => {
    converted.push(memberOf(object['spec'] as JsonObject, 'size') ?? null)
    return fromStored(object)
  }
  const conversion = { toStored, fromStored: counting }
  const counted = new Versions(fixture, { ...older, storedAs: { name: 'v1', conversion } })
  const { items } = (await counted.ask('list', {})).object as unknown as List
  const sizes = items.map(({ words }) => JSON.stringify(words).length - '[""]'.length)
  const each = Array.from({ length: 9 }, (_, at) => at + 1)
  assert.deepEqual([sizes, converted], [each.map((at) => at * 10_000), each])
})

void test('two groups share one store: what one writes, the other reads, lists, watches, pages and deletes', async (t) => {
  const { fixture, v1 } = await start(t)
  const other = new Versions(fixture, elsewhere)
  const watches = [await v1.watch({}), await other.watch({})]
  for (const [at, name] of ['a', 'b', 'c'].entries()) await other.make(name, { amount: at + 1, words: [] })
  const seen = await v1.ask('get', { name: 'b' })
  assert.deepEqual(shape(seen), inV1(2, []))
  assert.equal((await refused(v1.make('b', {}))).code, 409)
  await v1.ask('patch', {
    name: 'b',
    body: { spec: { size: 5 } },
    contentType: 'application/merge-patch+json',
  })
  assert.equal((await other.ask('get', { name: 'b' })).object['amount'], 5)
  const list = (await other.ask('list', { query: { limit: '2' } })).object as unknown as List
  assert.equal(list.apiVersion, 'other.example/v2')
  const query = { limit: '2', continue: list.metadata.continue ?? '' }
  const rest = (await v1.ask('list', { query })).object as unknown as List
  assert.deepEqual(
    [...list.items, ...rest.items].map(({ metadata }) => metadata.name),
    ['a', 'b', 'c'],
  )
  const odd = await other.ask('list', { query: { fieldSelector: 'parity=odd' } })
  assert.equal((odd.object['items'] as readonly Json[]).length, 3)
  const even = await other.ask('list', { query: { fieldSelector: 'parity=even' } })
  assert.deepEqual(even.object['items'], [])
  await v1.ask('delete', { name: 'a' })
  await other.ask('delete', { name: 'c' })
  assert.equal((await refused(other.ask('get', { name: 'a' }))).code, 404)
  const [core, far] = [await watches[0]?.now(), await watches[1]?.now()]
  const reported = (events: typeof core): readonly string[] =>
    (events ?? []).map(({ type, object }) => `${type} ${object.apiVersion} ${object.metadata.name}`)
  const words = ['ADDED a', 'ADDED b', 'ADDED c', 'MODIFIED b', 'DELETED a', 'DELETED c']
  for (const [events, version] of [
    [core, 'test.example/v1'],
    [far, 'other.example/v2'],
  ] as const) {
    assert.deepEqual(
      reported(events),
      words.map((word) => word.replace(' ', ` ${version} `)),
    )
  }
  const prefix = prefixOf({ group: 'other.example', plural: 'gadgets', namespace: null })
  assert.equal(fixture.store.view().count(prefix), 0)
})

void test(`random objects convert to the other version and back without loss, seed ${seed}`, async (t) => {
  const { fixture, v1, beta } = await start(t)
  const random = new SeededRandom(seed)
  const other = new Versions(fixture, alike)
  const again = `SEED=${seed} node --test dist/test/unit/src/registry/kinds/stored-version.test.js`
  for (let round = 0; round < 60; round++) {
    const count = random.below(1000)
    const words = Array.from({ length: random.below(4) }, () => WORDS[random.below(WORDS.length)] as string)
    const name = `o${round}`
    const writer = [v1, beta, other][random.below(3)] as Versions
    const body = writer === beta ? { amount: count, words } : { spec: { size: count, tags: words } }
    const labels = random.below(2) === 0 ? {} : { labels: { 'a.b/c': 'd' } }
    await writer.ask('create', { body: { metadata: { name, ...labels }, ...body } })
    const [one, two] = [await v1.ask('get', { name }), await beta.ask('get', { name })]
    assert.deepEqual(shape(one), inV1(count, words), again)
    assert.deepEqual(shape(two), inBeta(count, words), again)
    assert.deepEqual(one.object.metadata, two.object.metadata, again)
  }
})

const WORDS = ['', 'a', '"', '\\', '\u0000', 'é', '😀', '"resourceVersion":""', '{"kind":', '\u2028']
