/*
 * Goal: every write takes the same steps in the same order, is evaluated once unless what it read
 * has changed, and calls external services once for the same object. Method: the shipped verbs on
 * the state machine in memory, with plugins that count and a store that can be stale.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { admissionChain } from '../../../../../src/admission/chain.ts'
import type { AdmissionPlugin, RemotePlugin } from '../../../../../src/admission/chain.ts'
import { namespaceLifecycle } from '../../../../../src/admission/namespace-lifecycle.ts'
import { forbidden } from '../../../../../src/api/errors/standard-errors.ts'
import { objectMember, objectsMember, textMember } from '../../../../../src/api/json.ts'
import type { JsonObject } from '../../../../../src/api/json.ts'
import { namesOf } from '../../../../../src/api/metadata/names.ts'
import type { AdmissionRequest } from '../../../../../src/registry/calls/admission.ts'
import type { AnyObject } from '../../../../../src/registry/kinds/definition.ts'
import { encode } from '../../../../../src/registry/kinds/encode.ts'
import { customKinds } from '../../../../../src/resources/crd/custom-kind.ts'
import type { Operation } from '../../../../../src/store/command.ts'
import { keyOf } from '../../../../../src/store/key.ts'
import type { StoredObject } from '../../../../../src/store/object-store.ts'
import { revision as revisionOf } from '../../../../../src/store/revision.ts'
import type { Key } from '../../../../../src/store/key.ts'
import { customKind } from '../../../../support/fixtures/custom-kind.ts'
import { definitionBody, definitionKind } from '../../resources/crd/definition-samples.ts'
import { LaggingStore } from '../lagging-store.ts'
import { Fixture, refused } from '../fixture.ts'
import type { Call, Obj } from '../fixture.ts'

const names = namesOf('orch.io')
const dryRun = { dryRun: 'All' }

type Kit = {
  readonly api: Fixture
  readonly store: LaggingStore
  /** Returns the numbers of evaluations and of read barriers since its last call. */
  readonly counted: () => readonly [evaluations: number, barriers: number]
}

/** @param plugins before the shipped one */
async function open(t: TestContext, plugins: readonly AdmissionPlugin[] = []): Promise<Kit> {
  let evaluations = 0
  let barriers = 0
  const counter: AdmissionPlugin = {
    name: 'Counter',
    mutate: ({ object }) => {
      evaluations++
      return object
    },
  }
  let store: LaggingStore | null = null
  const api = await Fixture.open({
    admission: admissionChain([counter, ...plugins, namespaceLifecycle({ names })]),
    wrap: (real) => {
      store = new LaggingStore(real)
      return store
    },
  })
  t.after(() => api.close())
  assert.ok(store !== null)
  const behind: LaggingStore = store
  const counted = (): readonly [number, number] => {
    const now = [evaluations, behind.barriers - barriers] as const
    evaluations = 0
    barriers = behind.barriers
    return now
  }
  return { api, store: behind, counted }
}

/** Returns the calls that end without a write, for an object `a` that exists. */
function callsWithoutWrite(api: Fixture, of: Call, valid: JsonObject, wrong: JsonObject): readonly CallRow[] {
  const create = (name: string, more: JsonObject, query = {}): Promise<unknown> =>
    api.create({ ...of, query, body: { metadata: { name }, ...more } })
  return [
    { what: 'a create that exists', run: () => refused(create('a', valid)) },
    { what: 'an invalid create', run: () => refused(create('b', wrong)) },
    { what: 'an invalid patch', run: () => refused(api.patch({ ...of, name: 'a', body: wrong })) },
    { what: 'a conflict', run: () => refused(api.patch({ ...of, name: 'a', body: otherVersion })) },
    {
      what: 'a deletion of another uid',
      run: () => refused(api.delete({ ...of, name: 'a', body: otherUid })),
    },
    { what: 'a create as a dry run', run: () => create('b', valid, dryRun) },
    {
      what: 'a patch as a dry run',
      run: () => api.patch({ ...of, name: 'a', body: labelled, query: dryRun }),
    },
    { what: 'a deletion as a dry run', run: () => api.delete({ ...of, name: 'a', query: dryRun }) },
    { what: 'a patch that changes nothing', run: () => api.patch({ ...of, name: 'a', body: {} }) },
  ]
}

type CallRow = { readonly what: string; readonly run: () => Promise<unknown> }

const otherVersion: JsonObject = { metadata: { resourceVersion: '1' } }
const otherUid: JsonObject = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid: 'x' } }
const labelled: JsonObject = { metadata: { labels: { a: 'b' } } }

void test('a refused write, a dry run and a write without a change are evaluated at most once, after one barrier', async (t) => {
  const { api, counted } = await open(t)
  await api.configMap('a')
  counted()
  const wrong = { metadata: { name: 'b', labels: { 'a b': 'c' } } }
  for (const { what, run } of callsWithoutWrite(api, {}, {}, wrong)) {
    await run()
    const [evaluations, barriers] = counted()
    // Some are refused before admission runs.
    assert.ok(evaluations <= 1 && barriers === 1, `${what}: ${evaluations} evaluations, ${barriers} barriers`)
  }
})

void test('a write of a custom kind that stores nothing is evaluated at most once, after one barrier', async (t) => {
  const { api, counted } = await open(t)
  const kind = await defineGadgets(api)
  const valid = { spec: { count: 1 } }
  await api.create({ kind, body: { metadata: { name: 'a' }, ...valid } })
  counted()
  for (const { what, run } of callsWithoutWrite(api, { kind }, valid, { spec: { count: -1 } })) {
    await run()
    const [evaluations, barriers] = counted()
    assert.ok(evaluations <= 1 && barriers === 1, `${what}: ${evaluations} evaluations, ${barriers} barriers`)
  }
})

/** @returns the kind */
async function defineGadgets(api: Fixture): Promise<string> {
  const count = { type: 'integer', minimum: 0 }
  const schema = { type: 'object', properties: { spec: { type: 'object', properties: { count } } } }
  const called = { plural: 'gadgets', singular: 'gadget', kind: 'Gadget', listKind: 'GadgetList' }
  const body = definitionBody({ schema })
  await api.create({ kind: definitionKind, body: { ...body, spec: { ...body.spec, names: called } } })
  const conditions = [{ type: 'Established', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }]
  const named = { kind: definitionKind, name: 'gadgets.test.example' }
  const status = { conditions, acceptedNames: called }
  await api.patch({ ...named, subresource: 'status', body: { status } })
  api.catalog.setCustom(customKinds((await api.get(named)).object, api.names))
  return 'Gadget'
}

void test('a successful write is evaluated once and needs no barrier', async (t) => {
  const { api, counted } = await open(t)
  const kind = await defineGadgets(api)
  for (const of of [{}, { kind }]) {
    counted()
    await api.create({ ...of, body: { metadata: { name: 'a' } } })
    assert.deepEqual(counted(), [1, 0])
    await api.patch({ ...of, name: 'a', body: labelled })
    assert.deepEqual(counted(), [1, 0])
    const { object } = await api.get({ ...of, name: 'a' })
    counted()
    await api.update({ ...of, name: 'a', body: { ...object, metadata: { ...object.metadata, labels: {} } } })
    assert.deepEqual(counted(), [1, 0])
    await api.delete({ ...of, name: 'a' })
    assert.deepEqual(counted(), [1, 0])
  }
})

void test('a refusal that depends on stale memory is evaluated again', async (t) => {
  const { api, store, counted } = await open(t)
  await api.configMap('a', { data: { k: '1' } })
  const key = '/configmaps/default/a' as Key
  const old = store.view().get(key)
  await api.patch({ name: 'a', body: { data: { k: '2' } } })
  store.old.set(key, old)
  counted()
  // Compared with the stale object this patch would change nothing.
  await api.patch({ name: 'a', body: { data: { k: '1' } } })
  assert.deepEqual(counted(), [2, 1])
})

void test('a review is evaluated once and needs no barrier', async (t) => {
  const { api, counted } = await open(t)
  const body = { spec: { nonResourceAttributes: { path: '/x', verb: 'get' } } }
  assert.equal((await api.create({ kind: 'SelfSubjectAccessReview', body })).code, 201)
  assert.deepEqual(counted(), [1, 0])
  const refusal = await refused(api.create({ kind: 'SelfSubjectAccessReview', body: { spec: {} } }))
  assert.equal(refusal.code, 422)
  assert.deepEqual(counted(), [1, 0])
})

/** Returns a webhook plugin that records its calls, and decides by `judge`. */
function remote(judge: (request: AdmissionRequest) => AnyObject | null): {
  readonly plugin: AdmissionPlugin
  readonly calls: AdmissionRequest[]
} {
  const calls: AdmissionRequest[] = []
  const mutate = async (request: AdmissionRequest): Promise<AnyObject | null> => {
    calls.push(request)
    return judge(request)
  }
  return { plugin: { name: 'Remote', callsOut: true, mutate }, calls }
}

void test('a webhook plugin is not called for a request that it does not match', async (t) => {
  const { plugin, calls } = remote(({ object }) => object)
  assert.ok(plugin.callsOut === true)
  const judged: AdmissionRequest[] = []
  const validate = (request: AdmissionRequest): Promise<void> => {
    judged.push(request)
    return Promise.resolve()
  }
  const concerns = ({ definition }: AdmissionRequest): boolean => definition.plural === 'namespaces'
  const picky: RemotePlugin = { ...plugin, validate, concerns }
  const { api } = await open(t, [picky])
  await api.create({ kind: 'Namespace', body: { metadata: { name: 'n' } } })
  assert.deepEqual([calls.length, judged.length], [1, 1])
  const made = await api.create({ kind: 'ConfigMap', namespace: 'n', body: { metadata: { name: 'c' } } })
  assert.equal(made.code, 201)
  assert.deepEqual([calls.length, judged.length], [1, 1])
})

void test('a webhook plugin is called once, though the write is evaluated again', async (t) => {
  const { plugin, calls } = remote(({ object }) => object)
  const { api, store, counted } = await open(t, [plugin])
  await api.create({ kind: 'Namespace', body: { metadata: { name: 'n' } } })
  store.old.set('/namespaces//n' as Key, null)
  counted()
  calls.length = 0
  assert.equal((await api.create({ namespace: 'n', body: { metadata: { generateName: 'a-' } } })).code, 201)
  assert.deepEqual(counted(), [2, 1])
  assert.equal(calls.length, 1)
})

void test('a webhook plugin is called again when the object differs, with the same request uid', async (t) => {
  const { plugin, calls } = remote(({ object }) => object)
  const { api, store } = await open(t, [plugin])
  await api.configMap('a', { data: { k: '1' } })
  const key = '/configmaps/default/a' as Key
  const old = store.view().get(key)
  await api.patch({ name: 'a', body: { data: { k: '2' } } })
  store.old.set(key, old)
  calls.length = 0
  await api.patch({ name: 'a', body: { data: { k: '1' } } })
  assert.deepEqual(
    calls.map(({ oldObject }) => textMember(objectMember(oldObject ?? {}, 'data'), 'k')),
    ['1', '2'],
  )
  assert.equal(new Set(calls.map(({ context }) => context.requestUid)).size, 1)
})

void test('a refusal by a webhook plugin is cached', async (t) => {
  const { plugin, calls } = remote(() => {
    throw forbidden({ group: '', resource: 'configmaps' }, 'a', 'no')
  })
  const { api, store, counted } = await open(t, [{ ...namespaceLifecycle({ names }), name: 'First' }, plugin])
  // Something that was read changes during the barrier, but not the object.
  const key = '/namespaces//default' as Key
  const current = store.view().get(key)
  assert.ok(current !== null)
  const { uid, labels, bytes, byteLength, beginning, itemOffset, terminating } = current
  const rest = { key, uid, labels, bytes, byteLength, beginning, itemOffset, terminating }
  const copyTo: StoredObject['copyTo'] = (...where) => current.copyTo(...where)
  const older = { ...rest, copyTo, revision: revisionOf(999) }
  store.old.set(key, older)
  assert.equal((await refused(api.configMap('a'))).code, 403)
  assert.deepEqual(counted(), [2, 1])
  assert.equal(calls.length, 1)
})

void test('each object of a deletecollection is a separate request to admission', async (t) => {
  const { plugin, calls } = remote(({ object }) => object)
  const { api } = await open(t, [plugin])
  for (const name of ['a', 'b']) await api.configMap(name)
  calls.length = 0
  await api.deleteCollection({})
  assert.deepEqual(
    calls.map(({ operation, target }) => `${operation} ${target.name ?? ''}`),
    ['DELETE a', 'DELETE b'],
  )
  assert.equal(new Set(calls.map(({ context }) => context.requestUid)).size, 2)
})

void test('the steps of a create and of an update run in one order', async (t) => {
  const log: string[] = []
  const noted =
    (step: string) =>
    (object: AnyObject): AnyObject => {
      log.push(step)
      return object
    }
  const thing = customKind({
    ...{ group: 'test.example', plural: 'things', kind: 'Thing' },
    hooks: {
      fillDefaults: noted('default'),
      prepareForCreate: noted('prepare'),
      prepareForUpdate: noted('prepare'),
      validate: (object) => {
        log.push(`validate ${JSON.stringify(object['spec'])}`)
        return []
      },
      warnings: () => {
        log.push('warn')
        return []
      },
    },
  })
  const plugin: AdmissionPlugin = {
    name: 'Steps',
    mutate: ({ object }) => {
      log.push('mutate')
      // An unknown field is pruned again.
      return object === null ? null : { ...object, spec: 'mutated', unknown: 1 }
    },
    validate: ({ object }) => {
      log.push(`admit ${JSON.stringify(object?.['spec'])} ${JSON.stringify(object?.['unknown'])}`)
    },
    extraOperations: () => {
      log.push('extra operations')
      return []
    },
  }
  const api = await Fixture.open({ extra: [thing], admission: admissionChain([plugin]) })
  t.after(() => api.close())
  const steps = [
    ...['default', 'mutate', 'default', 'prepare', 'validate "mutated"', 'warn'],
    ...['admit "mutated" undefined', 'extra operations'],
  ]
  await api.create({ kind: 'Thing', body: { metadata: { name: 'a' }, spec: 'sent' } })
  assert.deepEqual(log.splice(0), steps)
  await api.patch({ kind: 'Thing', name: 'a', body: { spec: 'patched', ...labelled } })
  assert.deepEqual(log.splice(0), steps)
})

void test('an object changed by a plugin gets defaults for the new parts', async (t) => {
  const sidecar: AdmissionPlugin = {
    name: 'Sidecar',
    mutate: ({ object }) => {
      if (object === null) return null
      const spec = objectMember(object, 'spec')
      const containers = [
        ...objectsMember(spec, 'containers'),
        { name: 'sidecar', image: 'example/sidecar:1' },
      ]
      return { ...object, spec: { ...spec, containers } }
    },
  }
  const { api } = await open(t, [sidecar])
  const containers = [{ name: 'main', image: 'example/main:1' }]
  const { object } = await api.create({
    kind: 'Pod',
    body: { metadata: { name: 'p' }, spec: { containers } },
  })
  const policies = objectsMember(objectMember(object, 'spec'), 'containers').map((container) =>
    textMember(container, 'imagePullPolicy'),
  )
  assert.deepEqual(policies, ['IfNotPresent', 'IfNotPresent'])
})

/** At most two ConfigMaps, counted in an object that changes in the same command. */
function quotaOfTwo(): AdmissionPlugin {
  const key = keyOf({ group: '', plural: 'secrets', namespace: 'default', name: 'usage' })
  return {
    name: 'Quota',
    extraOperations: ({ operation, definition, reads }): readonly Operation[] => {
      if (operation !== 'CREATE' || definition.kind !== 'ConfigMap') return []
      const stored = reads.getOther(key)
      assert.ok(stored !== null)
      const usage = JSON.parse(Buffer.from(stored.bytes).toString()) as Obj & AnyObject
      const used = Number(textMember(objectMember(usage, 'data'), 'used'))
      if (used >= 2) throw forbidden({ group: '', resource: 'configmaps' }, '', 'exceeded quota')
      const object = encode({ ...usage, data: { used: String(used + 1) } })
      const conditions = [{ kind: 'revision-is', revision: stored.revision } as const]
      return [{ kind: 'put', key, conditions, object }]
    },
  }
}

void test('operations that admission adds take effect with the write or not at all', async (t) => {
  const { api } = await open(t, [quotaOfTwo()])
  // Usage is plain text here, and only this test reads it.
  const usage = { metadata: { name: 'usage' }, type: 'example.com/usage', data: { used: '' } }
  await api.create({ kind: 'Secret', body: usage })
  const outcomes = await Promise.allSettled(['a', 'b', 'c', 'd'].map((name) => api.configMap(name)))
  assert.deepEqual(outcomes.map(({ status }) => status).sort(), [
    ...['fulfilled', 'fulfilled', 'rejected', 'rejected'],
  ])
  const { items } = await api.list({})
  assert.equal(items.length, 2)
  const kept = await api.get({ kind: 'Secret', name: 'usage' })
  assert.equal(textMember(objectMember(kept.object, 'data'), 'used'), '2')
  assert.equal((await refused(api.configMap('e', {}))).code, 403)
})

void test('operations that admission adds to a write of a custom kind are stored unconverted', async (t) => {
  const key = keyOf({ group: '', plural: 'configmaps', namespace: 'default', name: 'log' })
  const add: AdmissionPlugin = {
    name: 'Log',
    extraOperations: ({ definition, object }) => {
      if (definition.kind !== 'Gadget' || object === null) return []
      const metadata = { ...object.metadata, name: 'log', uid: 'log-uid' }
      const entry = {
        kind: 'ConfigMap',
        apiVersion: 'v1',
        metadata,
        data: { of: object.metadata.name ?? '' },
      }
      return [{ kind: 'put', key, conditions: [], object: encode(entry) }]
    },
  }
  const { api } = await open(t, [add])
  const kind = await defineGadgets(api)
  await api.create({ kind, body: { metadata: { name: 'a' } } })
  const { object } = await api.get({ name: 'log' })
  assert.deepEqual([object.kind, object.apiVersion, object['data']], ['ConfigMap', 'v1', { of: 'a' }])
})
