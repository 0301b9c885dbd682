/*
 * Goal: an owner is looked up by its kind and its place, whatever the number of kinds and of
 * references. Method: the shipped controller on the shipped verbs; reads of kinds are counted.
 */
import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { objectMember } from '../../../../src/api/json.ts'
import type { JsonObject } from '../../../../src/api/json.ts'
import { garbageCollection } from '../../../../src/controllers/garbage-collection.ts'
import { LocalClient } from '../../../../src/registry/local-client.ts'
import { countedKinds } from '../../../support/fixtures/counted-kinds.ts'
import { Fixture, refused } from '../registry/fixture.ts'
import type { Obj } from '../registry/fixture.ts'

async function opened(t: TestContext): Promise<{ readonly api: Fixture; readonly errors: unknown[] }> {
  const api = await Fixture.open()
  const { clock, catalog, registry, store } = api
  const errors: unknown[] = []
  const user = { name: 'system:controller', uid: '', groups: [], extra: {} }
  const { controller, informer } = garbageCollection({
    ...{ clock, catalog, store, timeoutMs: 10_000 },
    client: new LocalClient({ registry, clock, user, timeoutMs: 10_000 }),
    kindsApplied: () => Promise.resolve(),
    onError: (key, cause) => void errors.push([key, cause]),
  })
  informer.start()
  controller.start()
  t.after(() => {
    controller.stop()
    informer.close()
    return api.close()
  })
  return { api, errors }
}

async function settle(api: Fixture): Promise<void> {
  for (let at = 0; at < 40; at++) {
    for (let one = 0; one < 20; one++) await turn()
    api.clock.advance(500)
  }
}

const referenceTo = ({ apiVersion, kind, metadata: { name, uid } }: Obj) => ({
  ...{ apiVersion, kind, name, uid },
  blockOwnerDeletion: true,
})

async function deleteInForeground(api: Fixture, name: string): Promise<void> {
  await api.delete({ name, query: { propagationPolicy: 'Foreground' } })
  await settle(api)
}

void test('looking up many owners does not walk through all kinds for each', async (t) => {
  const { api, errors } = await opened(t)
  const { kinds, reads } = countedKinds(50)
  api.catalog.setCustom(kinds)
  const { object: owner } = await api.configMap('owner')
  const gone = Array.from({ length: 2500 }, (_, at) => ({
    ...{ apiVersion: 'g49.example.com/v1', kind: 'Thing49', name: 'a', uid: `u${at}` },
  }))
  const before = reads()
  const metadata = { name: 'child', ownerReferences: [...gone, referenceTo(owner)] }
  await api.create({ body: { metadata } })
  await settle(api)
  const child: JsonObject = (await api.get({ name: 'child' })).object
  assert.deepEqual(objectMember(child, 'metadata')['ownerReferences'], [referenceTo(owner)])
  // A few reads for the index, and a few for each reference to find its place.
  assert.ok(reads() - before < 60_000, `${reads() - before} reads`)
  assert.deepEqual(errors, [])
})

void test('a dependent in another namespace, or in none, that names the uid of an owner does not block its foreground deletion', async (t) => {
  const { api, errors } = await opened(t)
  await api.create({ kind: 'Namespace', body: { metadata: { name: 'other' } } })
  const finalizers = ['x.io/a']
  const { object: near } = await api.configMap('near')
  const ownerReferences = [referenceTo(near)]
  await api.create({ namespace: 'other', body: { metadata: { name: 'far', finalizers, ownerReferences } } })
  await deleteInForeground(api, 'near')
  assert.equal((await refused(api.get({ name: 'near' }))).code, 404)
  const { object: second } = await api.configMap('second')
  const metadata = { name: 'wide', ownerReferences: [referenceTo(second)] }
  await api.create({ kind: 'ClusterRole', body: { metadata } })
  await deleteInForeground(api, 'second')
  assert.equal((await refused(api.get({ name: 'second' }))).code, 404)
  assert.deepEqual(errors, [])
})

void test('a dependent in the namespace of its owner blocks a foreground deletion, also if another namespace has one', async (t) => {
  const { api, errors } = await opened(t)
  await api.create({ kind: 'Namespace', body: { metadata: { name: 'other' } } })
  const { object: owner } = await api.configMap('owner')
  const metadata = { finalizers: ['x.io/a'], ownerReferences: [referenceTo(owner)] }
  await api.create({ namespace: 'other', body: { metadata: { ...metadata, name: 'far' } } })
  await api.create({ body: { metadata: { ...metadata, name: 'near' } } })
  await deleteInForeground(api, 'owner')
  assert.equal((await api.get({ name: 'owner' })).code, 200)
  await api.patch({ name: 'near', body: { metadata: { finalizers: null } } })
  await settle(api)
  assert.equal((await refused(api.get({ name: 'owner' }))).code, 404)
  assert.deepEqual(errors, [])
})

void test('a kept response of an idempotency key is no dependent', async (t) => {
  const { api, errors } = await opened(t)
  const { object: owner } = await api.configMap('owner')
  const metadata = { name: 'child', finalizers: ['x.io/a'], ownerReferences: [referenceTo(owner)] }
  await api.create({ body: { metadata } })
  await deleteInForeground(api, 'owner')
  await api.patch({ name: 'child', body: { metadata: { finalizers: null } }, idempotencyKey: 'k-1' })
  await settle(api)
  assert.equal((await refused(api.get({ name: 'owner' }))).code, 404)
  assert.deepEqual(errors, [])
})
