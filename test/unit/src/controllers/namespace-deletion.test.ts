/*
 * Goal: the content of a deleted namespace and then the namespace are removed, also when the leader
 * changes. Method: the shipped controller on the shipped verbs, and a clock that moves by hand.
 */
import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import { admissionChain } from '../../../../src/admission/chain.ts'
import type { AdmissionPlugin } from '../../../../src/admission/chain.ts'
import { forbidden, timeout } from '../../../../src/api/errors/standard-errors.ts'
import { objectMember, objectsMember, textMember } from '../../../../src/api/json.ts'
import type { JsonObject } from '../../../../src/api/json.ts'
import { namespaceDeletion } from '../../../../src/controllers/namespace-deletion.ts'
import type { AnyObject } from '../../../../src/registry/kinds/definition.ts'
import { parseStored } from '../../../../src/registry/kinds/encode.ts'
import { Informer } from '../../../../src/registry/informer.ts'
import { LocalClient } from '../../../../src/registry/local-client.ts'
import type { ObjectStore, View } from '../../../../src/store/object-store.ts'
import { prefixOf } from '../../../../src/store/key.ts'
import { customVersion } from '../../../support/fixtures/custom-definition.ts'
import { customKind } from '../../../support/fixtures/custom-kind.ts'
import { Fixture, refused } from '../registry/fixture.ts'
import type { FixtureOptions } from '../registry/fixture.ts'
import { defined, Gate } from './definition-member.ts'
import { recorderOf } from './recorded-events.ts'

type Running = {
  /** Number of errors in metrics. */
  readonly counted: () => number
  readonly close: () => void
}

/**
 * Starts the controller of a member that leads.
 *
 * @param applied what the member has applied; by default everything
 */
function lead(api: Fixture, errors: unknown[], applied: Pick<ObjectStore, 'view'> = api.store): Running {
  const { clock, names, catalog, registry, store } = api
  const prefix = prefixOf({ group: '', plural: 'namespaces', namespace: null })
  const namespaces = new Informer<AnyObject>({ store, clock, prefix, parse: parseStored })
  const user = { name: 'system:controller', uid: '', groups: [], extra: {} }
  const client = new LocalClient({ registry, clock, user, timeoutMs: 10_000 })
  const onError = (key: string, cause: unknown) => void errors.push([key, cause])
  const definitions = { lacksObjectsIn: () => false }
  const controller = namespaceDeletion({
    ...{ clock, names, catalog, store: applied, client, namespaces, definitions, onError },
    events: recorderOf(api),
  })
  namespaces.start()
  controller.start()
  return {
    counted: () => controller.queue.errors,
    close: () => {
      controller.stop()
      namespaces.close()
    },
  }
}

async function turns(): Promise<void> {
  for (let at = 0; at < 60; at++) await turn()
}

async function filled(options: FixtureOptions = {}): Promise<Fixture> {
  const api = await Fixture.open(options)
  await api.create({ kind: 'Namespace', body: { metadata: { name: 'n' } } })
  for (let at = 0; at < 5; at++) {
    await api.create({ namespace: 'n', body: { metadata: { name: `c${at}` } } })
    await api.create({ kind: 'Secret', namespace: 'n', body: { metadata: { name: `s${at}` } } })
  }
  await api.configMap('other')
  return api
}

void test('a deleted namespace is removed with its content; others are not affected', async (t) => {
  const api = await filled()
  t.after(() => api.close())
  const errors: unknown[] = []
  const member = lead(api, errors)
  await turns()
  assert.equal((await api.list({ namespace: 'n' })).items.length, 5)
  await api.delete({ kind: 'Namespace', name: 'n' })
  await turns()
  assert.equal((await refused(api.get({ kind: 'Namespace', name: 'n' }))).code, 404)
  assert.deepEqual((await api.list({ namespace: null, kind: 'Secret' })).items, [])
  assert.deepEqual(
    (await api.list({ namespace: null })).items.map(({ metadata }) => metadata.name),
    ['other'],
  )
  assert.deepEqual(errors, [])
  member.close()
})

void test('a leader that has not applied the content of a namespace yet does not remove the namespace first', async (t) => {
  const api = await filled()
  t.after(() => api.close())
  let isBehind = true
  const view = (): View => {
    const now = api.store.view()
    if (!isBehind) return now
    return {
      revision: now.revision,
      get: (key) => now.get(key),
      list: (prefix, options) => now.list(prefix, options),
      count: () => 0,
    }
  }
  const member = lead(api, [], { view })
  await api.delete({ kind: 'Namespace', name: 'n' })
  await turns()
  assert.equal((await api.get({ kind: 'Namespace', name: 'n' })).code, 200)
  assert.equal((await api.list({ namespace: 'n' })).items.length, 5)
  isBehind = false
  for (let step = 0; step < 5; step++) {
    api.clock.advance(1000)
    await turns()
  }
  assert.equal((await refused(api.get({ kind: 'Namespace', name: 'n' }))).code, 404)
  assert.equal((await api.list({ namespace: 'n' })).items.length, 0)
  member.close()
})

void test('a leader that stalled half-way leaves the objects of a later namespace of the same name', async (t) => {
  const gate = new Gate()
  const api = await filled({ wrap: (store) => gate.before(store) })
  t.after(() => api.close())
  const errors: unknown[] = []
  const stalled = lead(api, errors)
  gate.close((key) => key.startsWith('/configmaps/n/'), 'once')
  await api.delete({ kind: 'Namespace', name: 'n' })
  await gate.held
  const next = lead(api, errors)
  await turns()
  assert.equal((await refused(api.get({ kind: 'Namespace', name: 'n' }))).code, 404)
  await api.create({ kind: 'Namespace', body: { metadata: { name: 'n' } } })
  for (const kind of ['ConfigMap', 'Secret'])
    await api.create({ kind, namespace: 'n', body: { metadata: { name: 'later' } } })
  gate.open()
  await turns()
  api.clock.advance(1000)
  await turns()
  for (const kind of ['ConfigMap', 'Secret'])
    assert.equal((await api.list({ kind, namespace: 'n' })).items.length, 1, kind)
  assert.deepEqual(errors, [])
  stalled.close()
  next.close()
})

void test('the deletion of a namespace continues after it was changed half-way', async (t) => {
  const gate = new Gate()
  const api = await filled({ wrap: (store) => gate.before(store) })
  t.after(() => api.close())
  const errors: unknown[] = []
  const member = lead(api, errors)
  gate.close((key) => key.startsWith('/configmaps/n/'))
  await api.delete({ kind: 'Namespace', name: 'n' })
  await gate.held
  await api.patch({ kind: 'Namespace', name: 'n', body: { metadata: { labels: { changed: 'yes' } } } })
  gate.open()
  await turns()
  assert.equal((await refused(api.get({ kind: 'Namespace', name: 'n' }))).code, 404)
  assert.deepEqual(errors, [])
  member.close()
})

void test('the deletion of a namespace waits for finalizers, and its status names them', async (t) => {
  const api = await filled()
  t.after(() => api.close())
  const errors: unknown[] = []
  const first = lead(api, errors)
  await api.patch({ namespace: 'n', name: 'c1', body: { metadata: { finalizers: ['x.io/a'] } } })
  await api.delete({ kind: 'Namespace', name: 'n' })
  await turns()
  const { object } = await api.get({ kind: 'Namespace', name: 'n' })
  const status = object['status'] as JsonObject
  assert.equal(status['phase'], 'Terminating')
  const conditions = status['conditions'] as readonly JsonObject[]
  assert.deepEqual(
    conditions.map((one) => `${textMember(one, 'type')} ${textMember(one, 'status')}`),
    [
      'NamespaceDeletionDiscoveryFailure False',
      'NamespaceDeletionGroupVersionParsingFailure False',
      'NamespaceDeletionContentFailure False',
      'NamespaceContentRemaining True',
      'NamespaceFinalizersRemaining True',
    ],
  )
  assert.deepEqual(
    conditions.slice(3).map(({ message }) => message),
    [
      'Some resources are remaining: configmaps. has 1 resource instances',
      'Some content in the namespace has finalizers remaining: x.io/a in 1 resource instances',
    ],
  )
  const before = api.store.view().revision
  api.clock.advance(1000)
  await turns()
  assert.equal(api.store.view().revision, before, 'an unchanged status is not written again')

  // Another leader continues where the first one stopped.
  first.close()
  await api.patch({ namespace: 'n', name: 'c1', body: { metadata: { finalizers: null } } })
  const second = lead(api, errors)
  await turns()
  assert.equal((await refused(api.get({ kind: 'Namespace', name: 'n' }))).code, 404)
  assert.deepEqual(errors, [])
  second.close()
})

void test('a namespace is removed after the finalizer that kept an object in it for hours, though nothing changes the namespace', async (t) => {
  const api = await filled()
  t.after(() => api.close())
  const member = lead(api, [])
  await api.patch({ namespace: 'n', name: 'c1', body: { metadata: { finalizers: ['x.io/a'] } } })
  await api.delete({ kind: 'Namespace', name: 'n' })
  for (let halfMinutes = 0; halfMinutes < 2 * 60 * 2; halfMinutes++) {
    api.clock.advance(30_000)
    await turns()
  }
  await api.patch({ namespace: 'n', name: 'c1', body: { metadata: { finalizers: null } } })
  api.clock.advance(30_000)
  await turns()
  assert.equal((await refused(api.get({ kind: 'Namespace', name: 'n' }))).code, 404)
  member.close()
})

void test('a kind whose objects cannot be deleted does not block the others, and the status names it', async (t) => {
  let refusing = true
  const refuse: AdmissionPlugin = {
    name: 'refuse',
    validate: ({ definition, operation }) => {
      if (refusing && operation === 'DELETE' && definition.plural === 'configmaps')
        throw forbidden({ group: '', resource: 'configmaps' }, '', `for a reason ${'x'.repeat(5000)}`)
    },
  }
  const api = await filled({ admission: admissionChain([refuse]) })
  t.after(() => api.close())
  const errors: unknown[] = []
  const member = lead(api, errors)
  await api.delete({ kind: 'Namespace', name: 'n' })
  await turns()
  assert.deepEqual((await api.list({ kind: 'Secret', namespace: 'n' })).items, [])
  assert.equal((await api.list({ namespace: 'n' })).items.length, 5)
  assert.ok(errors.length > 0)
  assert.equal(member.counted(), errors.length)
  const { object } = await api.get({ kind: 'Namespace', name: 'n' })
  const failure = objectsMember(objectMember(object, 'status'), 'conditions').find(
    ({ type }) => type === 'NamespaceDeletionContentFailure',
  )
  assert.deepEqual([failure?.['status'], failure?.['reason']], ['True', 'ContentDeletionFailed'])
  const message = textMember(failure ?? {}, 'message')
  assert.match(message, /^Failed to delete all resource types, 1 remaining: configmaps\.: .*for a reason x/)
  assert.ok(message.length < 1000)
  refusing = false
  for (let at = 0; at < 10; at++) {
    api.clock.advance(10_000)
    await turns()
  }
  assert.equal((await refused(api.get({ kind: 'Namespace', name: 'n' }))).code, 404)
  member.close()
})

void test('without a quorum an attempt ends with the first kind', async (t) => {
  let asked = 0
  const api = await filled({
    admission: admissionChain([
      {
        name: 'no quorum',
        validate: ({ operation, definition }) => {
          if (operation !== 'DELETE' || definition.plural === 'namespaces') return
          asked++
          throw timeout('no quorum answered in time')
        },
      },
    ]),
  })
  t.after(() => api.close())
  const errors: unknown[] = []
  const member = lead(api, errors)
  await api.delete({ kind: 'Namespace', name: 'n' })
  await turns()
  // The five objects of one kind are deleted concurrently.
  assert.deepEqual([asked, errors.length], [5, 1])
  member.close()
})

void test('a namespace with another finalizer is not written again', async (t) => {
  const api = await filled()
  t.after(() => api.close())
  const spec = { finalizers: ['x.io/mine'] }
  await api.create({ kind: 'Namespace', body: { metadata: { name: 'm' }, spec } })
  const member = lead(api, [])
  await api.delete({ kind: 'Namespace', name: 'm' })
  await turns()
  const before = await api.get({ kind: 'Namespace', name: 'm' })
  assert.deepEqual(before.object['spec'], spec)
  api.clock.advance(100_000)
  await turns()
  const { object } = await api.get({ kind: 'Namespace', name: 'm' })
  assert.equal(object.metadata.resourceVersion, before.object.metadata.resourceVersion)
  member.close()
})

void test('objects of custom kinds are deleted too, whichever versions are served', async (t) => {
  const api = await filled()
  t.after(() => api.close())
  const errors: unknown[] = []
  const tabs = customKind({ group: 'example.com', plural: 'tabs', kind: 'Tab' })
  const v2 = { ...tabs, version: 'v2', storedAs: { name: 'v1' } }
  // The kind `Row` does not serve its storage version.
  const rows = customKind({ group: 'example.com', plural: 'rows', kind: 'Row', storedAs: { name: 'v0' } })
  const member = lead(api, errors)
  await turns()
  api.catalog.setCustom([v2, tabs, rows])
  for (const kind of ['Tab', 'Row']) {
    for (const name of ['a', 'b']) await api.create({ kind, namespace: 'n', body: { metadata: { name } } })
    await api.create({ kind, body: { metadata: { name: 'other' } } })
  }
  await api.delete({ kind: 'Namespace', name: 'n' })
  await turns()
  assert.equal((await refused(api.get({ kind: 'Namespace', name: 'n' }))).code, 404)
  for (const kind of ['Tab', 'Row']) {
    const { items } = await api.list({ namespace: null, kind })
    assert.deepEqual(
      items.map(({ metadata }) => metadata.name),
      ['other'],
      kind,
    )
  }
  assert.deepEqual(errors, [])
  member.close()
})

void test('objects of a definition without a served version are deleted too, and keep their namespace until then', async (t) => {
  const member = await defined()
  t.after(() => member.close())
  const { api } = member
  await api.create({ kind: 'Namespace', body: { metadata: { name: 'n' } } })
  await api.create({ kind: 'Widget', namespace: 'n', body: { metadata: { name: 'a' }, spec: {} } })
  const metadata = { name: 'kept', finalizers: ['x.io/a'] }
  await api.create({ kind: 'Widget', namespace: 'n', body: { metadata, spec: {} } })
  await member.widget('other')
  const serve = async (served: boolean): Promise<void> => {
    const spec = { versions: [{ ...customVersion('v1'), served }] }
    await api.patch({ kind: 'CustomResourceDefinition', name: 'widgets.example.com', body: { spec } })
    await member.untilCurrent()
  }
  await serve(false)
  assert.equal(api.catalog.find('example.com', 'v1', 'widgets'), null)
  await api.delete({ kind: 'Namespace', name: 'n' })
  const { object } = await api.get({ kind: 'Namespace', name: 'n' })
  const emptied = { ...object, spec: { finalizers: [] } }
  const byHand = await refused(
    api.update({ kind: 'Namespace', name: 'n', subresource: 'finalize', body: emptied }),
  )
  assert.equal(byHand.code, 409)
  const errors: unknown[] = []
  const running = lead(api, errors)
  await turns()
  assert.equal(member.left, 2)
  const reported = objectMember((await api.get({ kind: 'Namespace', name: 'n' })).object, 'status')
  const remaining = objectsMember(reported, 'conditions')[3]
  const words = 'Some resources are remaining: widgets.example.com has 1 resource instances'
  assert.equal(remaining?.['message'], words)
  await serve(true)
  const released = { metadata: { finalizers: null } }
  await api.patch({ kind: 'Widget', namespace: 'n', name: 'kept', body: released })
  await serve(false)
  api.clock.advance(1000)
  await turns()
  assert.equal((await refused(api.get({ kind: 'Namespace', name: 'n' }))).code, 404)
  assert.equal(member.left, 1, 'those elsewhere are left alone')
  assert.deepEqual(errors, [])
  running.close()
})

void test('objects that only a conversion webhook could convert are deleted with their namespace', async (t) => {
  const member = await defined()
  t.after(() => member.close())
  const { api } = member
  await api.create({ kind: 'Namespace', body: { metadata: { name: 'n' } } })
  await api.create({ kind: 'Widget', namespace: 'n', body: { metadata: { name: 'a' }, spec: {} } })
  const webhook = { clientConfig: { url: 'https://a.example/convert' }, conversionReviewVersions: ['v1'] }
  const versions = [{ ...customVersion('v1'), storage: false }, customVersion('v2')]
  const spec = { versions, conversion: { strategy: 'Webhook', webhook } }
  await api.patch({ kind: 'CustomResourceDefinition', name: 'widgets.example.com', body: { spec } })
  await member.untilCurrent()
  const v2 = 'example.com/v2/Widget'
  assert.equal(
    (await refused(api.get({ kind: v2, namespace: 'n', name: 'a' }))).code,
    503,
    'no webhook is called',
  )
  await api.create({ kind: v2, namespace: 'n', body: { metadata: { name: 'b' }, spec: {} } })
  await api.delete({ kind: 'Namespace', name: 'n' })
  const errors: unknown[] = []
  const running = lead(api, errors)
  await turns()
  assert.deepEqual(errors, [])
  assert.equal(member.left, 0)
  assert.equal((await refused(api.get({ kind: 'Namespace', name: 'n' }))).code, 404)
  running.close()
})

void test('a namespace is kept while it contains objects of a kind that this member does not serve yet', async (t) => {
  const tabs = customKind({ group: 'example.com', plural: 'tabs', kind: 'Tab' })
  let untilCurrent = 0
  const api: Fixture = await Fixture.open({
    definitionsTakenIn: async () => {
      untilCurrent++
      await turn()
      api.catalog.setCustom([tabs])
    },
  })
  t.after(() => api.close())
  await api.create({ kind: 'Namespace', body: { metadata: { name: 'n' } } })
  api.catalog.setCustom([tabs])
  await api.create({ kind: 'Tab', namespace: 'n', body: { metadata: { name: 'a' } } })
  await api.delete({ kind: 'Namespace', name: 'n' })
  api.catalog.setCustom([])
  const before = untilCurrent
  const call = { kind: 'Namespace', name: 'n', subresource: 'finalize' }
  const { object } = await api.get({ kind: 'Namespace', name: 'n' })
  const refusal = await refused(api.update({ ...call, body: { ...object, spec: { finalizers: [] } } }))
  assert.equal(refusal.code, 409)
  assert.ok(untilCurrent > before)
  assert.equal((await api.get({ kind: 'Namespace', name: 'n' })).code, 200)
})
