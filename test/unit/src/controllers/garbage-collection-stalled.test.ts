/*
 * Goal: a leader that stalls in the middle of a step changes nothing that it has not examined.
 * Method: the shipped controller and verbs of one member that leads, which stops between a decision
 * and its write while clients replace or change the object.
 */
import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { Deferred } from '../../../../base/deferred.ts'
import { objectsMember } from '../../../../src/api/json.ts'
import { garbageCollection } from '../../../../src/controllers/garbage-collection.ts'
import { LocalClient } from '../../../../src/registry/local-client.ts'
import { Fixture, refused } from '../registry/fixture.ts'
import type { Obj } from '../registry/fixture.ts'

/** Stops before its first read of an object, which precedes each write of the controller. */
class StalledClient extends LocalClient {
  readonly reached = new Deferred<void>()
  readonly released = new Deferred<void>()

  override async get(...call: Parameters<LocalClient['get']>): ReturnType<LocalClient['get']> {
    this.reached.resolve()
    await this.released.promise
    return super.get(...call)
  }
}

/** Starts the controller of a member that leads. @param errors receives its failures */
function lead(t: TestContext, api: Fixture, errors: unknown[]): StalledClient {
  const { clock, catalog, registry, store } = api
  const user = { name: 'system:controller', uid: '', groups: [], extra: {} }
  const client = new StalledClient({ registry, clock, user, timeoutMs: 100_000 })
  const { controller, informer } = garbageCollection({
    ...{ clock, catalog, store, client, timeoutMs: 100_000 },
    onError: (key, cause) => void errors.push([key, cause]),
    kindsApplied: () => Promise.resolve(),
  })
  informer.start()
  controller.start()
  t.after(() => {
    controller.stop()
    informer.close()
  })
  return client
}

async function settle(api: Fixture): Promise<void> {
  for (let at = 0; at < 30; at++) {
    for (let one = 0; one < 20; one++) await turn()
    api.clock.advance(500)
  }
}

const referenceTo = ({ apiVersion, kind, metadata: { name, uid } }: Obj) => ({
  ...{ apiVersion, kind, name, uid },
  blockOwnerDeletion: true,
})

/**
 * Deletes an owner, and stalls the leader before the last step of the deletion. The next leader
 * takes this step; then clients create the owner again, with a dependent, and delete the new owner,
 * too.
 */
async function deletedAgain(t: TestContext, propagationPolicy: string, finalizers: readonly string[]) {
  const api = await Fixture.open()
  t.after(() => api.close())
  const errors: unknown[] = []
  const stalled = lead(t, api, errors)
  await api.configMap('owner')
  const remove = () => api.delete({ name: 'owner', query: { propagationPolicy } })
  await remove()
  await stalled.reached.promise
  await api.patch({ name: 'owner', body: { metadata: { finalizers: null } } })
  assert.equal((await refused(api.get({ name: 'owner' }))).code, 404)
  const { object: later } = await api.configMap('owner')
  const metadata = { name: 'child', ownerReferences: [referenceTo(later)], finalizers }
  await api.create({ body: { metadata } })
  await remove()
  stalled.released.resolve()
  await settle(api)
  assert.deepEqual(errors, [])
  return api
}

void test('a leader that stalled before the end of a deletion does not delete the orphans of a later owner', async (t) => {
  const api = await deletedAgain(t, 'Orphan', [])
  const left = (await api.list({})).items.map(({ metadata }) => metadata.name)
  assert.deepEqual(left, ['child'])
})

void test('a leader that stalled before the end of a deletion does not delete a later owner before its dependents', async (t) => {
  const api = await deletedAgain(t, 'Foreground', ['x.io/a'])
  const left = (await api.list({})).items.map(({ metadata }) => metadata.name)
  assert.deepEqual(left, ['child', 'owner'])
  await api.patch({ name: 'child', body: { metadata: { finalizers: null } } })
  await settle(api)
  assert.deepEqual((await api.list({})).items, [])
})

void test('a leader that stalled before it unblocks a cycle keeps the references that a client added since', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const errors: unknown[] = []
  const stalled = lead(t, api, errors)
  const make = (name: string, owners: readonly Obj[]) => {
    const ownerReferences = owners.map(referenceTo)
    return api.create({ body: { metadata: { name, ownerReferences, finalizers: ['x.io/a'] } } })
  }
  const { object: one } = await make('one', [])
  const { object: two } = await make('two', [one])
  await api.patch({ name: 'one', body: { metadata: { ownerReferences: [referenceTo(two)] } } })
  const { object: third } = await api.configMap('third')
  for (const name of ['one', 'two']) await api.delete({ name, query: { propagationPolicy: 'Foreground' } })
  await stalled.reached.promise
  for (const [name, owner] of [
    ['one', two],
    ['two', one],
  ] as const) {
    const ownerReferences = [referenceTo(owner), referenceTo(third)]
    await api.patch({ name, body: { metadata: { ownerReferences } } })
  }
  stalled.released.resolve()
  await settle(api)
  for (const name of ['one', 'two']) {
    const { object } = await api.get({ name })
    const references = objectsMember(object.metadata, 'ownerReferences')
    const added = references.find(({ name: to }) => to === 'third')
    assert.equal(added?.['blockOwnerDeletion'], true, name)
  }
  assert.deepEqual(errors, [])
})
