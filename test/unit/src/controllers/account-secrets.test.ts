/*
 * Goal: in the domain orch.io each service account has one Secret for a token, whatever happens to
 * it and whichever member leads. Method: the shipped controller on the shipped verbs.
 */
import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { objectMember, textMember } from '../../../../src/api/json.ts'
import { accountSecrets } from '../../../../src/controllers/account-secrets.ts'
import { readTokenSecret } from '../../../../src/controllers/token-secret.ts'
import { Informer } from '../../../../src/registry/informer.ts'
import { LocalClient } from '../../../../src/registry/local-client.ts'
import { prefixOf } from '../../../../src/store/key.ts'
import { Fixture } from '../registry/fixture.ts'
import { recorderOf } from './recorded-events.ts'

const ACCOUNT = 'orch.io/service-account.name'

type Opened = {
  readonly api: Fixture
  readonly errors: unknown[]
  readonly lead: () => () => void
  /** Ends the watch of accounts, so that the controller does not notice later changes of them. */
  readonly delayAccounts: () => void
}

async function open(t: TestContext): Promise<Opened> {
  const api = await Fixture.open()
  t.after(() => api.close())
  const errors: unknown[] = []
  let delayAccounts = (): void => undefined
  const lead = (): (() => void) => {
    const { clock, names, catalog, registry, store } = api
    const prefix = (plural: string) => prefixOf({ group: '', plural, namespace: null })
    const kind = { names, rootCa: () => null }
    const secrets = new Informer({
      ...{ store, clock, prefix: prefix('secrets') },
      parse: (stored) => readTokenSecret(kind, stored),
    })
    const accounts = new Informer({
      ...{ store, clock, prefix: prefix('serviceaccounts') },
      parse: ({ uid }) => uid,
    })
    const user = { name: 'system:apiserver', uid: '', groups: [], extra: {} }
    const controller = accountSecrets({
      ...{ clock, names, catalog, secrets, accounts, events: recorderOf(api) },
      client: new LocalClient({ registry, clock, user, timeoutMs: 10_000 }),
      onError: (...failure) => void errors.push(failure),
    })
    secrets.start()
    accounts.start()
    controller.start()
    delayAccounts = () => accounts.close()
    return () => {
      controller.stop()
      secrets.close()
      accounts.close()
    }
  }
  return { api, errors, lead, delayAccounts: () => delayAccounts() }
}

async function secretsOf(api: Fixture): Promise<readonly string[]> {
  for (let at = 0; at < 200; at++) await turn()
  const { items } = await api.list({ kind: 'Secret' })
  return items.map(({ metadata }) => {
    const annotations = objectMember({ ...metadata }, 'annotations')
    return `${textMember(annotations, ACCOUNT)} ${metadata.name}`
  })
}

async function createAccount(api: Fixture, name: string): Promise<void> {
  await api.create({ kind: 'ServiceAccount', body: { metadata: { name } } })
}

void test('spec 5.6: each account has one token Secret, created only once, however many members lead', async (t) => {
  const { api, errors, lead } = await open(t)
  await createAccount(api, 'early')
  const stop = lead()
  await createAccount(api, 'late')
  const before = await secretsOf(api)
  assert.deepEqual(
    before.map((one) => one.replace(/[0-9a-f]{5}$/, '')),
    ['early early-token-', 'late late-token-'],
  )
  stop()
  lead()
  lead()
  assert.deepEqual(await secretsOf(api), before)
  assert.deepEqual(errors, [])
})

void test('a deleted Secret is created again; another account of the same name has another Secret', async (t) => {
  const { api, lead } = await open(t)
  lead()
  await createAccount(api, 'robot')
  const [first = ''] = await secretsOf(api)
  await api.delete({ kind: 'Secret', name: first.split(' ')[1] ?? '' })
  assert.deepEqual(await secretsOf(api), [first])
  await api.delete({ kind: 'ServiceAccount', name: 'robot' })
  await createAccount(api, 'robot')
  assert.equal((await secretsOf(api)).length, 2, 'the controller of tokens deletes the first')
})

void test('no Secret is created for an account whose deletion the controller has not noticed yet', async (t) => {
  const { api, errors, lead, delayAccounts } = await open(t)
  lead()
  await createAccount(api, 'robot')
  const [first = ''] = await secretsOf(api)
  delayAccounts()
  await api.delete({ kind: 'ServiceAccount', name: 'robot' })
  await api.delete({ kind: 'Secret', name: first.split(' ')[1] ?? '' })
  assert.deepEqual(await secretsOf(api), [])
  assert.deepEqual(errors, [])
})

void test('another Secret of that name is left alone; long names are shortened', async (t) => {
  const { api, lead, errors } = await open(t)
  const long = 'a'.repeat(253)
  await createAccount(api, long)
  const stop = lead()
  const [one = ''] = await secretsOf(api)
  const name = one.split(' ')[1] ?? ''
  assert.equal(name.length, 253)
  stop()
  await api.delete({ kind: 'Secret', name })
  await api.create({ kind: 'Secret', body: { metadata: { name }, data: { a: 'eA==' } } })
  lead()
  await secretsOf(api)
  assert.deepEqual((await api.get({ kind: 'Secret', name })).object['data'], { a: 'eA==' })
  assert.deepEqual(errors, [])
})
