/*
 * Goal: claims and volumes stay while they are in use, and no longer. Method: the shipped admission
 * plugin, controllers and verbs of one member that leads.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { admissionChain } from '../../../../src/admission/chain.ts'
import { storageProtectionAdmission } from '../../../../src/admission/storage-protection.ts'
import { namesOf } from '../../../../src/api/metadata/names.ts'
import type { ApiDomain } from '../../../../src/api/metadata/names.ts'
import { needsProtectionStep, storageProtection } from '../../../../src/controllers/storage-protection.ts'
import type { ControllerName } from '../../../../src/config/controllers-flag.ts'
import { lead, rest } from '../app/leading-member.ts'
import { Informer } from '../../../../src/registry/informer.ts'
import { LocalClient } from '../../../../src/registry/local-client.ts'
import { prefixOf } from '../../../../src/store/key.ts'
import { Fixture, refused } from '../registry/fixture.ts'
import { eventsIn, recorderOf } from './recorded-events.ts'
import { claimBody, volumeBody } from './volume-bodies.ts'

const CLAIM = 'PersistentVolumeClaim'
const VOLUME = 'PersistentVolume'
const both: readonly ControllerName[] = ['pvc-protection', 'pv-protection']

function open(t: TestContext, domain: ApiDomain = 'orch.io', enabled = both): Promise<Fixture> {
  const admission = admissionChain([storageProtectionAdmission({ names: namesOf(domain) })])
  return lead(t, { domain, enabled, admission })
}

async function finalizersOf(api: Fixture, kind: string, name: string): Promise<readonly string[]> {
  return (await api.get({ kind, name })).object.metadata.finalizers ?? []
}

async function isGone(api: Fixture, kind: string, name: string): Promise<boolean> {
  const { items } = await api.list({ kind })
  return items.every(({ metadata }) => metadata.name !== name)
}

async function pod(api: Fixture, name: string, volume: object, nodeName?: string): Promise<void> {
  const spec = { containers: [{ name: 'c', image: 'i' }], volumes: [{ name: 'data', ...volume }] }
  const bound = nodeName === undefined ? {} : { nodeName }
  await api.create({ kind: 'Pod', body: { metadata: { name }, spec: { ...spec, ...bound } } })
}

const using = (claimName: string) => ({ persistentVolumeClaim: { claimName } })

for (const [domain, prefix] of [
  ['orch.io', 'orch.io'],
  ['k8s.io', 'kubernetes.io'],
] as const) {
  void test(`spec 3.1: ${domain}: new claims and volumes are protected, once, and removed when they are deleted unused`, async (t) => {
    const api = await open(t, domain)
    await api.create({ kind: CLAIM, body: claimBody('c') })
    await api.create({ kind: VOLUME, body: volumeBody('v') })
    const metadata = { name: 'own', finalizers: [`${prefix}/pvc-protection`, 'x.io/a'] }
    await api.create({ kind: CLAIM, body: { ...claimBody('own'), metadata } })
    assert.deepEqual(await finalizersOf(api, CLAIM, 'c'), [`${prefix}/pvc-protection`])
    assert.deepEqual(await finalizersOf(api, VOLUME, 'v'), [`${prefix}/pv-protection`])
    assert.deepEqual(await finalizersOf(api, CLAIM, 'own'), metadata.finalizers)
    for (const [kind, name] of [
      [CLAIM, 'c'],
      [VOLUME, 'v'],
      [CLAIM, 'own'],
    ] as const) {
      assert.equal((await api.delete({ kind, name })).code, 202, name)
    }
    await rest(api)
    assert.equal((await refused(api.get({ kind: CLAIM, name: 'c' }))).code, 404)
    assert.equal((await refused(api.get({ kind: VOLUME, name: 'v' }))).code, 404)
    assert.deepEqual(await finalizersOf(api, CLAIM, 'own'), ['x.io/a'])
  })
}

void test('spec 3.1: a claim stays until no Pod that has a node uses it', async (t) => {
  const api = await open(t)
  for (const name of ['used', 'waiting', 'two-data']) await api.create({ kind: CLAIM, body: claimBody(name) })
  await pod(api, 'one', using('used'), 'n1')
  await pod(api, 'two', { ephemeral: { volumeClaimTemplate: { spec: claimBody('x')['spec'] } } }, 'n1')
  await pod(api, 'three', using('used'), 'n2')
  // Pod `four` has no node, so it does not keep its claim from being deleted.
  await pod(api, 'four', using('waiting'))
  for (const name of ['used', 'waiting', 'two-data']) await api.delete({ kind: CLAIM, name })
  await rest(api)
  assert.ok(await isGone(api, CLAIM, 'waiting'))
  const query = { gracePeriodSeconds: '0' }
  await api.delete({ kind: 'Pod', name: 'one', query })
  await rest(api)
  assert.equal(await isGone(api, CLAIM, 'used'), false)
  assert.equal(await isGone(api, CLAIM, 'two-data'), false)
  await api.delete({ kind: 'Pod', name: 'two', query })
  await api.delete({ kind: 'Pod', name: 'three', query })
  await rest(api)
  assert.ok(await isGone(api, CLAIM, 'used'))
  assert.ok(await isGone(api, CLAIM, 'two-data'))
})

void test('a Pod of another namespace does not keep a claim', async (t) => {
  const api = await open(t)
  await api.create({ kind: 'Namespace', body: { metadata: { name: 'other' } } })
  await api.create({ kind: CLAIM, namespace: 'other', body: claimBody('c') })
  await pod(api, 'one', using('c'), 'n1')
  await api.delete({ kind: CLAIM, namespace: 'other', name: 'c' })
  await rest(api)
  assert.deepEqual((await api.list({ kind: CLAIM, namespace: 'other' })).items, [])
})

void test('spec 3.1: a volume stays while it is bound', async (t) => {
  const api = await open(t)
  await api.create({ kind: VOLUME, body: volumeBody('v') })
  const phase = (to: string) =>
    api.patch({ kind: VOLUME, name: 'v', subresource: 'status', body: { status: { phase: to } } })
  await phase('Bound')
  await api.delete({ kind: VOLUME, name: 'v' })
  await rest(api)
  assert.equal(await isGone(api, VOLUME, 'v'), false)
  await phase('Released')
  await rest(api)
  assert.ok(await isGone(api, VOLUME, 'v'))
})

void test('a claim without the finalizer gets it from the controller, unless it is being deleted', async (t) => {
  const api = await lead(t, { domain: 'orch.io', enabled: both })
  const metadata = { name: 'leaving', finalizers: ['x.io/a'] }
  await api.create({ kind: CLAIM, body: { ...claimBody('leaving'), metadata } })
  await api.delete({ kind: CLAIM, name: 'leaving' })
  await api.create({ kind: CLAIM, body: claimBody('c') })
  await api.create({ kind: VOLUME, body: volumeBody('v') })
  await rest(api)
  assert.deepEqual(await finalizersOf(api, CLAIM, 'c'), ['orch.io/pvc-protection'])
  assert.deepEqual(await finalizersOf(api, VOLUME, 'v'), ['orch.io/pv-protection'])
  assert.deepEqual(await finalizersOf(api, CLAIM, 'leaving'), ['x.io/a'])
})

void test('without its controller a deleted claim keeps the finalizer, and a user may remove it', async (t) => {
  const api = await open(t, 'orch.io', ['pv-protection'])
  await api.create({ kind: CLAIM, body: claimBody('c') })
  await api.delete({ kind: CLAIM, name: 'c' })
  await rest(api)
  assert.deepEqual(await finalizersOf(api, CLAIM, 'c'), ['orch.io/pvc-protection'])
  await api.patch({ kind: CLAIM, name: 'c', body: { metadata: { finalizers: null } } })
  assert.ok(await isGone(api, CLAIM, 'c'))
})

void test('a claim that is deleted while its use is looked up leaves nothing behind for a claim of the same name', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const { store, clock, catalog, registry } = api
  const finalizer = 'orch.io/pvc-protection'
  const plural = 'persistentvolumeclaims'
  const user = { name: 'system:controller', uid: '', groups: [], extra: {} }
  const objects = new Informer({
    ...{ store, clock, prefix: prefixOf({ group: '', plural, namespace: null }) },
    parse: (stored) => needsProtectionStep(finalizer, stored),
  })
  t.after(() => objects.close())
  let uses = 0
  const controller = storageProtection({
    ...{ clock, catalog, plural, finalizer, objects, events: recorderOf(api) },
    client: new LocalClient({ registry, clock, user, timeoutMs: 10_000 }),
    useOf: async () => {
      if (uses++ > 0) return { kind: 'unused' }
      await api.patch({ kind: CLAIM, name: 'c', body: { metadata: { finalizers: null } } })
      await rest(api)
      return { kind: 'used', by: 'a Pod' }
    },
    onError: (_, cause) => assert.fail(String(cause)),
  })
  objects.start()
  controller.start()
  t.after(() => controller.stop())
  for (const time of [1, 2]) {
    await api.create({ kind: CLAIM, body: claimBody('c') })
    await rest(api)
    assert.deepEqual(await finalizersOf(api, CLAIM, 'c'), [finalizer])
    await api.delete({ kind: CLAIM, name: 'c' })
    await rest(api)
    await rest(api)
    assert.deepEqual([await isGone(api, CLAIM, 'c'), uses], [true, time])
  }
  assert.deepEqual(await eventsIn(api), [])
})
