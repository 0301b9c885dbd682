/*
 * Goal: each event is converted once per form, long lists are buffered within limits and yield, and
 * conversions show the stored objects.
 * Method: the verbs over the shipped machine, with small limits and a clock that counts turns.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { JsonObject } from '../../../../../src/api/json.ts'
import { statusSchema, wholeObject } from '../../../../../src/api/schema/shared.ts'
import type { VerbResponse } from '../../../../../src/registry/calls/verb.ts'
import { ByteBudget } from '../../../../../src/registry/shared/byte-budget.ts'
import { defaultRegistryLimits } from '../../../../../src/registry/shared/registry-limits.ts'
import type { RegistryLimits } from '../../../../../src/registry/shared/registry-limits.ts'
import { protobufPieces } from '../../../../../src/registry/reading/protobuf-pieces.ts'
import type { Representation } from '../../../../../src/registry/representations/representation.ts'
import { STORED_FORM } from '../../../../../src/registry/representations/representation.ts'
import { prefixOf } from '../../../../../src/store/key.ts'
import { eventsAs, listSchema, readAs } from '../../../../support/drivers/representations.ts'
import type { SeenEvent } from '../../../../support/drivers/representations.ts'
import { Fixture } from '../fixture.ts'
import type { Call } from '../fixture.ts'

const PARTIAL = { as: 'partial', apiVersion: 'meta.k8s.io/v1' } as const
const FORMS: readonly Representation[] = (['json', 'yaml', 'protobuf'] as const).flatMap((encoding) => [
  { as: 'object', encoding },
  { ...PARTIAL, encoding },
])

async function open(t: TestContext, limits: Partial<RegistryLimits> = {}): Promise<Fixture> {
  const fixture = await Fixture.open({ limits })
  t.after(() => fixture.close())
  return fixture
}

function asked(api: Fixture, representation: Representation, call: Call = {}) {
  return { ...api.request(call), representation }
}

function schemaIn(api: Fixture) {
  return wholeObject(api.definition('ConfigMap').schema)
}

async function piecesOf(answer: VerbResponse): Promise<readonly Uint8Array[]> {
  assert.ok(answer.kind === 'pieces')
  const pieces: Uint8Array[] = []
  for await (const piece of answer.pieces as AsyncIterable<Uint8Array>) pieces.push(piece)
  return pieces
}

async function pieceOf(answer: VerbResponse): Promise<Uint8Array> {
  assert.ok(answer.kind === 'watch')
  const piece = await answer.stream.next()
  answer.stream.close()
  return piece ?? assert.fail('the watch has ended')
}

void test('an event is converted once for all watches of one form', async (t) => {
  const api = await open(t)
  const { object } = await api.configMap('a', { data: { k: 'v' } })
  const query = { resourceVersion: object.metadata.resourceVersion }
  await api.patch({ name: 'a', body: { data: { k: 'w' } } })
  const seen = new Set<Uint8Array>()
  for (const form of FORMS) {
    const first = await pieceOf(await api.registry.watch(asked(api, form, { query })))
    const second = await pieceOf(await api.registry.watch(asked(api, form, { query })))
    assert.equal(first, second, `${form.as} ${form.encoding}`)
    seen.add(first)
    const [event] = eventsAs(form.encoding, () => schemaIn(api), first)
    const { kind, metadata } = event?.object ?? {}
    assert.equal(event?.type, 'MODIFIED')
    assert.equal(kind, form.as === 'partial' ? 'PartialObjectMetadata' : 'ConfigMap')
    assert.equal((metadata as { name?: string }).name, 'a')
    assert.deepEqual(event?.object['data'], form.as === 'partial' ? undefined : { k: 'w' })
  }
  assert.equal(seen.size, FORMS.length)
})

void test('a bookmark has its revision, and an ERROR event its reason', async (t) => {
  const api = await open(t)
  for (const form of FORMS) {
    const query = {
      watch: 'true',
      allowWatchBookmarks: 'true',
      sendInitialEvents: 'true',
      resourceVersionMatch: 'NotOlderThan',
    }
    const answer = await api.registry.watch(asked(api, form, { query }))
    assert.ok(answer.kind === 'watch')
    const reported: SeenEvent[] = []
    const pull = async (): Promise<void> => {
      for (let piece = await answer.stream.next(); piece?.length; piece = await answer.stream.next()) {
        reported.push(
          ...eventsAs(form.encoding, (kind) => (kind === 'Status' ? statusSchema : schemaIn(api)), piece),
        )
      }
    }
    await pull()
    const { revision } = api.store.view()
    for (const name of ['a', 'b']) await api.configMap(name)
    await api.trim()
    await pull()
    const [bookmark, error, ...none] = reported
    assert.deepEqual(none, [])
    const kind = form.as === 'partial' ? 'PartialObjectMetadata' : 'ConfigMap'
    assert.deepEqual([bookmark?.type, bookmark?.object['kind']], ['BOOKMARK', kind])
    const { resourceVersion, annotations } = bookmark?.object['metadata'] as JsonObject
    assert.deepEqual(
      [resourceVersion, annotations],
      [String(revision), { 'orch.io/initial-events-end': 'true' }],
    )
    assert.deepEqual([error?.type, error?.object['kind']], ['ERROR', 'Status'])
    assert.deepEqual([error?.object['code'], error?.object['reason']], [410, 'Expired'])
    await api.deleteCollection({})
  }
})

void test('a protobuf list is the same message however little of it is buffered', async (t) => {
  let known: Buffer | null = null
  const { heldBytesMax: most, heldBytesTotalMax: all } = defaultRegistryLimits
  for (const [heldBytesMax, heldBytesTotalMax] of [
    ...[0, 1000, most].map((bytes) => [bytes, all] as const),
    ...[0, 1000].map((bytes) => [most, bytes] as const),
  ] as const) {
    const limits = { heldBytesMax, heldBytesTotalMax, pieceBytes: 500 }
    const api = await open(t, { ...limits, sliceObjectsMax: 4, readTurnBytes: 1000 })
    const names = Array.from({ length: 30 }, (_, at) => `m${String(at).padStart(2, '0')}`)
    for (const name of names) await api.configMap(name, { data: { text: name.repeat(30) } })
    const before = api.list({})
    const answer = await api.registry.list(asked(api, { as: 'object', encoding: 'protobuf' }))
    const pieces = await piecesOf(answer)
    assert.ok(pieces.length > 4 && pieces.every((piece) => piece.length < 1000))
    const list = readAs('protobuf', listSchema(schemaIn(api)), Buffer.concat(pieces))
    const { items, metadata } = await before
    assert.equal(list['kind'], 'ConfigMapList')
    assert.deepEqual(list['metadata'], metadata)
    const reported = list['items'] as unknown as typeof items
    assert.deepEqual(
      reported.map(({ metadata: { name, resourceVersion, uid }, ...rest }) => [
        name,
        resourceVersion,
        uid,
        rest['data'],
      ]),
      items.map(({ metadata: { name, resourceVersion, uid }, ...rest }) => [
        name,
        resourceVersion,
        uid,
        rest['data'],
      ]),
    )
    known ??= Buffer.concat(pieces)
    assert.ok(known.equals(Buffer.concat(pieces)))
  }
})

void test('protobuf lists share one byte budget, and release it however they end', async (t) => {
  const api = await open(t)
  for (let at = 0; at < 20; at++) await api.configMap(`m${at}`, { data: { text: 'x'.repeat(200) } })
  const byteBudget = new ByteBudget(10_000)
  const schema = schemaIn(api)
  let encoded = 0
  const form = {
    ...{ schema, type: { apiVersion: 'v1', kind: 'ConfigMap' } },
    listType: { apiVersion: 'v1', kind: 'ConfigMapList' },
    shown: (object: JsonObject) => {
      encoded++
      return object
    },
  }
  const { objects } = api.store.view().list(configMaps, { after: null, limit: null })
  const limits = { ...defaultRegistryLimits, pieceBytes: 500 }
  const begin = (): AsyncGenerator<Uint8Array, void> =>
    protobufPieces(form, {}, [objects], { clock: api.clock, limits, byteBudget })
  const first = begin()
  await first.next()
  const taken = byteBudget.bytes
  assert.ok(encoded === 20 && taken > 20 * 200 && taken < 10_000, `${taken}`)
  await first.next()
  assert.ok(byteBudget.bytes < taken, 'what left is given back')
  const second = begin()
  encoded = 0
  for await (const piece of second) assert.ok(piece.length > 0)
  assert.ok(encoded > 20 && encoded < 40, 'some fitted')
  const third = begin()
  await third.next()
  await first.return()
  await third.return()
  assert.equal(byteBudget.bytes, 0)
  const whole: Uint8Array[] = []
  encoded = 0
  for await (const piece of begin()) whole.push(piece)
  assert.deepEqual([encoded, byteBudget.bytes], [20, 0])
  const failing = protobufPieces({ ...form, shown: fails }, {}, [objects], {
    clock: api.clock,
    limits,
    byteBudget,
  })
  await assert.rejects(() => failing.next())
  assert.equal(byteBudget.bytes, 0)
})

const configMaps = prefixOf({ group: '', plural: 'configmaps', namespace: null })

function fails(): never {
  throw new Error('no')
}

void test('a protobuf list shows one revision, whatever changes while it is sent', async (t) => {
  const api = await open(t, { heldBytesMax: 300, sliceObjectsMax: 2, pieceBytes: 100 })
  for (const name of ['a', 'b', 'c', 'd', 'e']) await api.configMap(name, { data: { k: 'old' } })
  const answer = await api.registry.list(asked(api, { as: 'object', encoding: 'protobuf' }))
  assert.ok(answer.kind === 'pieces')
  const pieces: Uint8Array[] = []
  for await (const piece of answer.pieces as AsyncIterable<Uint8Array>) {
    if (pieces.length === 0) {
      await api.patch({ name: 'e', body: { data: { k: 'a longer one' } } })
      await api.delete({ name: 'd' })
    }
    pieces.push(piece)
  }
  const list = readAs('protobuf', listSchema(schemaIn(api)), Buffer.concat(pieces))
  const items = list['items'] as readonly { readonly data: unknown }[]
  assert.deepEqual(
    items.map(({ data }) => data),
    Array.from({ length: 5 }, () => ({ k: 'old' })),
  )
})

void test('parsing objects for lists and initial events yields', async (t) => {
  const api = await open(t, { readTurnBytes: 10_000 })
  for (let at = 0; at < 20; at++) await api.configMap(`m${at}`, { data: { text: 'x'.repeat(5000) } })
  let turns = 0
  let waiting = 0
  const { clock } = api
  const soon = clock.soon.bind(clock)
  clock.soon = (action) => {
    turns++
    waiting++
    assert.equal(waiting, 1, 'nothing is parsed until the other turns have ended')
    soon(() => {
      waiting--
      action()
    })
  }
  for (const form of FORMS) {
    turns = 0
    const pieces = await piecesOf(await api.registry.list(asked(api, form)))
    assert.ok(form.as === STORED_FORM.as && form.encoding === 'json' ? turns === 0 : turns >= 6, `${turns}`)
    assert.ok(pieces.length > 0)
    if (form.as === 'object') continue
    turns = 0
    const watch = await api.registry.watch(asked(api, form))
    assert.ok(watch.kind === 'watch')
    let events = 0
    while (events < 20) {
      const piece = (await watch.stream.next()) ?? assert.fail('it goes on')
      events += eventsAs(form.encoding, () => schemaIn(api), piece).length
    }
    watch.stream.close()
    assert.ok(turns >= 6, `${turns} turns for first events of 100 kB`)
  }
})

void test('a response without an object is a Status in the requested encoding', async (t) => {
  const api = await open(t)
  for (const form of FORMS) {
    await api.configMap('a')
    const gone = await api.registry.delete(asked(api, form, { name: 'a' }))
    assert.ok(gone.kind === 'document')
    const all = await api.registry.deleteCollection(asked(api, form))
    assert.ok(all.kind === 'document')
    for (const { bytes } of [gone, all]) {
      const status = readAs(form.encoding, statusSchema, bytes)
      assert.deepEqual([status['kind'], status['apiVersion'], status['status']], ['Status', 'v1', 'Success'])
    }
  }
})
