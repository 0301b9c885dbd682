/*
 * Goal: nothing is refused because of stale memory: a refusal, a dry run or "unchanged" counts only
 * after a barrier and another evaluation; errors of the store are converted correctly.
 * Method: a store that is stale until a barrier, or fails as the real one.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StoreError } from '../../../../../src/store/store-errors.ts'
import type { Key } from '../../../../../src/store/key.ts'
import { LaggingStore } from '../lagging-store.ts'
import { Fixture, causes, details, refused } from '../fixture.ts'

async function openBehind(): Promise<{ readonly api: Fixture; readonly store: LaggingStore }> {
  let store: LaggingStore | null = null
  const api = await Fixture.open({
    wrap: (real) => {
      store = new LaggingStore(real)
      return store
    },
  })
  assert.ok(store !== null)
  return { api, store }
}

const configMap = (name: string) => `/configmaps/default/${name}` as Key
const namespace = (name: string) => `/namespaces//${name}` as Key

void test('an object missing in stale memory is not 404 for patch, update and delete', async (t) => {
  const { api, store } = await openBehind()
  t.after(() => api.close())
  for (const verb of ['patch', 'update', 'delete'] as const) {
    const { object } = await api.configMap(verb)
    store.old.set(configMap(verb), null)
    const { uid } = object.metadata
    const call = {
      patch: () => api.patch({ name: verb, body: { data: { k: 'v' } } }),
      update: () => api.update({ name: verb, body: { metadata: { name: verb, uid }, data: { k: 'v' } } }),
      delete: () => api.delete({ name: verb }),
    }[verb]
    assert.equal((await call()).code, 200, verb)
  }
})

void test('a stale version is not a Conflict', async (t) => {
  const { api, store } = await openBehind()
  t.after(() => api.close())
  await api.configMap('a')
  store.old.set(configMap('a'), store.view().get(configMap('a')))
  const { object } = await api.patch({ name: 'a', body: { data: { k: '1' } } })
  store.old.set(configMap('a'), store.view().get(configMap('a')))
  const newer = await api.patch({ name: 'a', body: { data: { k: '2' } } })
  assert.notEqual(newer.object.metadata.resourceVersion, object.metadata.resourceVersion)
})

void test('a Conflict on stale memory is evaluated again', async (t) => {
  const { api, store } = await openBehind()
  t.after(() => api.close())
  await api.configMap('a')
  const old = store.view().get(configMap('a'))
  const { object } = await api.patch({ name: 'a', body: { data: { k: '1' } } })
  store.old.set(configMap('a'), old)
  const { resourceVersion } = object.metadata
  const got = await api.update({
    name: 'a',
    body: { metadata: { name: 'a', resourceVersion }, data: { k: '2' } },
  })
  assert.deepEqual(got.object['data'], { k: '2' })
})

void test('an object deleted elsewhere can be created again on stale memory', async (t) => {
  const { api, store } = await openBehind()
  t.after(() => api.close())
  await api.configMap('a')
  const old = store.view().get(configMap('a'))
  await api.delete({ name: 'a' })
  store.old.set(configMap('a'), old)
  assert.equal((await api.configMap('a')).code, 201)
})

void test('a namespace missing in stale memory accepts objects', async (t) => {
  const { api, store } = await openBehind()
  t.after(() => api.close())
  await api.create({ kind: 'Namespace', body: { metadata: { name: 'n' } } })
  store.old.set(namespace('n'), null)
  const made = await api.create({ namespace: 'n', body: { metadata: { name: 'a' } } })
  assert.equal(made.code, 201)
})

void test('a namespace deleted between evaluation and apply accepts nothing', async (t) => {
  const { api, store } = await openBehind()
  t.after(() => api.close())
  await api.create({ kind: 'Namespace', body: { metadata: { name: 'n' } } })
  const active = store.view().get(namespace('n'))
  await api.delete({ kind: 'Namespace', name: 'n' })
  store.old.set(namespace('n'), active)
  const seen = await refused(api.create({ namespace: 'n', body: { metadata: { name: 'a' } } }))
  assert.equal(seen.code, 403)
  assert.match(seen.message, /because it is being terminated$/)
})

void test('"unchanged" and a dry run on stale memory are evaluated again', async (t) => {
  const { api, store } = await openBehind()
  t.after(() => api.close())
  await api.configMap('a', { data: { k: '1' } })
  const old = store.view().get(configMap('a'))
  await api.patch({ name: 'a', body: { data: { k: '2' } } })
  store.old.set(configMap('a'), old)
  const got = await api.patch({ name: 'a', body: { data: { k: '1' } } })
  assert.deepEqual(got.object['data'], { k: '1' })
  assert.deepEqual((await api.get({ name: 'a' })).object['data'], { k: '1' })
  store.old.set(configMap('a'), old)
  const dry = await api.patch({
    name: 'a',
    body: { metadata: { labels: { a: 'b' } } },
    query: { dryRun: 'All' },
  })
  assert.equal(dry.object.metadata.resourceVersion, got.object.metadata.resourceVersion)
})

void test('a failed test of a JSON patch on stale memory is evaluated again', async (t) => {
  const { api, store } = await openBehind()
  t.after(() => api.close())
  await api.configMap('a', { data: { k: '1' } })
  const old = store.view().get(configMap('a'))
  await api.patch({ name: 'a', body: { data: { k: '2' } } })
  store.old.set(configMap('a'), old)
  const body = [
    { op: 'test', path: '/data/k', value: '2' },
    { op: 'add', path: '/data/l', value: '1' },
  ]
  const got = await api.patch({ name: 'a', contentType: 'application/json-patch+json', body })
  assert.deepEqual(got.object['data'], { k: '2', l: '1' })
})

void test('a successful write needs no barrier; a refusal needs one', async (t) => {
  const { api, store } = await openBehind()
  t.after(() => api.close())
  await api.configMap('a')
  await api.patch({ name: 'a', body: { data: { k: '1' } } })
  await api.delete({ name: 'a' })
  assert.deepEqual([store.barriers, store.commands], [0, 3])
  await refused(api.delete({ name: 'a' }))
  assert.deepEqual([store.barriers, store.commands], [1, 3])
})

void test('without a quorum the response is 504 instead of a refusal', async (t) => {
  const { api, store } = await openBehind()
  t.after(() => api.close())
  store.barrierFails = new StoreError('timed-out', 'no quorum')
  for (const call of [api.delete({ name: 'a' }), api.get({ name: 'a' }), api.list({})]) {
    const seen = await refused(call)
    assert.equal(seen.code, 504)
    assert.equal(details(seen)['retryAfterSeconds'], undefined)
  }
  const unread = 'Timeout: no quorum answered in time: this member cannot confirm the newest state'
  for (const read of [api.get({ name: 'a' }), api.list({}), api.watch({})])
    assert.equal((await refused(read)).message, unread)
  assert.match((await refused(api.delete({ name: 'a' }))).message, /in time, nothing was changed$/)
  store.barrierFails = new StoreError('stopped', 'x')
  assert.match((await refused(api.get({ name: 'a' }))).message, /shutting down: ask another member$/)
  store.barrierFails = new StoreError('timed-out', 'no quorum')
  assert.equal((await refused(api.get({ name: 'a', query: { resourceVersion: '0' } }))).code, 404)
})

void test('an error of the store becomes an API error that states whether the write may have been applied', async (t) => {
  const { api, store } = await openBehind()
  t.after(() => api.close())
  const rows: readonly (readonly [StoreError, number, string, number | undefined])[] = [
    [new StoreError('overloaded', 'x'), 429, 'TooManyRequests', 1],
    [new StoreError('timed-out', 'x'), 504, 'Timeout', undefined],
    [new StoreError('timed-out', 'x', { applied: 'unknown' }), 504, 'Timeout', undefined],
    [new StoreError('stopped', 'x'), 503, 'ServiceUnavailable', 1],
    [new StoreError('stopped', 'x', { applied: 'unknown' }), 504, 'Timeout', undefined],
    [new StoreError('too-large', 'x'), 413, 'RequestEntityTooLarge', undefined],
  ]
  for (const [failure, code, reason, retry] of rows) {
    store.writeFails = failure
    const seen = await refused(api.configMap('a'))
    assert.deepEqual([seen.code, seen.reason, details(seen)['retryAfterSeconds']], [code, reason, retry])
    assert.equal(/unknown/.test(seen.message), failure.applied === 'unknown', seen.message)
    const outcome = failure.applied === 'unknown' ? ['OutcomeUnknown '] : ['NotApplied ']
    assert.deepEqual(causes(seen), code >= 500 ? outcome : [], 'causes of the error')
  }
})

void test('a deletecollection that deleted some objects does not report that nothing changed', async (t) => {
  const { api, store } = await openBehind()
  t.after(() => api.close())
  for (const name of ['a', 'b', 'c']) await api.configMap(name)
  store.writesUntilFailure = 2
  store.writeFails = new StoreError('timed-out', 'no quorum')
  const seen = await refused(api.deleteCollection({}))
  assert.deepEqual([seen.code, ...causes(seen)], [504, 'OutcomeUnknown '])
  assert.match(seen.message, /^Timeout: 2 objects were deleted, the others may have been/)
  const none = await refused(api.deleteCollection({}))
  assert.deepEqual([none.code, ...causes(none)], [504, 'NotApplied '])
})
