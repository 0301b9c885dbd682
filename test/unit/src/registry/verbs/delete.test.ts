/*
 * Goal: deletion as in spec 3.1, with preconditions, and of whole collections.
 * Method: the shipped verbs on the state machine in memory.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ObjectStore } from '../../../../../src/store/object-store.ts'
import { allConfigMaps } from '../../../../../fixtures/store-kit.ts'
import type { TestContext } from 'node:test'
import { numberMember } from '../../../../../src/api/json.ts'
import { namesOf } from '../../../../../src/api/metadata/names.ts'
import type { ResourceDefinition } from '../../../../../src/registry/kinds/definition.ts'
import { configMapDefinition } from '../../../../../src/resources/config-map.ts'
import { Fixture, causes, details, refused } from '../fixture.ts'
import type { Got } from '../fixture.ts'

void test('spec 3.1, 4.4: without finalizers the object is removed, and the response is a Status', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const { object } = await api.configMap('a')
  const got = await api.delete({ name: 'a' })
  assert.equal(got.code, 200)
  assert.deepEqual(got.object, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { name: 'a', kind: 'configmaps', uid: object.metadata.uid },
  })
  assert.equal((await refused(api.get({ name: 'a' }))).code, 404)
  assert.equal((await refused(api.delete({ name: 'a' }))).code, 404)
})

void test('spec 3.1: finalizers hold a deleted object until the last is removed', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  await api.configMap('a', { metadata: { finalizers: ['x.io/a', 'x.io/b'] } })
  const events = await api.watch({})
  await events.now()
  const marked = await api.delete({ name: 'a' })
  assert.equal(marked.code, 202)
  assert.equal(marked.object.metadata.deletionTimestamp, '2026-01-02T03:04:05Z')
  api.clock.advance(5000)
  const again = await api.delete({ name: 'a' })
  assert.deepEqual([again.code, again.object], [202, marked.object], 'nothing changes the second time')
  const reordered = await api.patch({ name: 'a', body: { metadata: { finalizers: ['x.io/b', 'x.io/a'] } } })
  assert.deepEqual(reordered.object.metadata.finalizers, ['x.io/b', 'x.io/a'])
  const added = await refused(
    api.patch({ name: 'a', body: { metadata: { finalizers: ['x.io/a', 'x.io/b', 'x.io/c'] } } }),
  )
  assert.deepEqual([added.code, ...causes(added)], [422, 'FieldValueForbidden metadata.finalizers'])
  await api.patch({ name: 'a', body: { metadata: { finalizers: ['x.io/a'] } } })
  const last = await api.patch({ name: 'a', body: { metadata: { finalizers: null } } })
  assert.equal(last.code, 200)
  assert.equal((await refused(api.get({ name: 'a' }))).code, 404)
  assert.deepEqual(await events.words(), ['MODIFIED a', 'MODIFIED a', 'MODIFIED a', 'DELETED a'])
  events.stream.close()
})

void test('preconditions on uid and version guard a deletion', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const { object } = await api.configMap('a')
  const { uid, resourceVersion } = object.metadata
  const options = { kind: 'DeleteOptions', apiVersion: 'v1' }
  const other = await refused(
    api.delete({ name: 'a', body: { ...options, preconditions: { uid: 'other' } } }),
  )
  assert.equal(other.code, 409)
  assert.match(other.message, /Precondition failed: UID in precondition: other, UID in object meta: /)
  const old = await refused(
    api.delete({ name: 'a', body: { ...options, preconditions: { resourceVersion: '1' } } }),
  )
  assert.equal(old.code, 409)
  assert.match(old.message, /ResourceVersion in precondition: 1, ResourceVersion in object meta: /)
  const got = await api.delete({ name: 'a', body: { ...options, preconditions: { uid, resourceVersion } } })
  assert.equal(got.code, 200)
})

void test('no object meets an empty precondition, and null is no precondition', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  await api.configMap('a')
  for (const preconditions of [{ uid: '' }, { resourceVersion: '' }]) {
    const seen = await refused(api.delete({ name: 'a', body: { preconditions } }))
    assert.equal(seen.code, 409)
    assert.match(seen.message, /Precondition failed: \w+ in precondition: , /)
  }
  const none = { uid: null, resourceVersion: null }
  assert.equal((await api.delete({ name: 'a', body: { preconditions: none } })).code, 200)
})

void test('a deletion warns of unknown options, and of options in the query if there is a body', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  await api.configMap('a')
  await api.delete({ name: 'a', body: { precondition: { uid: 'x' }, preconditions: { id: 'x' } } })
  assert.deepEqual(api.warnings.splice(0), [
    'unknown field "precondition"',
    'unknown field "preconditions.id"',
  ])
  await api.configMap('a')
  await api.delete({
    name: 'a',
    body: { kind: 'DeleteOptions', apiVersion: 'v1' },
    query: { propagationPolicy: 'Orphan', gracePeriodSeconds: '0', dryRun: 'All', pretty: 'true' },
  })
  assert.deepEqual(api.warnings.splice(0), [
    'the query parameter gracePeriodSeconds is ignored, because the request has a body: send it there',
    'the query parameter propagationPolicy is ignored, because the request has a body: send it there',
  ])
  await api.delete({ name: 'a', query: { propagationPolicy: 'Background' } })
  assert.deepEqual(api.warnings, [])
})

void test('spec 4.2: an object without finalizers is removed at once, with a grace period or the policy Background too', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const calls = [
    { query: { gracePeriodSeconds: '30' } },
    { query: { propagationPolicy: 'Background' } },
    { body: { propagationPolicy: 'Background', gracePeriodSeconds: 30 } },
    { body: { orphanDependents: false } },
  ]
  for (const call of calls) {
    await api.configMap('a')
    assert.equal((await api.delete({ name: 'a', ...call })).code, 200, JSON.stringify(call))
    assert.equal((await refused(api.get({ name: 'a' }))).code, 404)
  }
})

void test('spec 4.2: Foreground and Orphan keep the object by a finalizer; a later policy replaces it', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const calls = [
    [{ query: { propagationPolicy: 'Foreground' } }, 'foregroundDeletion'],
    [{ query: { orphanDependents: 'true' } }, 'orphan'],
    [{ body: { propagationPolicy: 'Orphan' } }, 'orphan'],
    [{ body: { propagationPolicy: 'Foreground', gracePeriodSeconds: 30 } }, 'foregroundDeletion'],
  ] as const
  for (const [call, finalizer] of calls) {
    await api.configMap('a')
    const dry = await api.delete({
      name: 'a',
      query: { ...('query' in call ? call.query : {}), dryRun: 'All' },
    })
    assert.ok(dry.code === 200 || dry.code === 202)
    assert.equal((await api.get({ name: 'a' })).object.metadata.deletionTimestamp, undefined)
    const { code, object } = await api.delete({ name: 'a', ...call })
    assert.equal(code, 202, JSON.stringify(call))
    assert.deepEqual(object.metadata.finalizers, [finalizer])
    assert.equal(typeof object.metadata.deletionTimestamp, 'string')
    const again = await api.delete({ name: 'a' })
    assert.deepEqual([again.code, again.object.metadata.finalizers], [202, [finalizer]])
    const other = finalizer === 'orphan' ? 'Foreground' : 'Orphan'
    const turned = await api.delete({ name: 'a', query: { propagationPolicy: other } })
    assert.notDeepEqual(turned.object.metadata.finalizers, [finalizer])
    assert.equal((await api.delete({ name: 'a', query: { propagationPolicy: 'Background' } })).code, 200)
    assert.equal((await refused(api.get({ name: 'a' }))).code, 404)
  }
})

/**
 * Opens a fixture with a kind that has grace periods.
 *
 * @returns a function that creates an object of the kind
 */
async function withSleepers(t: TestContext): Promise<(more?: object) => Promise<Got>> {
  const sleepers: ResourceDefinition = {
    ...configMapDefinition(namesOf('orch.io')),
    ...{ group: 'test.io', kind: 'Sleeper', plural: 'sleepers', tracksGeneration: true },
    hooks: {
      fillDefaults: (object) => ({ immutable: false, ...object }),
      gracePeriodSeconds: (_, requested) => requested ?? 30,
    },
  }
  api = await Fixture.open({ extra: [sleepers] })
  t.after(() => api.close())
  return (more = {}) =>
    api.create({ kind: 'Sleeper', body: { kind: 'Sleeper', metadata: { name: 'a', ...more } } })
}

let api: Fixture

const asleep = { kind: 'Sleeper', name: 'a' }

function seconds(period: number | string): { readonly query: { readonly gracePeriodSeconds: string } } {
  return { query: { gracePeriodSeconds: String(period) } }
}

/** Returns the response code, deletion time, grace period and generation. */
function ending({ code, object }: Got): readonly unknown[] {
  const { deletionTimestamp, generation } = object.metadata
  return [code, deletionTimestamp, numberMember(object.metadata, 'deletionGracePeriodSeconds'), generation]
}

void test('spec 3.1: an object with a grace period stays until it is deleted with a grace period of zero', async (t) => {
  const create = await withSleepers(t)
  assert.equal((await create()).object['immutable'], false, 'the default that a hook fills in')
  const marked = await api.delete(asleep)
  assert.deepEqual(ending(marked), [202, '2026-01-02T03:04:35Z', 30, 2])
  api.clock.advance(5000)
  assert.deepEqual(ending(await api.delete(asleep)), ending(marked), 'the first period goes on')
  assert.deepEqual(ending(await api.delete({ ...asleep, ...seconds(60) })), ending(marked), 'it never grows')
  const sooner = await api.delete({ ...asleep, ...seconds(10) })
  assert.deepEqual(ending(sooner), [202, '2026-01-02T03:04:15Z', 10, 2], 'counted from the first deletion')
  const labelled = await api.patch({ ...asleep, body: { metadata: { labels: { a: 'b' } } } })
  assert.equal(labelled.object.metadata.deletionTimestamp, '2026-01-02T03:04:15Z', 'a write does not end it')
  assert.equal((await api.delete({ ...asleep, ...seconds(0) })).code, 200)
  assert.equal((await refused(api.get(asleep))).code, 404)
})

void test('a grace period of zero removes at once, a negative one is one second, and all are bounded', async (t) => {
  const create = await withSleepers(t)
  await create()
  assert.equal((await api.delete({ ...asleep, body: { gracePeriodSeconds: 0 } })).code, 200)
  await create()
  assert.deepEqual(ending(await api.delete({ ...asleep, body: { gracePeriodSeconds: -5 } })), [
    ...[202, '2026-01-02T03:04:06Z', 1, 2],
  ])
  await api.delete({ ...asleep, ...seconds(0) })
  await create()
  const long = await api.delete({ ...asleep, ...seconds(Number.MAX_SAFE_INTEGER) })
  assert.deepEqual(ending(long), [202, '2094-01-20T06:18:12Z', 2 ** 31 - 1, 2])
})

void test('finalizers keep an object after its grace period, and the grace period one without finalizers', async (t) => {
  const create = await withSleepers(t)
  await create({ finalizers: ['x.io/a'] })
  await api.delete(asleep)
  const free = await api.patch({ ...asleep, body: { metadata: { finalizers: null } } })
  assert.deepEqual(ending(free), [200, '2026-01-02T03:04:35Z', 30, 2])
  await api.delete({ ...asleep, ...seconds(0) })
  await create({ finalizers: ['x.io/a'] })
  const now = await api.delete({ ...asleep, ...seconds(0) })
  assert.deepEqual(ending(now), [202, '2026-01-02T03:04:05Z', 0, 2])
  await api.patch({ ...asleep, body: { metadata: { finalizers: null } } })
  assert.equal((await refused(api.get(asleep))).code, 404)
})

void test('spec 4.2: malformed options of a deletion are 400, unsupported ones 422, and delete nothing', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  await api.configMap('a')
  const calls = [
    [{ query: { gracePeriodSeconds: 'soon' } }, 400],
    [{ query: { propagationPolicy: 'Sideways' } }, 422],
    [{ query: { dryRun: 'Some' } }, 422],
    [{ body: { propagationPolicy: 'Sideways' } }, 422],
    [{ body: { propagationPolicy: 'Orphan', orphanDependents: true } }, 422],
    [{ body: { dryRun: ['Some'] } }, 422],
    [{ body: { kind: 'ConfigMap' } }, 400],
    [{ body: { gracePeriodSeconds: '1' } }, 400],
  ] as const
  for (const [call, code] of calls) {
    const seen = await refused(api.delete({ name: 'a', ...call }))
    assert.equal(seen.code, code, JSON.stringify(call))
  }
  assert.equal((await api.get({ name: 'a' })).code, 200)
})

void test('delete options have kind DeleteOptions and a known version, in both domains', async (t) => {
  for (const domain of ['orch.io', 'k8s.io'] as const) {
    const api = await Fixture.open({ domain })
    t.after(() => api.close())
    await api.create({ kind: 'Lease', body: { metadata: { name: 'a' } } })
    for (const [kind, apiVersion] of [
      ['DeleteOptions', 'bogus/v1'],
      ['DeleteOptions', 'v2'],
      ['DeleteOptions', 'meta.k8s.io/v2'],
      ['Lease', `coordination.${domain}/v1`],
    ] as const) {
      const body = { kind, apiVersion }
      for (const call of [
        api.delete({ kind: 'Lease', name: 'a', body }),
        api.deleteCollection({ kind: 'Lease', body }),
      ]) {
        const seen = await refused(call)
        assert.deepEqual([seen.code, seen.reason], [400, 'BadRequest'], JSON.stringify(body))
      }
    }
    for (const apiVersion of ['v1', 'meta.k8s.io/v1', `meta.${domain}/v1`, `coordination.${domain}/v1`]) {
      const body = { kind: 'DeleteOptions', apiVersion }
      assert.equal((await api.delete({ kind: 'Lease', name: 'a', body })).code, 200, apiVersion)
      await api.create({ kind: 'Lease', body: { metadata: { name: 'a' } } })
    }
    assert.equal((await api.delete({ kind: 'Lease', name: 'a', body: {} })).code, 200)
  }
})

void test('spec 4.9: a dry run of a deletion, requested by query or body, deletes nothing', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  await api.configMap('a')
  await api.configMap('b', { metadata: { finalizers: ['x.io/a'] } })
  const before = api.store.view().revision
  assert.equal((await api.delete({ name: 'a', query: { dryRun: 'All' } })).code, 200)
  assert.equal((await api.delete({ name: 'a', body: { dryRun: ['All'] } })).code, 200)
  assert.equal((await api.delete({ name: 'a', query: { dryRun: 'All' }, body: {} })).code, 200)
  const held = await api.delete({ name: 'b', query: { dryRun: 'All' } })
  assert.equal(held.code, 202)
  assert.ok(held.object.metadata.deletionTimestamp)
  assert.equal((await api.deleteCollection({ query: { dryRun: 'All' } })).code, 200)
  assert.equal(api.store.view().revision, before)
})

void test('spec 4.2: deletecollection deletes the selected objects and returns 200 with a Status', async (t) => {
  const api = await Fixture.open({ limits: { deleteCollectionAtOnce: 3 } })
  t.after(() => api.close())
  for (let at = 0; at < 10; at++) {
    await api.configMap(`a${at}`, { metadata: { labels: { odd: String(at % 2 === 1) } } })
  }
  await api.configMap('held', { metadata: { finalizers: ['x.io/a'], labels: { odd: 'true' } } })
  const got = await api.deleteCollection({ query: { labelSelector: 'odd=true' } })
  assert.equal(got.code, 200)
  assert.equal(got.object.kind, 'Status')
  assert.equal(got.object['status'], 'Success')
  const left = await api.list({})
  assert.deepEqual(
    left.items.map(({ metadata }) => metadata.name),
    ['a0', 'a2', 'a4', 'a6', 'a8', 'held'],
  )
  assert.ok(left.items.at(-1)?.metadata.deletionTimestamp)
  await api.deleteCollection({ query: { fieldSelector: 'metadata.name=a4' } })
  await api.deleteCollection({ query: { limit: '2' } })
  assert.equal((await api.list({})).items.length, 3)
  assert.equal((await refused(api.deleteCollection({ query: { labelSelector: 'a=b=c' } }))).code, 400)
})

void test('spec 4.2: deletecollection deletes the objects that a list with the same parameters returns', async (t) => {
  const api = await Fixture.open({ limits: { deleteCollectionAtOnce: 2 } })
  t.after(() => api.close())
  const left = async (): Promise<readonly string[]> =>
    (await api.list({})).items.map(({ metadata }) => metadata.name)
  const metadata = { labels: { of: 'test' } }
  for (const name of ['a', 'b', 'c', 'd', 'e']) await api.configMap(name, { metadata })
  const query = { labelSelector: 'of=test' }
  const then = String(api.store.view().revision)
  const token = (await api.list({ query: { ...query, limit: '3' } })).metadata.continue ?? ''
  await api.configMap('late', { metadata })
  const refusedOnes: readonly (readonly [Record<string, string>, number])[] = [
    [{ ...query, continue: 'made-up' }, 400],
    [{ continue: token }, 400],
    [{ ...query, resourceVersion: 'x' }, 400],
    [{ ...query, resourceVersionMatch: 'Exact' }, 400],
  ]
  for (const [wrong, code] of refusedOnes)
    assert.equal((await refused(api.deleteCollection({ query: wrong }))).code, code, JSON.stringify(wrong))
  const early = api.deleteCollection({ query: { ...query, resourceVersion: String(Number(then) + 50) } })
  setImmediate(() => api.clock.advance(3000))
  assert.equal((await refused(early)).code, 504)
  assert.deepEqual(await left(), ['a', 'b', 'c', 'd', 'e', 'late'], 'what was refused deleted nothing')
  await api.deleteCollection({ query: { ...query, continue: token } })
  assert.deepEqual(await left(), ['a', 'b', 'c', 'late'])
  await api.deleteCollection({ query: { ...query, resourceVersion: then, resourceVersionMatch: 'Exact' } })
  assert.deepEqual(await left(), ['late'])
  await api.deleteCollection({ query: { resourceVersion: then } })
  assert.deepEqual(await left(), [])
})

void test('verbs that a kind does not have are 405', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const seen = await refused(api.deleteCollection({ kind: 'Namespace' }))
  assert.equal(seen.code, 405)
  assert.deepEqual(details(seen), { kind: 'namespaces' })
})

/** Returns the store with writes that take a turn of the event loop. */
function slowWrites(store: ObjectStore): ObjectStore {
  const write: ObjectStore['write'] = async (command, deadlineMs) => {
    await new Promise((resolve) => setImmediate(resolve))
    return store.write(command, deadlineMs)
  }
  return new Proxy(store, {
    get: (target, name) => {
      if (name === 'write') return write
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? (value as () => unknown).bind(target) : value
    },
  })
}

void test('deletecollection responds once the objects are deleted', async (t) => {
  const api = await Fixture.open({ wrap: slowWrites })
  t.after(() => api.close())
  for (let at = 0; at < 3; at++) await api.configMap(`a${at}`)
  await api.deleteCollection({})
  const { objects } = api.store.view().list(allConfigMaps, { after: null, limit: null })
  assert.deepEqual(objects, [])
})
