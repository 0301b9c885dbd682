/*
 * Goal: every active namespace has a default service account, and one that is being deleted gets
 * none. Method: the shipped controller on the shipped verbs.
 */
import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { defaultAccounts } from '../../../../src/controllers/default-accounts.ts'
import { Informer } from '../../../../src/registry/informer.ts'
import { LocalClient } from '../../../../src/registry/local-client.ts'
import { prefixOf } from '../../../../src/store/key.ts'
import { Fixture } from '../registry/fixture.ts'
import { recorderOf } from './recorded-events.ts'

const errors: unknown[] = []

/** Starts the controller of a member that leads. @returns a function that stops it */
function lead(api: Fixture): () => void {
  const { clock, catalog, registry, store } = api
  const prefix = (plural: string) => prefixOf({ group: '', plural, namespace: null })
  const namespaces = new Informer({
    ...{ store, clock, prefix: prefix('namespaces') },
    parse: ({ terminating }) => !terminating,
  })
  const accounts = new Informer({
    ...{ store, clock, prefix: prefix('serviceaccounts') },
    parse: ({ uid }) => uid,
  })
  const user = { name: 'system:apiserver', uid: '', groups: [], extra: {} }
  const client = new LocalClient({ registry, clock, user, timeoutMs: 10_000 })
  const onError = (...failure: unknown[]) => void errors.push(failure)
  const controller = defaultAccounts({
    ...{ clock, catalog, client, namespaces, accounts, events: recorderOf(api), onError },
  })
  namespaces.start()
  accounts.start()
  controller.start()
  return () => {
    controller.stop()
    namespaces.close()
    accounts.close()
  }
}

async function open(t: TestContext): Promise<Fixture> {
  const api = await Fixture.open()
  t.after(() => api.close())
  return api
}

/** Returns the accounts of the cluster as `NAMESPACE/NAME`, once nothing changes any more. */
async function accountsOf(api: Fixture): Promise<readonly string[]> {
  for (let at = 0; at < 200; at++) await turn()
  const { items } = await api.list({ kind: 'ServiceAccount', namespace: null })
  return items.map(
    ({ metadata }) => `${(metadata as { readonly namespace?: string }).namespace}/${metadata.name}`,
  )
}

const initial = ['default/default', 'node-lease-ns/default', 'public-ns/default', 'system-ns/default']

void test('spec 5.6: every active namespace has an account `default`, also after it was deleted', async (t) => {
  const api = await open(t)
  await api.create({ kind: 'ServiceAccount', body: { metadata: { name: 'default' } } })
  await api.create({ kind: 'ServiceAccount', body: { metadata: { name: 'robot' } } })
  const stop = lead(api)
  assert.deepEqual(await accountsOf(api), [initial[0], 'default/robot', ...initial.slice(1)])
  await api.create({ kind: 'Namespace', body: { metadata: { name: 'n' } } })
  await api.delete({ kind: 'ServiceAccount', namespace: 'default', name: 'robot' })
  const all = [...initial.slice(0, 1), 'n/default', ...initial.slice(1)]
  assert.deepEqual(await accountsOf(api), all)
  await api.delete({ kind: 'ServiceAccount', namespace: 'n', name: 'default' })
  assert.deepEqual(await accountsOf(api), all)

  stop()
  await api.delete({ kind: 'ServiceAccount', namespace: 'n', name: 'default' })
  assert.deepEqual(await accountsOf(api), initial)
  lead(api)
  assert.deepEqual(await accountsOf(api), all)
  assert.deepEqual(errors, [])
})

void test('a namespace that is being deleted gets no account', async (t) => {
  const api = await open(t)
  await api.create({ kind: 'Namespace', body: { metadata: { name: 'n' } } })
  lead(api)
  await accountsOf(api)
  await api.delete({ kind: 'Namespace', name: 'n' })
  await api.delete({ kind: 'ServiceAccount', namespace: 'n', name: 'default' })
  assert.deepEqual(await accountsOf(api), initial)
  assert.deepEqual(errors, [])
})
