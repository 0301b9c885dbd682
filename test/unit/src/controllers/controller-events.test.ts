/*
 * Goal: an operator sees in events what controllers removed or restored, what they wait for, and
 * what a person has to mend; each once, and nothing while there is nothing to see.
 * Method: the shipped controllers, wired as in a server, of one member that leads; admission that
 * refuses some of their writes; and a clock that moves by hand.
 */
import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { admissionChain } from '../../../../src/admission/chain.ts'
import { storageProtectionAdmission } from '../../../../src/admission/storage-protection.ts'
import { forbidden } from '../../../../src/api/errors/standard-errors.ts'
import { namesOf } from '../../../../src/api/metadata/names.ts'
import { CONTROLLERS } from '../../../../src/config/controllers-flag.ts'
import type { ControllerName } from '../../../../src/config/controllers-flag.ts'
import type { AdmissionRequest } from '../../../../src/registry/calls/admission.ts'
import { lead, rest } from '../app/leading-member.ts'
import type { Fixture } from '../registry/fixture.ts'
import { eventsIn, messagesOf } from './recorded-events.ts'
import { storeClusterInfo, storeToken } from './token-bodies.ts'
import { claimBody, volumeBody } from './volume-bodies.ts'

const names = namesOf('orch.io')

type Refusal = (request: AdmissionRequest) => boolean

type Member = {
  readonly api: Fixture
  /** Sets the writes that admission refuses. */
  readonly refuse: (refusal: Refusal) => void
}

async function open(t: TestContext, ...enabled: ControllerName[]): Promise<Member> {
  let refusal: Refusal = () => false
  const refuse = {
    name: 'refuse',
    validate: (request: AdmissionRequest) => {
      const { plural: resource, group } = request.definition
      if (refusal(request)) throw forbidden({ group, resource }, request.target.name ?? '', 'by a test')
    },
  }
  const admission = admissionChain([storageProtectionAdmission({ names }), refuse])
  const api = await lead(t, { domain: 'orch.io', enabled, admission })
  return { api, refuse: (to) => void (refusal = to) }
}

/** Lets the controllers work for some minutes. */
async function pass(api: Fixture, minutes: number): Promise<void> {
  for (let at = 0; at < minutes * 6; at++) {
    for (let turns = 0; turns < 30; turns++) await turn()
    api.clock.advance(10_000)
  }
  for (let turns = 0; turns < 30; turns++) await turn()
}

const namespace = (api: Fixture, name: string, more: object = {}) =>
  api.create({ kind: 'Namespace', body: { metadata: { name }, ...more } })

void test('a new cluster with all controllers, and new namespaces, get no event while nothing is wrong', async (t) => {
  const { api } = await open(t, ...CONTROLLERS)
  await namespace(api, 'n')
  await rest(api)
  await pass(api, 10)
  assert.deepEqual(await eventsIn(api), [])
})

void test('a namespace that content keeps for a minute has one warning each half hour, in the namespace default', async (t) => {
  const { api } = await open(t, 'namespace')
  await namespace(api, 'n')
  for (const name of ['a', 'b'])
    await api.create({ namespace: 'n', body: { metadata: { name, finalizers: ['x.io/kept'] } } })
  await api.delete({ kind: 'Namespace', name: 'n' })
  await rest(api)
  assert.deepEqual(await eventsIn(api), [])
  await pass(api, 20)
  const warning = 'default: Warning SomeFinalizersRemain Namespace n'
  assert.deepEqual(await eventsIn(api), [`${warning} x1`])
  assert.deepEqual(await messagesOf(api, 'SomeFinalizersRemain'), [
    'Some resources are remaining: configmaps. has 2 resource instances. ' +
      'Some content in the namespace has finalizers remaining: x.io/kept in 2 resource instances',
  ])
  await pass(api, 20)
  assert.deepEqual(await eventsIn(api), [`${warning} x2`])
  for (const name of ['a', 'b'])
    await api.patch({ namespace: 'n', name, body: { metadata: { finalizers: null } } })
  await pass(api, 1)
  assert.deepEqual(await eventsIn(api), [
    'default: Normal NamespaceContentDeleted Namespace n x1',
    `${warning} x2`,
  ])
})

void test('an empty namespace that the finalizer of another controller keeps has one warning', async (t) => {
  const { api } = await open(t, 'namespace')
  await namespace(api, 'n', { spec: { finalizers: [names.namespaceFinalizer, 'x.io/mine'] } })
  await api.delete({ kind: 'Namespace', name: 'n' })
  await pass(api, 60)
  assert.deepEqual(await eventsIn(api), [
    'default: Normal NamespaceContentDeleted Namespace n x1',
    'default: Warning SomeFinalizersRemain Namespace n x1',
  ])
  assert.match((await messagesOf(api, 'SomeFinalizersRemain'))[0] ?? '', /are removed: x\.io\/mine$/)
})

void test('a namespace of the same name, which a finalizer keeps as well, has a warning of its own', async (t) => {
  const { api } = await open(t, 'namespace')
  const body = { metadata: { finalizers: null } }
  for (const time of [1, 2]) {
    await namespace(api, 'n')
    await api.patch({ kind: 'Namespace', name: 'n', body: { metadata: { finalizers: ['x.io/mine'] } } })
    await api.delete({ kind: 'Namespace', name: 'n' })
    await pass(api, 3)
    assert.equal((await messagesOf(api, 'SomeFinalizersRemain')).length, time)
    await api.patch({ kind: 'Namespace', name: 'n', body })
    await rest(api)
  }
})

void test('a namespace whose objects cannot be deleted has a warning that does not name them', async (t) => {
  const { api, refuse } = await open(t, 'namespace')
  await namespace(api, 'n')
  await api.create({ namespace: 'n', body: { metadata: { name: 'a' } } })
  refuse(({ operation, definition }) => operation === 'DELETE' && definition.plural === 'configmaps')
  await api.delete({ kind: 'Namespace', name: 'n' })
  await pass(api, 2)
  assert.deepEqual(await eventsIn(api), ['default: Warning ContentDeletionFailed Namespace n x1'])
  const [message = ''] = await messagesOf(api, 'ContentDeletionFailed')
  assert.match(message, /1 remaining: configmaps\.: Forbidden$/)
  const { status = null } = (await api.get({ kind: 'Namespace', name: 'n' })).object
  assert.match(JSON.stringify(status), /configmaps\.: .*by a test/)
})

void test('a deleted claim has one event that names the Pods that use it, and one when it is released', async (t) => {
  const { api } = await open(t, 'pvc-protection')
  for (const name of ['used', 'free'])
    await api.create({ kind: 'PersistentVolumeClaim', body: claimBody(name) })
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'used' } }]
  const spec = { nodeName: 'n1', containers: [{ name: 'c', image: 'i' }], volumes }
  for (const name of ['a', 'b']) await api.create({ kind: 'Pod', body: { metadata: { name }, spec } })
  for (const name of ['used', 'free']) await api.delete({ kind: 'PersistentVolumeClaim', name })
  await rest(api)
  const query = { gracePeriodSeconds: '0' }
  await api.delete({ kind: 'Pod', name: 'a', query })
  const body = { metadata: { labels: { changed: 'yes' } } }
  await api.patch({ kind: 'PersistentVolumeClaim', name: 'used', body })
  await rest(api)
  const postponed = 'default: Normal DeletionPostponed PersistentVolumeClaim used x1'
  assert.deepEqual(await eventsIn(api), [postponed])
  assert.match((await messagesOf(api, 'DeletionPostponed'))[0] ?? '', /use the claim: a, b$/)
  await api.delete({ kind: 'Pod', name: 'b', query })
  await rest(api)
  assert.deepEqual(await eventsIn(api), [
    'default: Normal DeletionContinued PersistentVolumeClaim used x1',
    postponed,
  ])
})

void test('a deleted volume that is bound has an event, in the namespace default', async (t) => {
  const { api } = await open(t, 'pv-protection')
  const { spec } = volumeBody('v') as { readonly spec: object }
  const claimRef = { namespace: 'n', name: 'c' }
  const body = { ...volumeBody('v'), spec: { ...spec, claimRef } }
  await api.create({ kind: 'PersistentVolume', body })
  const status = { status: { phase: 'Bound' } }
  await api.patch({ kind: 'PersistentVolume', name: 'v', subresource: 'status', body: status })
  await api.delete({ kind: 'PersistentVolume', name: 'v' })
  await rest(api)
  assert.deepEqual(await eventsIn(api), ['default: Normal DeletionPostponed PersistentVolume v x1'])
  assert.match((await messagesOf(api, 'DeletionPostponed'))[0] ?? '', /: the volume is bound to a claim$/)
})

void test('a claim whose finalizer cannot be removed has a warning', async (t) => {
  const { api, refuse } = await open(t, 'pvc-protection')
  await api.create({ kind: 'PersistentVolumeClaim', body: claimBody('c') })
  refuse(({ operation }) => operation === 'UPDATE')
  await api.delete({ kind: 'PersistentVolumeClaim', name: 'c' })
  await pass(api, 2)
  assert.deepEqual(await eventsIn(api), ['default: Warning FailedUpdate PersistentVolumeClaim c x1'])
})

void test('a default account that was deleted has an event when it is back; one that cannot be created, a warning on its namespace', async (t) => {
  const { api, refuse } = await open(t, 'serviceaccount')
  await namespace(api, 'n')
  await rest(api)
  const account = { kind: 'ServiceAccount', namespace: 'n', name: 'default' }
  await api.delete(account)
  await rest(api)
  const restored = 'n: Normal ServiceAccountRestored ServiceAccount default x1'
  assert.deepEqual(await eventsIn(api), [restored])
  refuse(({ operation, definition }) => operation === 'CREATE' && definition.plural === 'serviceaccounts')
  await api.delete(account)
  await pass(api, 2)
  assert.deepEqual(await eventsIn(api), ['default: Warning FailedCreate Namespace n x1', restored])
  refuse(() => false)
  await pass(api, 1)
  assert.equal((await api.get(account)).code, 200)
})

void test('a namespace that is being deleted gets no event in it', async (t) => {
  const { api } = await open(t, 'serviceaccount', 'serviceaccount-token', 'pvc-protection')
  await namespace(api, 'n')
  await rest(api)
  await api.create({ kind: 'PersistentVolumeClaim', namespace: 'n', body: claimBody('c') })
  await api.delete({ kind: 'Namespace', name: 'n' })
  for (const kind of ['ServiceAccount', 'Secret']) {
    for (const { metadata } of (await api.list({ kind, namespace: 'n' })).items)
      await api.delete({ kind, namespace: 'n', name: metadata.name })
  }
  await pass(api, 3)
  assert.deepEqual(await eventsIn(api), [])
})

void test('a root CA that a client changed has one event when it is back, and a warning if that goes on', async (t) => {
  const { api } = await open(t, 'root-ca-cert-publisher')
  await rest(api)
  const map = { kind: 'ConfigMap', namespace: 'default', name: names.rootCaConfigMap }
  const body = { data: { [names.rootCaKey]: 'mine' } }
  for (let at = 0; at < 3; at++) {
    await api.patch({ ...map, body })
    await rest(api)
  }
  const restored = `default: Normal RootCARestored ConfigMap ${names.rootCaConfigMap} x1`
  assert.deepEqual(await eventsIn(api), [restored])
  for (let at = 0; at < 10; at++) {
    await api.patch({ ...map, body })
    await rest(api)
  }
  const overwritten = `default: Warning RootCAOverwritten ConfigMap ${names.rootCaConfigMap} x1`
  assert.deepEqual(await eventsIn(api), [restored, overwritten])
})

void test('a root CA that cannot be published has a warning on its namespace', async (t) => {
  const { api, refuse } = await open(t, 'root-ca-cert-publisher')
  await rest(api)
  refuse(({ operation, definition }) => operation === 'CREATE' && definition.plural === 'configmaps')
  await namespace(api, 'n')
  await pass(api, 2)
  assert.deepEqual(await eventsIn(api), ['default: Warning RootCANotPublished Namespace n x1'])
  assert.match((await messagesOf(api, 'RootCANotPublished'))[0] ?? '', /by a test/)
})

void test('a token Secret has an event when it goes with its account, and when it was deleted and is back; one that cannot be created has an event', async (t) => {
  const { api, refuse } = await open(t, 'serviceaccount-token')
  await api.create({ kind: 'ServiceAccount', body: { metadata: { name: 'robot' } } })
  await rest(api)
  const [secret] = (await api.list({ kind: 'Secret' })).items
  const { name = '' } = secret?.metadata ?? {}
  await api.delete({ kind: 'Secret', name })
  await rest(api)
  const restored = 'default: Normal TokenSecretRestored ServiceAccount robot x1'
  assert.deepEqual(await eventsIn(api), [restored])
  await api.delete({ kind: 'ServiceAccount', name: 'robot' })
  await rest(api)
  const removed = `default: Normal ServiceAccountDeleted Secret ${name} x1`
  assert.deepEqual(await eventsIn(api), [removed, restored])
  refuse(({ operation, definition }) => operation === 'CREATE' && definition.plural === 'secrets')
  await api.create({ kind: 'ServiceAccount', body: { metadata: { name: 'other' } } })
  await pass(api, 2)
  const failed = 'default: Warning FailedCreate ServiceAccount other x1'
  assert.deepEqual(await eventsIn(api), [removed, restored, failed])
})

void test('a token Secret that cannot be filled has a warning without the words of the error', async (t) => {
  const { api, refuse } = await open(t, 'serviceaccount-token')
  refuse(({ operation, definition }) => operation === 'UPDATE' && definition.plural === 'secrets')
  await api.create({ kind: 'ServiceAccount', body: { metadata: { name: 'robot' } } })
  await pass(api, 2)
  const [message = ''] = await messagesOf(api, 'FailedUpdate')
  assert.equal(message, 'The Secret cannot be updated or deleted: Forbidden')
})

void test('a quota has an event when its limits are in force, and a warning if more is used or nothing can be stored', async (t) => {
  const { api, refuse } = await open(t, 'resourcequota')
  for (const name of ['a', 'b']) await api.configMap(name)
  const quota = (name: string, hard: Readonly<Record<string, string>>) =>
    api.create({ kind: 'ResourceQuota', body: { metadata: { name }, spec: { hard } } })
  await quota('enough', { configmaps: '5' })
  await quota('small', { configmaps: '1', secrets: '1' })
  await rest(api)
  const inForce = [
    'default: Normal QuotaInForce ResourceQuota enough x1',
    'default: Warning QuotaExceeded ResourceQuota small x1',
  ]
  assert.deepEqual(await eventsIn(api), inForce)
  const [message = ''] = await messagesOf(api, 'QuotaExceeded')
  assert.match(message, /used: configmaps=2, limited: configmaps=1$/)
  await api.configMap('c')
  await pass(api, 6)
  assert.deepEqual(await eventsIn(api), inForce, 'usage that changes is no event')
  refuse(({ definition, target }) => definition.plural === 'resourcequotas' && target.name === 'enough')
  await api.configMap('d')
  await pass(api, 2)
  assert.deepEqual(await eventsIn(api), [
    ...inForce.slice(0, 1),
    ...inForce.slice(1),
    ...['enough', 'small'].map((name) => `default: Warning QuotaNotCounted ResourceQuota ${name} x1`),
  ])
})

void test('an aggregated role has an event when its rules change, and a warning if they cannot', async (t) => {
  const { api, refuse } = await open(t, 'clusterrole-aggregation')
  const labels = { part: 'yes' }
  const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }]
  const part = (name: string, verb: string) =>
    api.create({
      kind: 'ClusterRole',
      body: { metadata: { name, labels }, rules: [{ ...rules[0], verbs: [verb] }] },
    })
  const aggregationRule = { clusterRoleSelectors: [{ matchLabels: labels }] }
  await part('a', 'get')
  await api.create({ kind: 'ClusterRole', body: { metadata: { name: 'whole' }, aggregationRule } })
  await pass(api, 2)
  assert.deepEqual(await eventsIn(api), [], 'the first rules of a role')
  await part('b', 'list')
  await rest(api)
  const aggregated = 'default: Normal ClusterRoleAggregated ClusterRole whole x1'
  assert.deepEqual(await eventsIn(api), [aggregated])
  assert.deepEqual(await messagesOf(api, 'ClusterRoleAggregated'), [
    'The number of rules changed from 1 to 2. They are those of the ClusterRoles a, b',
  ])
  refuse(({ operation, target }) => operation === 'UPDATE' && target.name === 'whole')
  await part('c', 'watch')
  await pass(api, 2)
  assert.deepEqual(await eventsIn(api), [
    aggregated,
    'default: Warning AggregationFailed ClusterRole whole x1',
  ])
})

void test('cluster-info has an event when tokens sign it, and a warning while it has nothing to sign', async (t) => {
  const { api } = await open(t, 'bootstrapsigner')
  await storeToken(api, 'aaaaaa', {})
  await storeToken(api, 'bbbbbb', {})
  await storeClusterInfo(api)
  await rest(api)
  const { publicNamespace } = names
  const info = { kind: 'ConfigMap', namespace: publicNamespace, name: 'cluster-info' }
  const signed = `${publicNamespace}: Normal ClusterInfoSigned ConfigMap cluster-info x1`
  assert.deepEqual(await eventsIn(api), [signed])
  assert.deepEqual(await messagesOf(api, 'ClusterInfoSigned'), [
    'Signed by the bootstrap tokens aaaaaa, bbbbbb',
  ])
  await api.delete({ kind: 'Secret', namespace: names.systemNamespace, name: 'bootstrap-token-aaaaaa' })
  await rest(api)
  assert.ok(
    (await messagesOf(api, 'ClusterInfoSigned')).includes('Removed the signatures of the tokens aaaaaa'),
  )
  await api.patch({ ...info, body: { data: { kubeconfig: null } } })
  await rest(api)
  await pass(api, 5)
  const [unsigned, ...more] = await messagesOf(api, 'ClusterInfoNotSigned')
  assert.match(unsigned ?? '', /kubeconfig is missing/)
  assert.deepEqual(more, [])
})

void test('an expired bootstrap token that cannot be deleted has a warning', async (t) => {
  const { api, refuse } = await open(t, 'tokencleaner')
  refuse(({ operation, definition }) => operation === 'DELETE' && definition.plural === 'secrets')
  await storeToken(api, 'aaaaaa', { expiration: '2000-01-01T00:00:00Z' })
  await pass(api, 2)
  assert.deepEqual(await eventsIn(api), [
    `${names.systemNamespace}: Warning FailedDelete Secret bootstrap-token-aaaaaa x1`,
  ])
})
