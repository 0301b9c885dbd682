/*
 * Goal: the system namespace has the authorities of clients and proxies, whatever happens to their
 * ConfigMap, and what members with other flags published stays.
 * Method: the shipped controller on the shipped verbs.
 */
import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { Clock } from '../../../../base/clock.ts'
import { TestAuthority } from '../../../../fixtures/server-fixture.ts'
import { systemClock } from '../../../../fixtures/system.ts'
import { forbidden } from '../../../../src/api/errors/standard-errors.ts'
import type { JsonObject } from '../../../../src/api/json.ts'
import { objectMember, textMember } from '../../../../src/api/json.ts'
import { authenticationTrustPublisher } from '../../../../src/controllers/authentication-trust.ts'
import type { AuthenticationTrust } from '../../../../src/controllers/authentication-trust.ts'
import { Informer } from '../../../../src/registry/informer.ts'
import { LocalClient } from '../../../../src/registry/local-client.ts'
import type { LocalClientOptions } from '../../../../src/registry/local-client.ts'
import { keyOf, partsOf, prefixOf } from '../../../../src/store/key.ts'
import { until } from '../../../support/tools/until.ts'
import { Fixture } from '../registry/fixture.ts'
import { eventsIn, recorderOf } from './recorded-events.ts'

const NAME = 'extension-apiserver-authentication'
const NAMESPACE = 'kube-system'
const PLACE = { kind: 'ConfigMap', name: NAME, namespace: NAMESPACE } as const

/** Certificates end with one line break in the ConfigMap. */
const pemOf = (authority: TestAuthority): string => `${authority.pem.trim()}\n`
const [clients, proxies, others] = ['clients', 'proxies', 'others'].map((name) =>
  pemOf(new TestAuthority(name)),
) as [string, string, string]
const expired = pemOf(new TestAuthority('expired', { expired: true }))

const HEADERS = {
  allowedNames: ['front-proxy-client'],
  userHeaders: ['X-Remote-User'],
  groupHeaders: ['X-Remote-Group'],
  extraPrefixes: ['X-Remote-Extra-'],
}

type Situation = {
  /** The content of the ConfigMap; by default there is none. */
  readonly before?: JsonObject
  readonly clientOf?: (api: Fixture, options: LocalClientOptions) => LocalClient
  /** The clock of the controller; by default that of the system: the certificates are valid now. */
  readonly clockOf?: (api: Fixture) => Clock
}

async function lead(
  t: TestContext,
  first: AuthenticationTrust,
  { before, clientOf, clockOf }: Situation = {},
) {
  const api = await Fixture.open({ domain: 'k8s.io' })
  const { clock, names, catalog, registry, store } = api
  if (before !== undefined) {
    const body = { metadata: { name: NAME }, data: before }
    await api.create({ kind: 'ConfigMap', namespace: NAMESPACE, body })
  }
  let trust = first
  let changed = (): void => undefined
  const errors: unknown[] = []
  const published = new Informer({
    ...{ store, clock, parse: () => true as const },
    prefix: prefixOf({ group: '', plural: 'configmaps', namespace: NAMESPACE }),
    keeps: ({ key }) => partsOf(key).name === NAME,
  })
  const user = { name: 'system:apiserver', uid: '', groups: [], extra: {} }
  const calls = { registry, clock, user, timeoutMs: 10_000 }
  const controller = authenticationTrustPublisher({
    ...{ clock: clockOf?.(api) ?? systemClock, names, catalog, published, events: recorderOf(api) },
    client: clientOf?.(api, calls) ?? new LocalClient(calls),
    trust: { current: () => trust, onChange: (listener) => void (changed = listener) },
    onError: (...failure) => void errors.push(failure),
  })
  published.start()
  controller.start()
  t.after(() => {
    controller.stop()
    published.close()
    assert.deepEqual(errors, [])
    return api.close()
  })
  const rest = async (): Promise<void> => {
    for (let at = 0; at < 200; at++) await turn()
  }
  const data = async (): Promise<JsonObject> => {
    await rest()
    return objectMember((await api.get(PLACE)).object, 'data')
  }
  const change = (to: AuthenticationTrust): void => {
    trust = to
    changed()
  }
  return { api, data, change, rest, errors }
}

void test('the authorities of clients and proxies are published, with the headers of proxies', async (t) => {
  const { data, change } = await lead(t, { clientAuthorities: clients, proxies: null })
  assert.deepEqual(await data(), { 'client-ca-file': clients })
  change({ clientAuthorities: clients, proxies: { ...HEADERS, authorities: proxies } })
  assert.deepEqual(await data(), {
    'client-ca-file': clients,
    'requestheader-client-ca-file': proxies,
    'requestheader-username-headers': '["X-Remote-User"]',
    'requestheader-group-headers': '["X-Remote-Group"]',
    'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
    'requestheader-allowed-names': '["front-proxy-client"]',
  })
})

void test('no ConfigMap is created while nothing is trusted', async (t) => {
  const { api, rest } = await lead(t, { clientAuthorities: null, proxies: null })
  await rest()
  await assert.rejects(api.get(PLACE), /not found/)
})

void test('authorities and headers of other members stay; expired and unreadable ones are removed', async (t) => {
  const { data } = await lead(
    t,
    { clientAuthorities: clients + clients, proxies: { ...HEADERS, authorities: proxies } },
    {
      before: {
        'client-ca-file': `${expired}${others}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`,
        'requestheader-client-ca-file': others,
        'requestheader-username-headers': '["X-User","X-Remote-User"]',
        'requestheader-group-headers': 'no JSON',
        more: 'removed',
      },
    },
  )
  const stored = await data()
  assert.equal(stored['client-ca-file'], others + clients)
  assert.equal(stored['requestheader-client-ca-file'], others + proxies)
  assert.equal(stored['requestheader-username-headers'], '["X-User","X-Remote-User"]')
  assert.equal(stored['requestheader-group-headers'], '["X-Remote-Group"]')
  assert.equal(stored['more'], undefined)
})

void test('a ConfigMap that was deleted or changed is restored; its labels stay', async (t) => {
  const { api, data } = await lead(t, { clientAuthorities: clients, proxies: null })
  await data()
  await api.delete(PLACE)
  assert.deepEqual(await data(), { 'client-ca-file': clients })
  await api.patch({ ...PLACE, body: { metadata: { labels: { mine: 'yes' } }, data: null } })
  assert.deepEqual(await data(), { 'client-ca-file': clients })
  const { object } = await api.get(PLACE)
  assert.deepEqual(objectMember(object, 'metadata')['labels'], { mine: 'yes' })
  const version = textMember(objectMember(object, 'metadata'), 'resourceVersion')
  await data()
  const { object: again } = await api.get(PLACE)
  assert.equal(textMember(objectMember(again, 'metadata'), 'resourceVersion'), version)
})

/** Deletes the ConfigMap before its first update. */
class DeletingClient extends LocalClient {
  readonly #api: Fixture
  updates = 0

  constructor(api: Fixture, options: LocalClientOptions) {
    super(options)
    this.#api = api
  }

  override async update(...given: Parameters<LocalClient['update']>): ReturnType<LocalClient['update']> {
    if (this.updates++ === 0) await this.#api.delete(PLACE)
    return super.update(...given)
  }
}

void test('a ConfigMap that is deleted before its update is created again, and nothing is reported', async (t) => {
  const { api } = await lead(
    t,
    { clientAuthorities: clients, proxies: null },
    { before: { 'client-ca-file': others }, clientOf: (of, options) => new DeletingClient(of, options) },
  )
  await until('it is there again', async () => {
    const { items } = await api.list({ kind: 'ConfigMap', namespace: NAMESPACE })
    const found = items.find(({ metadata }) => metadata.name === NAME)
    return objectMember(found ?? {}, 'data')['client-ca-file'] === clients
  })
})

/** A clock that moves by hand, except that its wall clock is real: certificates are valid now. */
function movedByHand({ clock }: Fixture): Clock {
  return {
    monotonicMs: () => clock.monotonicMs(),
    wallMs: () => systemClock.wallMs(),
    after: (ms, action) => clock.after(ms, action),
    every: (ms, action) => clock.every(ms, action),
    soon: (action) => clock.soon(action),
  }
}

/** Creates nothing. */
class RefusingClient extends LocalClient {
  override create(): ReturnType<LocalClient['create']> {
    return Promise.reject(forbidden({ group: '', resource: 'configmaps' }, NAME, 'by a test'))
  }
}

void test('authorities that cannot be published for a minute have a warning on the system namespace', async (t) => {
  const { api, errors } = await lead(
    t,
    { clientAuthorities: clients, proxies: null },
    { clientOf: (_, options) => new RefusingClient(options), clockOf: movedByHand },
  )
  for (let step = 0; step < 12; step++) {
    assert.deepEqual(step < 5 ? await eventsIn(api) : [], [])
    api.clock.advance(10_000)
    for (let at = 0; at < 20; at++) await turn()
  }
  const warning = `Warning AuthenticationTrustNotPublished Namespace ${NAMESPACE} x1`
  assert.deepEqual(await eventsIn(api), [`default: ${warning}`])
  for (const error of errors.splice(0)) assert.match(String(error), /by a test/)
})

/** Counts the creations that are tried. */
class CountingClient extends LocalClient {
  creations = 0

  override create(...given: Parameters<LocalClient['create']>): ReturnType<LocalClient['create']> {
    this.creations++
    return super.create(...given)
  }
}

void test('while the namespace is missing, it is tried again with increasing delays and reported each time', async (t) => {
  let client: CountingClient | null = null
  const { api, rest, errors, change } = await lead(
    t,
    { clientAuthorities: null, proxies: null },
    {
      clientOf: (_, options) => (client = new CountingClient(options)),
      clockOf: movedByHand,
    },
  )
  const counted = (): number => client?.creations ?? assert.fail('a client was made')
  const key = keyOf({ group: '', plural: 'namespaces', namespace: '', name: NAMESPACE })
  await api.store.write({ kind: 'write', operations: [{ kind: 'delete', key, conditions: [] }] }, Infinity)
  change({ clientAuthorities: clients, proxies: null })
  await rest()
  // At 0, 100, 300, 700, 1500, 3100, 6300 ms.
  for (let step = 0; step < 100; step++) {
    api.clock.advance(100)
    for (let at = 0; at < 20; at++) await turn()
  }
  assert.equal(counted(), 7)
  assert.equal(errors.length, 7)
  for (const error of errors.splice(0)) assert.match(String(error), /namespaces "kube-system" not found/)
  await api.create({ kind: 'Namespace', body: { metadata: { name: NAMESPACE } } })
  api.clock.advance(30_000)
  await rest()
  assert.deepEqual(objectMember((await api.get(PLACE)).object, 'data'), { 'client-ca-file': clients })
})
