/*
 * Goal: a kind that is observed can be read like others, without a quorum, and not written.
 * Method: ComponentStatuses of given components, over a store whose barriers fail.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { ComponentHealth } from '../../../../../src/registry/kinds/component-health.ts'
import { StoreError } from '../../../../../src/store/store-errors.ts'
import { LaggingStore } from '../lagging-store.ts'
import { Fixture, details, refused } from '../fixture.ts'

const kind = 'ComponentStatus'
const components: readonly ComponentHealth[] = [
  { name: 'store', status: 'False', message: 'no leader is known', error: '' },
  { name: 'controllers', status: 'Unknown', message: '', error: 'no leader is known' },
  { name: 'member-n1', status: 'True', message: 'ok', error: '' },
]

async function opened(t: TestContext): Promise<Fixture> {
  const api = await Fixture.open({
    components: () => components,
    wrap: (store) => {
      const lagging = new LaggingStore(store)
      lagging.barrierFails = new StoreError('timed-out', 'no quorum')
      return lagging
    },
  })
  t.after(() => api.close())
  return api
}

function item(name: string, condition: object): object {
  return { metadata: { name, creationTimestamp: null }, conditions: [{ type: 'Healthy', ...condition }] }
}

void test('observed objects are listed by name, without versions and without a quorum', async (t) => {
  const api = await opened(t)
  assert.deepEqual(await api.list({ kind }), {
    ...{ kind: 'ComponentStatusList', apiVersion: 'v1', metadata: {} },
    items: [
      item('controllers', { status: 'Unknown', error: 'no leader is known' }),
      item('member-n1', { status: 'True', message: 'ok' }),
      item('store', { status: 'False', message: 'no leader is known' }),
    ],
  })
})

void test('an observed object is read by its name, and another name is not found', async (t) => {
  const api = await opened(t)
  const { code, object } = await api.get({ kind, name: 'member-n1' })
  assert.equal(code, 200)
  assert.deepEqual(object, {
    ...{ kind, apiVersion: 'v1', ...item('member-n1', { status: 'True', message: 'ok' }) },
  })
  const missing = await refused(api.get({ kind, name: 'scheduler' }))
  assert.deepEqual([missing.code, missing.message], [404, 'componentstatuses "scheduler" not found'])
  assert.equal(details(missing)['kind'], 'componentstatuses')
})

void test('selectors apply to observed objects; limit, continue and resourceVersion do not matter', async (t) => {
  const api = await opened(t)
  const names = async (query: Readonly<Record<string, string>>): Promise<readonly string[]> =>
    (await api.list({ kind, query })).items.map(({ metadata }) => metadata.name)
  assert.deepEqual(await names({ fieldSelector: 'metadata.name=store' }), ['store'])
  assert.deepEqual(await names({ fieldSelector: 'metadata.name!=store' }), ['controllers', 'member-n1'])
  assert.deepEqual(await names({ labelSelector: 'a=b' }), [])
  assert.deepEqual(await names({ labelSelector: '!a' }), ['controllers', 'member-n1', 'store'])
  for (const query of [{ limit: '1' }, { limit: '1', continue: 'x' }, { resourceVersion: '99999999' }]) {
    assert.equal((await names(query)).length, 3, JSON.stringify(query))
  }
  const malformed = await refused(api.list({ kind, query: { resourceVersion: 'x' } }))
  assert.equal(malformed.code, 400)
})

void test('a consistency mode in the header is served as for other kinds', async (t) => {
  const api = await opened(t)
  const request = (consistency: string) => ({ ...api.request({ kind }), consistency })
  const seen = await refused(api.registry.list(request('linearizable')))
  assert.deepEqual([seen.code, seen.reason], [504, 'Timeout'])
  const answer = await api.registry.list(request('any'))
  assert.equal(answer.kind, 'pieces')
})

void test('observed kinds are neither written nor watched', async (t) => {
  const api = await opened(t)
  const body = { kind, apiVersion: 'v1', metadata: { name: 'store' } }
  for (const call of [
    api.create({ kind, body }),
    api.update({ kind, name: 'store', body }),
    api.patch({ kind, name: 'store', body: {} }),
    api.delete({ kind, name: 'store' }),
    api.deleteCollection({ kind }),
    api.watch({ kind }),
  ]) {
    assert.equal((await refused(call)).code, 405)
  }
})
