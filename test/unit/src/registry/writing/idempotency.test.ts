/*
 * Goal: requests with one idempotency key take effect once and get the first response. Method: the
 * shipped verbs over the shipped machine.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { admissionChain } from '../../../../../src/admission/chain.ts'
import { forbidden } from '../../../../../src/api/errors/standard-errors.ts'
import { recordsPrefix } from '../../../../../src/registry/writing/idempotency.ts'
import { scaleSubresource } from '../../../../../src/resources/scale.ts'
import { customKind } from '../../../../support/fixtures/custom-kind.ts'
import { namesOf } from '../../../../../src/api/metadata/names.ts'
import { placeOf } from '../../../../../src/registry/kinds/definition.ts'
import type { ObjectStore } from '../../../../../src/store/object-store.ts'
import { customDefinition } from '../../../../support/fixtures/custom-definition.ts'
import { instead } from '../../controllers/definition-member.ts'
import { lead, rest } from '../../app/leading-member.ts'
import { Fixture, causes, refused } from '../fixture.ts'
import type { Call, FixtureOptions, Got } from '../fixture.ts'

async function open(t: TestContext, options: FixtureOptions = {}): Promise<Fixture> {
  const api = await Fixture.open(options)
  t.after(() => api.close())
  return api
}

const idempotencyKey = 'k-1'

function records(api: Fixture): number {
  return api.store.view().count(recordsPrefix)
}

/** Sends a request twice, with other writes in between. */
async function twice(
  api: Fixture,
  send: () => Promise<Got>,
  between: () => Promise<unknown> = () => Promise.resolve(),
): Promise<void> {
  const first = await send()
  assert.equal(api.replays, 0)
  await between()
  const { revision } = api.store.view()
  const second = await send()
  assert.deepEqual(second, first)
  assert.equal(api.replays, 1)
  assert.equal(api.store.view().revision, revision, 'nothing is written')
}

void test('a repeated create returns the created object, also after it was changed or deleted', async (t) => {
  for (const between of ['nothing', 'change', 'delete'] as const) {
    const api = await open(t)
    const send = () => api.create({ idempotencyKey, body: { metadata: { name: 'a' }, data: { x: '1' } } })
    await twice(api, send, async () => {
      if (between === 'change') await api.patch({ name: 'a', body: { data: { x: '2' } } })
      if (between === 'delete') await api.delete({ name: 'a' })
    })
    assert.equal((await api.list({})).items.length, between === 'delete' ? 0 : 1)
    assert.equal(records(api), 1)
  }
})

void test('a repeated create with a generated name makes one object', async (t) => {
  const api = await open(t)
  await twice(api, () => api.create({ idempotencyKey, body: { metadata: { generateName: 'a-' } } }))
  assert.equal((await api.list({})).items.length, 1)
})

void test('a repeated patch is applied once and returns the first result', async (t) => {
  const api = await open(t)
  await api.create({
    kind: 'Pod',
    body: { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } },
  })
  const body = [{ op: 'add', path: '/metadata/finalizers', value: ['x.io/a'] }]
  const contentType = 'application/json-patch+json'
  const call: Call = { kind: 'Pod', name: 'p', body, contentType, idempotencyKey }
  await twice(
    api,
    () => api.patch(call),
    () => api.patch({ kind: 'Pod', name: 'p', body: { metadata: { finalizers: null } } }),
  )
  assert.equal((await api.get({ kind: 'Pod', name: 'p' })).object.metadata.finalizers, undefined)
})

void test('a repeated update that named a version returns the first result, no conflict', async (t) => {
  const api = await open(t)
  const { object } = await api.configMap('a')
  const call: Call = { name: 'a', body: { ...object, data: { x: '1' } }, idempotencyKey }
  await twice(
    api,
    () => api.update(call),
    () => api.patch({ name: 'a', body: { data: { x: '2' } } }),
  )
})

void test('a repeated update that changed nothing does not undo a later change', async (t) => {
  const api = await open(t)
  await api.create({ body: { metadata: { name: 'a' }, data: { x: '1' } } })
  await twice(
    api,
    () => api.patch({ name: 'a', body: { data: { x: '1' } }, idempotencyKey }),
    () => api.patch({ name: 'a', body: { data: { x: '2' } } }),
  )
})

void test('a repeated deletion does not delete another object of the same name', async (t) => {
  for (const kind of ['ConfigMap', 'PersistentVolume']) {
    const api = await open(t)
    const spec = { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/d' } }
    const body = { metadata: { name: 'a' }, ...(kind === 'ConfigMap' ? {} : { spec }) }
    await api.create({ kind, body })
    await twice(
      api,
      () => api.delete({ kind, name: 'a', idempotencyKey }),
      () => api.create({ kind, body }),
    )
    assert.equal((await api.get({ kind, name: 'a' })).code, 200)
  }
})

void test('a repeated deletion that finalizers delay, and a repeated removal of the last one, take effect once', async (t) => {
  const api = await open(t)
  await api.create({ body: { metadata: { name: 'a', finalizers: ['x.io/a'] } } })
  await twice(api, () => api.delete({ name: 'a', idempotencyKey }))
  api.replays = 0
  const body = { metadata: { finalizers: null } }
  await twice(
    api,
    () => api.patch({ name: 'a', body, idempotencyKey }),
    () => api.configMap('a'),
  )
  assert.equal((await api.get({ name: 'a' })).code, 200)
  assert.equal(records(api), 2)
})

void test('a repeated binding and a repeated eviction of a Pod get the first response', async (t) => {
  const api = await open(t)
  await api.create({
    kind: 'Pod',
    body: { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } },
  })
  const pod: Call = { kind: 'Pod', name: 'p', idempotencyKey }
  const target = { kind: 'Node', name: 'n1' }
  await twice(api, () =>
    api.create({ ...pod, subresource: 'binding', body: { metadata: { name: 'p' }, target } }),
  )
  api.replays = 0
  await twice(api, () => api.create({ ...pod, subresource: 'eviction', body: { metadata: { name: 'p' } } }))
})

void test('the record of a binding or an eviction holds a Status instead of the Pod', async (t) => {
  const api = await open(t)
  const env = [{ name: 'A', value: 'x'.repeat(10_000) }]
  const spec = { containers: [{ name: 'c', image: 'i', env }] }
  const target = { kind: 'Node', name: 'n1' }
  const body = { metadata: { name: 'p' } }
  const pod = { kind: 'Pod', name: 'p', idempotencyKey }
  await api.create({ kind: 'Pod', body: { ...body, spec } })
  const binding: Call = { ...pod, subresource: 'binding', body: { ...body, target } }
  // Binding through the kind `Binding`, which is an alias of the subresource.
  const alias: Call = { kind: 'Binding', idempotencyKey, body: { metadata: { name: 'q' }, target } }
  await api.create({ kind: 'Pod', body: { metadata: { name: 'q' }, spec } })
  // An eviction without options gives the Pod its grace period, one with 0 seconds removes it.
  const evictions: readonly Call[] = ['', '0'].map((seconds) => ({
    ...{ ...pod, idempotencyKey: `e-${seconds}`, subresource: 'eviction' },
    body: { ...body, ...(seconds === '' ? {} : { deleteOptions: { gracePeriodSeconds: 0 } }) },
  }))
  for (const call of [binding, alias, ...evictions, { ...evictions[0], idempotencyKey: 'e-2' }]) {
    if (call.idempotencyKey === 'e-0') continue
    api.replays = 0
    await twice(api, () => api.create(call))
  }
  api.replays = 0
  await twice(api, () => api.create(evictions[1] as Call))
  assert.equal(records(api), 5)
  const { objects } = api.store.view().list(recordsPrefix, { after: null, limit: null })
  for (const { bytes } of objects) assert.ok(bytes.byteLength < 1000, `${bytes.byteLength} bytes`)
})

void test('an eviction whose options ask for a dry run leaves no record', async (t) => {
  const api = await open(t)
  const spec = { containers: [{ name: 'c', image: 'i' }] }
  await api.create({ kind: 'Pod', body: { metadata: { name: 'p' }, spec } })
  const body = { metadata: { name: 'p' }, deleteOptions: { dryRun: ['All'] } }
  const call: Call = { kind: 'Pod', name: 'p', subresource: 'eviction', idempotencyKey, body }
  assert.equal((await api.create(call)).code, 201)
  assert.equal((await api.get({ kind: 'Pod', name: 'p' })).code, 200)
  assert.equal(records(api), 0)
})

void test('a response is returned without history while the object is unchanged, and is 410 afterwards', async (t) => {
  const api = await open(t)
  const send = () => api.create({ idempotencyKey, body: { metadata: { name: 'a' } } })
  const first = await send()
  // The history is gone, as in a cluster that was restored from a snapshot.
  await api.configMap('b')
  await api.trim()
  assert.deepEqual(await send(), first)
  await api.patch({ name: 'a', body: { data: { x: '1' } } })
  await api.configMap('c')
  await api.trim()
  const { revision } = api.store.view()
  const seen = await refused(send())
  assert.deepEqual([seen.code, seen.reason, ...causes(seen)], [410, 'Expired', 'Applied '])
  assert.ok(seen.message.includes(`Idempotency-Key "${idempotencyKey}" took effect`), seen.message)
  assert.ok(seen.message.includes(first.object.metadata.creationTimestamp ?? '-'), seen.message)
  assert.match(seen.message, /versions after [0-9]+ are kept/)
  assert.equal(api.store.view().revision, revision, 'nothing is written')
})

void test('a deletion of a collection whose history is gone is 410, names its key and deletes nothing more', async (t) => {
  const api = await open(t)
  const send = () => api.deleteCollection({ idempotencyKey })
  await send()
  await api.configMap('b')
  await api.trim()
  const seen = await refused(send())
  assert.deepEqual([seen.code, seen.reason, ...causes(seen)], [410, 'Expired', 'OutcomeUnknown '])
  assert.ok(seen.message.includes(`Idempotency-Key "${idempotencyKey}"`), seen.message)
  assert.equal((await api.get({ name: 'b' })).object.metadata.name, 'b')
})

void test('of two requests that have both found no record, the second gets the response of the first', async (t) => {
  let arrived = 0
  let bothArrived: () => void = () => undefined
  const both = new Promise<void>((resolve) => (bothArrived = resolve))
  const wrap = (store: ObjectStore): ObjectStore =>
    instead(store, {
      write: async (command, deadlineMs) => {
        if (++arrived === 2) bothArrived()
        await both
        return store.write(command, deadlineMs)
      },
    })
  const api = await open(t, { wrap })
  const send = () => api.create({ idempotencyKey, body: { metadata: { generateName: 'a-' } } })
  // The requests come to two members, neither of which has applied the write of the other.
  const answers = await Promise.all([send(), send()])
  assert.ok(arrived >= 2)
  assert.deepEqual(answers[0], answers[1])
  assert.equal(api.replays, 1)
  assert.equal((await api.list({})).items.length, 1)
})

void test('no kind shows the records, and none can be defined that would', async (t) => {
  const api = await open(t)
  await api.create({ body: { metadata: { name: 'a' } }, idempotencyKey })
  assert.equal(records(api), 1)
  assert.deepEqual(
    api.catalog.withUnserved().filter((kind) => placeOf(kind).plural === 'idempotencyrecords'),
    [],
  )
  const words = { group: 'internal', kind: 'IdempotencyRecord' }
  const definition = customDefinition(namesOf('orch.io'), words)
  const seen = await refused(api.create({ kind: 'CustomResourceDefinition', body: definition }))
  assert.equal(seen.code, 422)
  assert.ok(causes(seen).includes('FieldValueInvalid spec.group'), JSON.stringify(causes(seen)))
})

void test('concurrent requests with one key take effect once and get the same response', async (t) => {
  const api = await open(t)
  const send = () => api.create({ idempotencyKey, body: { metadata: { generateName: 'a-' } } })
  const answers = await Promise.all([send(), send(), send(), send()])
  assert.equal(new Set(answers.map(({ object }) => object.metadata.name)).size, 1)
  assert.ok(answers.every(({ code }) => code === 201))
  assert.equal((await api.list({})).items.length, 1)
  assert.equal(api.replays, 3)
})

void test('a key with another body, query or format is 422 and changes nothing', async (t) => {
  const api = await open(t)
  await api.configMap('a')
  const call: Call = { name: 'a', body: { data: { x: '1' } }, idempotencyKey }
  await api.patch(call)
  const others: readonly Call[] = [
    { ...call, body: { data: { x: '2' } } },
    { ...call, query: { fieldManager: 'other' } },
    { ...call, contentType: 'application/strategic-merge-patch+json' },
  ]
  for (const other of others) {
    const { revision } = api.store.view()
    const seen = await refused(api.patch(other))
    assert.equal(seen.code, 422)
    assert.match(seen.message, /use a new key for each change/)
    assert.deepEqual(causes(seen), ['IdempotencyKeyReused '])
    assert.equal(api.store.view().revision, revision)
  }
  assert.equal((await api.patch({ ...call, query: { pretty: 'true' } })).code, 200)
})

void test('a key belongs to one user, verb and path', async (t) => {
  const api = await open(t)
  await api.configMap('a')
  await api.configMap('b')
  const body = { data: { x: '1' } }
  const user = { name: 'other', uid: '', groups: ['system:masters'], extra: {} }
  await api.patch({ name: 'a', body, idempotencyKey })
  await api.patch({ name: 'b', body, idempotencyKey })
  await api.patch({ name: 'a', body: { data: { x: '2' } }, idempotencyKey, user })
  await api.update({ name: 'a', body: { metadata: { name: 'a' } }, idempotencyKey })
  assert.equal(api.replays, 0)
  assert.equal(records(api), 4)
})

void test('refused requests and dry runs leave no record', async (t) => {
  const api = await open(t)
  const body = { metadata: { name: 'a' } }
  await api.create({ body, idempotencyKey, query: { dryRun: 'All' } })
  await api.configMap('a')
  assert.equal((await refused(api.create({ body, idempotencyKey }))).code, 409)
  assert.equal((await refused(api.create({ body: { metadata: { name: 'A' } }, idempotencyKey }))).code, 422)
  assert.equal(records(api), 0)
  await api.delete({ name: 'a' })
  assert.equal((await api.create({ body, idempotencyKey })).code, 201)
  assert.equal(api.replays, 0)
})

void test('an object of a custom kind is returned in the version of the request', async (t) => {
  const api = await open(t)
  const v1 = customKind({ group: 'example.com', plural: 'tabs', kind: 'Tab' })
  const v2 = { ...v1, version: 'v2', storedAs: { name: 'v1' } }
  api.catalog.setCustom([v2, v1])
  const kind = 'example.com/v2/Tab'
  await twice(api, () => api.create({ kind, idempotencyKey, body: { metadata: { name: 'a' } } }))
  assert.equal((await api.get({ kind, name: 'a' })).object.apiVersion, 'example.com/v2')
})

void test('writes to Members refuse an idempotency key, and reviews ignore it', async (t) => {
  const api = await open(t)
  const member = { apiVersion: 'cluster.orch.io/v1', kind: 'Member', metadata: { name: 'n9' }, spec: {} }
  const seen = await refused(api.create({ kind: 'Member', body: member, idempotencyKey }))
  assert.equal(seen.code, 400)
  assert.match(seen.message, /not supported for members/)
  const spec = { nonResourceAttributes: { path: '/', verb: 'get' } }
  assert.equal(
    (await api.create({ kind: 'SelfSubjectAccessReview', body: { spec }, idempotencyKey })).code,
    201,
  )
  assert.equal(records(api), 0)
})

void test('beyond the limit of records a request with a new key is 429', async (t) => {
  const api = await open(t, { limits: { idempotencyRecordsMax: 1 } })
  await api.create({ body: { metadata: { name: 'a' } }, idempotencyKey })
  const seen = await refused(api.create({ body: { metadata: { name: 'b' } }, idempotencyKey: 'k-2' }))
  assert.equal(seen.code, 429)
  assert.equal((await refused(api.get({ name: 'b' }))).code, 404)
  await api.create({ body: { metadata: { name: 'a' } }, idempotencyKey })
  assert.equal(api.replays, 1)
})

void test('beyond the limit of a user a new key of that user is 429, and one of another user is accepted', async (t) => {
  const api = await open(t, { limits: { idempotencyRecordsPerUserMax: 2 } })
  const user = { name: 'other', uid: '', groups: ['system:masters'], extra: {} }
  const send = (name: string, more: Partial<Call> = {}) =>
    api.create({ body: { metadata: { name } }, idempotencyKey: name, ...more })
  await send('a')
  await send('b')
  const seen = await refused(send('c'))
  assert.equal(seen.code, 429)
  assert.match(
    seen.message,
    /this user has used 2 idempotency keys .* the limit of a user; nothing was changed/,
  )
  assert.equal((await refused(api.get({ name: 'c' }))).code, 404)
  assert.equal((await refused(api.deleteCollection({ idempotencyKey: 'd' }))).code, 429)
  await send('a')
  assert.equal(api.replays, 1, 'known keys are still answered')
  assert.equal((await send('c', { user })).code, 201)
  assert.equal((await api.configMap('without-key')).code, 201)
})

void test('a record is deleted after the history window, and its key takes effect again', async (t) => {
  const api = await lead(t, { domain: 'orch.io', enabled: [] })
  const send = () => api.create({ idempotencyKey, body: { metadata: { generateName: 'a-' } } })
  await send()
  const windowMs = api.store.settings.historyWindowMs
  for (let passed = 0; passed < windowMs - 20_000; passed += 10_000) await rest(api)
  assert.equal(records(api), 1)
  for (let passed = 0; passed < 60_000; passed += 10_000) await rest(api)
  assert.equal(records(api), 0)
  await send()
  assert.equal((await api.list({})).items.length, 2)
})

void test('a repeated apply or update that creates, and a repeated deletion of a running Pod, take effect once', async (t) => {
  const api = await open(t)
  const contentType = 'application/apply-patch+yaml'
  const config = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { x: '1' } }
  const query = { fieldManager: 'm' }
  await twice(api, () => api.patch({ name: 'a', contentType, query, body: config, idempotencyKey }))
  api.replays = 0
  const lease = { metadata: { name: 'l' }, spec: { holderIdentity: 'h' } }
  await twice(
    api,
    () => api.update({ kind: 'Lease', name: 'l', body: lease, idempotencyKey }),
    () => api.delete({ kind: 'Lease', name: 'l' }),
  )
  api.replays = 0
  const spec = { nodeName: 'n1', containers: [{ name: 'c', image: 'i' }] }
  await api.create({ kind: 'Pod', body: { metadata: { name: 'p' }, spec } })
  await twice(
    api,
    () => api.delete({ kind: 'Pod', name: 'p', idempotencyKey }),
    () => api.delete({ kind: 'Pod', name: 'p', query: { gracePeriodSeconds: '0' } }),
  )
})

void test('a repeated deletion of a collection leaves newer objects alone and continues an interrupted one', async (t) => {
  let refusing = true
  const admission = admissionChain([
    {
      name: 'Refuse',
      validate: ({ operation, target }) => {
        if (refusing && operation === 'DELETE' && target.name === 'b')
          throw forbidden({ group: '', resource: 'configmaps' }, 'b', 'not now')
      },
    },
  ])
  const api = await open(t, { admission })
  const names = async () => (await api.list({})).items.map(({ metadata }) => metadata.name)
  for (const name of ['a', 'b', 'c']) await api.configMap(name)
  const send = (query = {}) => api.deleteCollection({ idempotencyKey, query })
  assert.equal((await refused(send())).code, 403)
  assert.deepEqual(await names(), ['b'])
  refusing = false
  await api.configMap('a')
  await api.configMap('new')
  await api.deleteCollection({ idempotencyKey: 'k-3', query: { dryRun: 'All' } })
  assert.equal(records(api), 1)
  const first = await send()
  assert.deepEqual([first.code, first.object['status'], api.replays], [200, 'Success', 1])
  assert.deepEqual(await names(), ['a', 'new'])
  assert.deepEqual(await send(), first)
  assert.equal((await refused(send({ labelSelector: 'a=b' }))).code, 422)
  assert.deepEqual(await names(), ['a', 'new'])
  assert.equal((await api.deleteCollection({ idempotencyKey: 'k-2' })).code, 200)
  assert.deepEqual(await names(), [])
})

void test('a repeated change of a status and a repeated change of a scale take effect once', async (t) => {
  const api = await open(t)
  const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
  const kind = 'PersistentVolumeClaim'
  await api.create({ kind, body: { metadata: { name: 'c' }, spec: claim } })
  const bound: Call = { kind, name: 'c', subresource: 'status', body: { status: { phase: 'Bound' } } }
  await twice(
    api,
    () => api.patch({ ...bound, idempotencyKey }),
    () => api.patch({ ...bound, body: { status: { phase: 'Lost' } } }),
  )
  api.replays = 0
  const tabs = customKind({ group: 'example.com', plural: 'tabs', kind: 'Tab' })
  const paths = { specReplicas: ['spec', 'count'], statusReplicas: ['status', 'count'], selectorOf: () => '' }
  api.catalog.setCustom([{ ...tabs, subresources: [scaleSubresource(paths)] }])
  await api.create({ kind: 'Tab', body: { metadata: { name: 'a' }, spec: { count: 1 } } })
  const scale: Call = { kind: 'Tab', name: 'a', subresource: 'scale', body: { spec: { replicas: 2 } } }
  await twice(
    api,
    () => api.patch({ ...scale, idempotencyKey }),
    () => api.patch({ ...scale, body: { spec: { replicas: 3 } } }),
  )
})

void test('a deletion of a collection that is refused before it begins leaves no record', async (t) => {
  const api = await open(t)
  for (const query of [{ labelSelector: 'a=(' }, { fieldSelector: 'x=y' }, { limit: 'x' }])
    assert.equal((await refused(api.deleteCollection({ idempotencyKey, query }))).code, 400)
  assert.equal(records(api), 0)
})
