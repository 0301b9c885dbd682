/*
 * Goal: every active namespace has the CA certificates of the servers, whatever happens to their
 * ConfigMap. Method: the shipped controller on the shipped verbs.
 */
import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { objectMember, textMember } from '../../../../src/api/json.ts'
import type { Controller } from '../../../../src/controllers/controller.ts'
import { rootCaPublisher } from '../../../../src/controllers/root-ca.ts'
import type { Registry } from '../../../../src/registry/calls/verb.ts'
import { Informer } from '../../../../src/registry/informer.ts'
import { parseStored } from '../../../../src/registry/kinds/encode.ts'
import { LocalClient } from '../../../../src/registry/local-client.ts'
import { partsOf, prefixOf } from '../../../../src/store/key.ts'
import { Fixture } from '../registry/fixture.ts'
import type { Obj } from '../registry/fixture.ts'
import { eventsIn, recorderOf } from './recorded-events.ts'

const NAME = 'root-ca.crt'

class Kit {
  readonly api: Fixture
  readonly errors: unknown[] = []
  pem: string | null = 'CA'
  renewed: () => void = () => undefined
  published: Informer<string> | null = null
  controller: Controller | null = null

  constructor(api: Fixture) {
    this.api = api
  }

  static async open(t: TestContext): Promise<Kit> {
    const api = await Fixture.open()
    t.after(() => api.close())
    return new Kit(api)
  }

  /** Starts the controller of a member that leads. @returns a function that stops it */
  lead(registry: Registry = this.api.registry): () => void {
    const { clock, names, catalog, store } = this.api
    const prefix = (plural: string) => prefixOf({ group: '', plural, namespace: null })
    const namespaces = new Informer({
      ...{ store, clock, prefix: prefix('namespaces') },
      parse: ({ terminating }) => !terminating,
    })
    const published = new Informer({
      ...{ store, clock, prefix: prefix('configmaps') },
      keeps: ({ key }) => partsOf(key).name === NAME,
      parse: (stored) => textMember(objectMember(parseStored(stored), 'data'), NAME),
    })
    this.published = published
    const user = { name: 'system:apiserver', uid: '', groups: [], extra: {} }
    const controller = rootCaPublisher({
      ...{ clock, names, catalog, namespaces, published, events: recorderOf(this.api) },
      client: new LocalClient({ registry, clock, user, timeoutMs: 10_000 }),
      rootCa: () => this.pem,
      onRootCaChanged: (listener) => void (this.renewed = listener),
      onError: (...failure) => void this.errors.push(failure),
    })
    this.controller = controller
    namespaces.start()
    published.start()
    controller.start()
    return () => {
      controller.stop()
      namespaces.close()
      published.close()
    }
  }

  async find(namespace = 'default'): Promise<Obj | null> {
    for (let at = 0; at < 200; at++) await turn()
    try {
      return (await this.api.get({ kind: 'ConfigMap', name: NAME, namespace })).object
    } catch {
      return null
    }
  }

  async data(namespace?: string): Promise<unknown> {
    return objectMember((await this.find(namespace)) ?? {}, 'data')
  }
}

void test('spec 2.5: the CA certificates are published in each namespace, old and new', async (t) => {
  const kit = await Kit.open(t)
  kit.lead()
  assert.deepEqual(await kit.data(), { [NAME]: 'CA' })
  await kit.api.create({ kind: 'Namespace', body: { metadata: { name: 'later' } } })
  assert.deepEqual(await kit.data('later'), { [NAME]: 'CA' })
  assert.deepEqual(kit.errors, [])
})

void test('a ConfigMap that was deleted or changed is restored; labels of others stay', async (t) => {
  const kit = await Kit.open(t)
  kit.lead()
  await kit.find()
  await kit.api.delete({ kind: 'ConfigMap', name: NAME })
  assert.deepEqual(await kit.data(), { [NAME]: 'CA' })
  const body = { metadata: { labels: { mine: 'yes' } }, data: { [NAME]: 'other', more: 'x' } }
  await kit.api.patch({ kind: 'ConfigMap', name: NAME, body })
  assert.deepEqual(await kit.data(), { [NAME]: 'CA' })
  assert.deepEqual((await kit.find())?.metadata.labels, { mine: 'yes' })
})

void test('a ConfigMap that is deleted during its update is created again without an error', async (t) => {
  const kit = await Kit.open(t)
  const stop = kit.lead()
  await kit.find()
  stop()
  kit.pem = 'CA 2'
  const { registry } = kit.api
  let deletions = 0
  kit.lead({
    ...registry,
    update: async (request) => {
      if (request.target.namespace === 'default' && deletions++ === 0)
        await kit.api.delete({ kind: 'ConfigMap', name: NAME })
      return registry.update(request)
    },
  })
  assert.deepEqual(await kit.data(), { [NAME]: 'CA 2' })
  assert.equal(deletions, 1)
  assert.deepEqual(kit.errors, [])
})

void test('renewed certificates are published, also by the next leader; without any nothing is written', async (t) => {
  const kit = await Kit.open(t)
  kit.pem = null
  const stop = kit.lead()
  assert.equal(await kit.find(), null)
  kit.pem = 'CA 1'
  kit.renewed()
  assert.deepEqual(await kit.data(), { [NAME]: 'CA 1' })
  stop()
  kit.pem = 'CA 2'
  const version = (await kit.find())?.metadata.resourceVersion
  kit.lead()
  assert.deepEqual(await kit.data(), { [NAME]: 'CA 2' })
  const renewed = await kit.find()
  assert.notEqual(renewed?.metadata.resourceVersion, version)
  kit.renewed()
  assert.equal((await kit.find())?.metadata.resourceVersion, renewed?.metadata.resourceVersion)
})

void test('other ConfigMaps take no memory and are left alone', async (t) => {
  const kit = await Kit.open(t)
  kit.lead()
  await kit.api.create({ kind: 'ConfigMap', body: { metadata: { name: 'mine' }, data: { a: 'b' } } })
  await kit.find()
  assert.deepEqual(
    [...new Set([...(kit.published?.entries() ?? [])].map(([key]) => partsOf(key).name))],
    [NAME],
  )
  assert.deepEqual((await kit.api.get({ kind: 'ConfigMap', name: 'mine' })).object['data'], { a: 'b' })
})

void test('a member that gets renewed certificates later than the leader reports no restored root CA when it leads', async (t) => {
  const kit = await Kit.open(t)
  kit.pem = 'CA 1'
  kit.lead()
  assert.deepEqual(await kit.data(), { [NAME]: 'CA 1' })
  kit.controller?.stop()
  // The leader has the next certificates, this member gets them later.
  await kit.api.patch({ kind: 'ConfigMap', name: NAME, body: { data: { [NAME]: 'CA 1 and CA 2' } } })
  await kit.find()
  kit.controller?.start()
  assert.deepEqual(await kit.data(), { [NAME]: 'CA 1' })
  kit.pem = 'CA 1 and CA 2'
  kit.renewed()
  await kit.find()
  kit.pem = 'CA 2'
  kit.renewed()
  assert.deepEqual(await kit.data(), { [NAME]: 'CA 2' })
  assert.deepEqual(await eventsIn(kit.api), [])
})
