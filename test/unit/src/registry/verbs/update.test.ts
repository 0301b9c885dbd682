/*
 * Goal: PUT and PATCH make exactly the requested change, subject to preconditions.
 * Method: the shipped verbs on the state machine in memory; races by hand.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json, JsonObject } from '../../../../../src/api/json.ts'
import type { Key } from '../../../../../src/store/key.ts'
import { KeyedMutex } from '../../../../../src/registry/shared/keyed-mutex.ts'
import type { AccessReviewer } from '../../../../../src/registry/kinds/access-reviewer.ts'
import { allowsEverything } from '../../../../support/fakes/allow-all-reviewers.ts'
import { objectMember } from '../../../../../src/api/json.ts'
import { Fixture, causes, details, refused } from '../fixture.ts'
import type { Obj } from '../fixture.ts'

const modified =
  'Operation cannot be fulfilled on configmaps "a": the object has been modified; ' +
  'please apply your changes to the latest version and try again'

void test('spec 4.2: an update replaces the object and returns 200', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const { object } = await api.configMap('a', { data: { k: '1', l: '1' } })
  const { uid, creationTimestamp, resourceVersion } = object.metadata
  api.clock.advance(5000)
  const got = await api.update({
    name: 'a',
    body: { metadata: { name: 'a', resourceVersion }, data: { k: '2' } },
  })
  assert.equal(got.code, 200)
  assert.deepEqual(got.object['data'], { k: '2' })
  assert.equal(got.object.metadata.uid, uid)
  assert.equal(got.object.metadata.creationTimestamp, creationTimestamp)
  assert.ok(Number(got.object.metadata.resourceVersion) > Number(resourceVersion))
})

void test('an update of another version is a Conflict, one without a version is not', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const { object } = await api.configMap('a')
  await api.patch({ name: 'a', body: { data: { k: '1' } } })
  const { resourceVersion } = object.metadata
  const body = { metadata: { name: 'a', resourceVersion }, data: { k: '2' } }
  const seen = await refused(api.update({ name: 'a', body }))
  assert.deepEqual([seen.code, seen.reason, seen.message], [409, 'Conflict', modified])
  assert.deepEqual(details(seen), { name: 'a', kind: 'configmaps' })
  const got = await api.update({ name: 'a', body: { metadata: { name: 'a' }, data: { k: '2' } } })
  assert.deepEqual(got.object['data'], { k: '2' })
})

void test('an update of another uid is a Conflict', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  await api.configMap('a')
  const seen = await refused(api.update({ name: 'a', body: { metadata: { name: 'a', uid: 'other' } } }))
  assert.equal(seen.code, 409)
  assert.match(seen.message, /Precondition failed: UID in precondition: other, UID in object meta: /)
})

void test('an update without a change is not written', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const { object } = await api.configMap('a', { data: { k: '1', l: '2' } })
  const before = api.store.view().revision
  const put = await api.update({
    name: 'a',
    body: { data: { l: '2', k: '1' }, metadata: { labels: {}, name: 'a' } },
  })
  const patched = await api.patch({ name: 'a', body: { data: { k: '1' } } })
  assert.deepEqual([put.object, patched.object], [object, object])
  assert.equal(api.store.view().revision, before)
})

void test('path and body of an update must name the same object', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  await api.configMap('a')
  const rows: readonly (readonly [object, RegExp])[] = [
    [{ name: 'b' }, /^the name of the object \(b\) does not match the name on the URL \(a\)$/],
    [{}, /^the name of the object \(a based on URL\) was undeterminable: name must be provided$/],
    [
      { name: 'a', namespace: 'x' },
      /^the namespace of the object \(x\) does not match the namespace on the request \(default\)$/,
    ],
  ]
  for (const [metadata, words] of rows) {
    const seen = await refused(api.update({ name: 'a', body: { metadata } as Obj }))
    assert.equal(seen.code, 400)
    assert.match(seen.message, words)
  }
})

void test('spec 4.2: an update of a missing object creates it in orch.io, unless it refers to an existing one', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const made = await api.update({ name: 'a', body: { metadata: { name: 'a' } } })
  assert.equal(made.code, 201)
  const versioned = await refused(
    api.update({ name: 'b', body: { metadata: { name: 'b', resourceVersion: '3' } } }),
  )
  assert.equal(versioned.code, 404)
  const known = await refused(api.update({ name: 'b', body: { metadata: { name: 'b', uid: 'x' } } }))
  assert.equal(known.code, 409)
  const upstream = await Fixture.open({ domain: 'k8s.io' })
  t.after(() => upstream.close())
  assert.equal((await refused(upstream.update({ name: 'a', body: { metadata: { name: 'a' } } }))).code, 404)
})

void test('spec 4.9: a dry-run update or patch returns the change and stores nothing', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const { object } = await api.configMap('a')
  const before = api.store.view().revision
  const query = { dryRun: 'All' }
  const put = await api.update({ name: 'a', query, body: { metadata: { name: 'a' }, data: { k: '1' } } })
  assert.deepEqual(put.object['data'], { k: '1' })
  assert.equal(put.object.metadata.resourceVersion, object.metadata.resourceVersion)
  const patched = await api.patch({ name: 'a', query, body: { data: { k: '2' } } })
  assert.deepEqual(patched.object['data'], { k: '2' })
  assert.equal(api.store.view().revision, before)
})

void test('spec 4.3: merge, JSON and strategic merge patches change an object by their own rules', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  await api.configMap('a', { data: { k: '1', l: '1' }, metadata: { finalizers: ['x.io/a'] } })
  const merged = await api.patch({ name: 'a', body: { data: { k: null, m: '1' } } })
  assert.deepEqual(merged.object['data'], { l: '1', m: '1' })
  const json = await api.patch({
    name: 'a',
    contentType: 'application/json-patch+json',
    body: [
      { op: 'test', path: '/data/l', value: '1' },
      { op: 'move', from: '/data/l', path: '/data/n' },
    ],
  })
  assert.deepEqual(json.object['data'], { m: '1', n: '1' })
  const strategic = await api.patch({
    name: 'a',
    contentType: 'application/strategic-merge-patch+json',
    body: { metadata: { finalizers: ['x.io/b'] } },
  })
  assert.deepEqual([...(strategic.object.metadata.finalizers ?? [])].sort(), ['x.io/a', 'x.io/b'])
})

const managedFields = [
  {
    manager: 'kubectl',
    operation: 'Update',
    apiVersion: 'v1',
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:data': {} },
  },
  {},
]

void test('spec 4.10: managed fields that clients send break no write and are dropped', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const made = await api.configMap('a', { metadata: { managedFields } })
  const put = await api.update({
    name: 'a',
    body: { metadata: { name: 'a', managedFields }, data: { k: '1' } },
  })
  assert.deepEqual(put.object['data'], { k: '1' })
  for (const { text } of [made, put, await api.get({ name: 'a' })]) assert.ok(!text.includes('managedFields'))
})

void test('spec 4.10: one empty entry clears the managed fields by every type of patch', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const { object } = await api.configMap('a')
  const json = 'application/json-patch+json'
  const path = '/metadata/managedFields'
  const bodies: readonly (readonly [string, Json])[] = [
    ['application/merge-patch+json', { metadata: { managedFields: [{}] } }],
    ['application/strategic-merge-patch+json', { metadata: { managedFields: [{}] } }],
    [json, [{ op: 'replace', path, value: [{}] }]],
    [json, [{ op: 'add', path, value: [{}] }]],
    [json, [{ op: 'remove', path }]],
  ]
  for (const [contentType, body] of bodies) {
    const got = await api.patch({ name: 'a', contentType, body })
    assert.deepEqual([got.code, got.object], [200, object], JSON.stringify(body))
  }
  const both = [
    { op: 'replace', path, value: [{}] },
    { op: 'add', path: '/data', value: { k: 'v' } },
  ]
  const changed = await api.patch({ name: 'a', contentType: json, body: both })
  assert.deepEqual(changed.object['data'], { k: 'v' })
})

void test('malformed and forbidden patches are refused', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  await api.configMap('a', { data: { k: '1' } })
  const json = 'application/json-patch+json'
  const rows: readonly (readonly [string, unknown, number])[] = [
    ['application/merge-patch+json', { metadata: { name: 'b' } }, 400],
    ['application/merge-patch+json', { kind: 'Secret' }, 400],
    ['application/merge-patch+json', { data: { k: 1 } }, 400],
    ['application/merge-patch+json', [], 400],
    ['application/merge-patch+json', { metadata: { uid: 'x' } }, 409],
    ['application/merge-patch+json', { metadata: { resourceVersion: '1' }, data: { k: '2' } }, 409],
    ['application/merge-patch+json', { data: { 'a b': '' } }, 422],
    [json, { op: 'add' }, 400],
    [json, [{ op: 'test', path: '/data/k', value: '2' }], 422],
    [json, [{ op: 'remove', path: '/data/none' }], 422],
    [json, [{ op: 'replace', path: '', value: 1 }], 400],
    ['application/apply-patch+json', {}, 415],
    ['application/json', {}, 415],
    ['', {}, 415],
  ]
  for (const [contentType, body, code] of rows) {
    const seen = await refused(api.patch({ name: 'a', contentType, rawBody: JSON.stringify(body) }))
    assert.equal(seen.code, code, `${contentType} ${JSON.stringify(body)}: ${seen.message}`)
    if (code !== 415) continue
    for (const known of ['application/json-patch+json', 'application/merge-patch+json'])
      assert.ok(seen.message.includes(known))
  }
  assert.equal((await refused(api.patch({ name: 'none', body: {} }))).code, 404)
})

void test('five patches without a version that race each other all succeed', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  await api.configMap('a')
  await Promise.all(
    [1, 2, 3, 4, 5].map((at) => api.patch({ name: 'a', body: { data: { [`k${at}`]: 'v' } } })),
  )
  const { object } = await api.get({ name: 'a' })
  assert.equal(Object.keys(object['data'] as object).length, 5)
})

void test('a hundred concurrent writers of one object all succeed, each with a revision of its own', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  await api.configMap('a')
  const before = api.store.view().revision
  const crowd = Array.from({ length: 100 }, (_, at) =>
    api.patch({ name: 'a', body: { data: { [`k${at}`]: '' } } }),
  )
  await Promise.all(crowd)
  const { object } = await api.get({ name: 'a' })
  assert.equal(Object.keys(object['data'] as object).length, 100)
  assert.equal(api.store.view().revision, before + 100)
})

void test('a writer that waits for the lock beyond its deadline gets a 504, and the next one gets the lock', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const turns = new KeyedMutex(api.clock)
  const key = '/configmaps/default/a' as Key
  await turns.lock(key, Infinity)
  const late = refused(turns.lock(key, api.clock.monotonicMs() + 100))
  const next = turns.lock(key, api.clock.monotonicMs() + 10_000)
  api.clock.advance(100)
  assert.equal((await late).code, 504)
  turns.unlock(key)
  await next
  turns.unlock(key)
  await turns.lock(key, Infinity)
})

void test('a write without a version that keeps losing races is 429 with Retry-After, not a Conflict', async (t) => {
  let writes = 0
  const api = await Fixture.open({
    limits: { rewriteAttemptsMax: 3 },
    admission: {
      mutate: async (request) => {
        // Another writer always updates the object first.
        if (
          request.operation === 'UPDATE' &&
          request.context.request.user.name === 'tester' &&
          ++writes % 2 === 1
        ) {
          await api.patch({ name: 'a', body: { data: { n: String(writes) } } })
        }
        return request.object
      },
      validate: () => undefined,
      extraOperations: () => [],
    },
  })
  t.after(() => api.close())
  await api.configMap('a')
  const seen = await refused(api.patch({ name: 'a', body: { data: { mine: 'x' } } }))
  assert.equal(seen.code, 429)
  assert.match(seen.message, /too many concurrent changes of this object; nothing was changed/)
  assert.equal(objectMember(seen.status, 'details')['retryAfterSeconds'], 1)
  assert.equal(writes, 6)
})

void test('an update keeps the creation time, adds no generation, and refuses invalid labels', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const { object } = await api.configMap('a')
  const metadata = {
    name: 'a',
    creationTimestamp: '2001-01-01T00:00:00Z',
    generation: 9,
    labels: { a: 'b' },
  }
  const got = await api.update({ name: 'a', body: { metadata } })
  assert.equal(got.object.metadata.creationTimestamp, object.metadata.creationTimestamp)
  assert.equal(got.object.metadata.generation, undefined)
  const seen = await refused(api.patch({ name: 'a', body: { metadata: { labels: { 'a b': 'c' } } } }))
  assert.deepEqual(causes(seen), ['FieldValueInvalid metadata.labels'])
})

void test('an update cannot change the deletion fields', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  await api.configMap('a', { metadata: { finalizers: ['x.io/y'] } })
  const update = (members: JsonObject): ReturnType<Fixture['update']> =>
    api.update({ name: 'a', body: { metadata: { name: 'a', finalizers: ['x.io/y'], ...members } } })
  const deletionTimestamp = '2001-01-01T00:00:00Z'
  const rows: readonly (readonly [JsonObject, string])[] = [
    [{ deletionTimestamp }, 'FieldValueInvalid metadata.deletionTimestamp'],
    [{ deletionGracePeriodSeconds: 5 }, 'FieldValueInvalid metadata.deletionGracePeriodSeconds'],
  ]
  for (const [members, cause] of rows) assert.deepEqual(causes(await refused(update(members))), [cause])
  const { object } = await api.delete({ name: 'a' })
  const deleted = await update({ deletionTimestamp, labels: { a: 'b' } })
  assert.equal(deleted.object.metadata.deletionTimestamp, object.metadata.deletionTimestamp)
  const seen = await refused(update({ deletionGracePeriodSeconds: 5 }))
  assert.deepEqual(causes(seen), ['FieldValueInvalid metadata.deletionGracePeriodSeconds'])
})

void test('the generation counts changes outside metadata and status, where the kind has one', async (t) => {
  const base = (await Fixture.open()).definition('ConfigMap')
  const schema = {
    type: 'object',
    properties: { spec: { type: 'any' }, status: { type: 'any' } },
  } as const
  const kind = { ...base, ...{ group: 'x.io', kind: 'Thing', plural: 'things' }, schema, hooks: {} }
  const api = await Fixture.open({ extra: [{ ...kind, tracksGeneration: true }] })
  t.after(() => api.close())
  const at = { kind: 'Thing', name: 'a' }
  const made = await api.create({ kind: 'Thing', body: { metadata: { name: 'a' }, spec: { n: 1 } } })
  assert.equal(made.object.metadata.generation, 1)
  const labelled = await api.patch({ ...at, body: { metadata: { labels: { a: 'b' } }, status: { s: 1 } } })
  assert.equal(labelled.object.metadata.generation, 1)
  const changed = await api.patch({ ...at, body: { spec: { n: 2 } } })
  assert.equal(changed.object.metadata.generation, 2)
})

void test('a member that a kind drops does not count for the generation, and changes nothing', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const template = { spec: { containers: [{ name: 'c', image: 'i' }] } }
  const labels = { app: 'w' }
  const policy = { persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete', whenScaled: 'Delete' } }
  const spec = {
    ...{ serviceName: 's', selector: { matchLabels: labels } },
    ...{ template: { ...template, metadata: { labels } }, ...policy },
  }
  const kind = 'StatefulSet'
  const made = await api.create({ kind, body: { metadata: { name: 'w' }, spec } })
  const again = await api.patch({ kind, name: 'w', body: { spec: policy } })
  assert.deepEqual(again.object, made.object)
})

/** Permits `update` of everything, and no `create`. */
const onlyUpdates: AccessReviewer = {
  ...allowsEverything,
  authorize: (_, action) => ({ allowed: action.verb !== 'create', denied: false, reason: '' }),
}

void test('a PUT that creates needs the permission to create, and is 503 without reviewers, in both domains', async (t) => {
  for (const domain of ['orch.io', 'k8s.io'] as const) {
    const api = await Fixture.open({ domain, reviewers: onlyUpdates })
    t.after(() => api.close())
    const lease = { kind: 'Lease', name: 'a' }
    const seen = await refused(api.update({ ...lease, body: { metadata: { name: 'a' } } }))
    assert.equal(seen.code, 403)
    const group = `coordination.${domain}`
    assert.equal(
      seen.message,
      `leases.${group} "a" is forbidden: User "tester" cannot create resource "leases" in API group "${group}" in the namespace "default"`,
    )
    const { object } = await api.create({ kind: 'Lease', body: { metadata: { name: 'a' } } })
    const { resourceVersion } = object.metadata
    const body = { metadata: { name: 'a', resourceVersion, labels: { a: 'b' } } }
    assert.equal((await api.update({ ...lease, body })).code, 200)
    const unknown = await Fixture.open({ domain, reviewers: null })
    t.after(() => unknown.close())
    const missing = { metadata: { name: 'a' } }
    assert.equal((await refused(unknown.update({ ...lease, body: missing }))).code, 503)
  }
})

void test('resourceVersion "0" replaces any version where the kind allows it, else it is invalid', async (t) => {
  for (const domain of ['orch.io', 'k8s.io'] as const) {
    const api = await Fixture.open({ domain })
    t.after(() => api.close())
    const made = await api.create({ body: { metadata: { name: 'a', resourceVersion: '0' } } })
    assert.equal(made.code, 201)
    const metadata = { name: 'a', resourceVersion: '0' }
    const updated = await api.update({ name: 'a', body: { metadata, data: { k: '1' } } })
    assert.deepEqual([updated.code, updated.object['data']], [200, { k: '1' }])
    assert.ok(Number(updated.object.metadata.resourceVersion) > Number(made.object.metadata.resourceVersion))
    const patched = await api.patch({ name: 'a', body: { metadata, data: { k: '2' } } })
    assert.deepEqual(patched.object['data'], { k: '2' })
    const leased = { kind: 'Lease', body: { metadata: { name: 'l' } } }
    const { object } = await api.create(leased)
    for (const write of [
      api.update({
        kind: 'Lease',
        name: 'l',
        body: { ...object, metadata: { ...object.metadata, resourceVersion: '0' } },
      }),
      api.patch({ kind: 'Lease', name: 'l', body: { metadata: { resourceVersion: '0' } } }),
      api.patch({ kind: 'Lease', name: 'l', body: { metadata: { resourceVersion: null } } }),
    ]) {
      const seen = await refused(write)
      assert.equal(seen.code, 422)
      assert.match(
        seen.message,
        /metadata\.resourceVersion: Invalid value: .*must be specified for an update/,
      )
    }
    const missing = { metadata: { name: 'new', resourceVersion: '0' } }
    const created = await api.update({
      kind: 'Event',
      name: 'new',
      body: { ...missing, involvedObject: { namespace: 'default' } },
    })
    assert.equal(created.code, 201)
  }
})
