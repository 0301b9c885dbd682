/*
 * Goal: server-side apply sets, keeps and removes exactly the right fields, reports
 * conflicts with their managers, and every other write moves the ownership of what it changes.
 * Method: the shipped verbs on the state machine in memory.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { textMember } from '../../../../../src/api/json.ts'
import type { Json, JsonObject } from '../../../../../src/api/json.ts'
import { Fixture, causes, details, refused } from '../fixture.ts'
import type { Got } from '../fixture.ts'

type Sent = {
  readonly manager?: string
  readonly force?: boolean
  readonly query?: { readonly [name: string]: string }
}

type Applier = {
  readonly api: Fixture
  readonly apply: (body: JsonObject, sent?: Sent) => Promise<Got>
}

async function open(t: TestContext): Promise<Applier> {
  const api = await Fixture.open()
  t.after(() => api.close())
  const apply = (body: JsonObject, { manager = 'm', force, query = {} }: Sent = {}): Promise<Got> => {
    const name = ((body['metadata'] as JsonObject | undefined)?.['name'] as string | undefined) ?? 'a'
    return api.patch({
      name,
      contentType: 'application/apply-patch+yaml',
      query: { fieldManager: manager, ...(force === undefined ? {} : { force: String(force) }), ...query },
      body,
    })
  }
  return { api, apply }
}

function configMap(data: JsonObject | null, metadata: JsonObject = {}): JsonObject {
  const whole = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', ...metadata } }
  return data === null ? whole : { ...whole, data }
}

function owners(got: Got): Json {
  return (got.object.metadata.managedFields ?? []).map(({ manager, operation, fieldsV1 }) => [
    manager as Json,
    operation as Json,
    fieldsV1 as Json,
  ])
}

void test('spec 4.10: applying to a missing object creates it, and the applier owns what it sent', async (t) => {
  const { api, apply } = await open(t)
  const got = await apply(configMap({ k: '1' }, { labels: { app: 'x' } }))
  assert.equal(got.code, 201)
  const [entry] = got.object.metadata.managedFields ?? []
  assert.deepEqual(entry, {
    manager: 'm',
    operation: 'Apply',
    apiVersion: 'v1',
    time: got.object.metadata.creationTimestamp,
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:data': { 'f:k': {} }, 'f:metadata': { 'f:labels': { 'f:app': {} } } },
  })
  assert.deepEqual((await api.get({ name: 'a' })).object, got.object)
})

void test('spec 4.10: applying the same again writes nothing, not even a time', async (t) => {
  const { api, apply } = await open(t)
  const { object } = await apply(configMap({ k: '1' }))
  api.clock.advance(60_000)
  const again = await apply(configMap({ k: '1' }))
  assert.deepEqual([again.code, again.object], [200, object])
})

void test('spec 4.10: a field that the applier leaves out is removed unless another manager owns it', async (t) => {
  const { apply } = await open(t)
  await apply(configMap({ k: '1', l: '1', m: '1' }))
  await apply(configMap({ l: '1' }), { manager: 'other' })
  const got = await apply(configMap({ m: '1' }))
  assert.deepEqual(got.object['data'], { l: '1', m: '1' })
  assert.deepEqual(owners(got), [
    ['m', 'Apply', { 'f:data': { 'f:m': {} } }],
    ['other', 'Apply', { 'f:data': { 'f:l': {} } }],
  ])
})

void test('spec 4.10: another value for a field of another manager is a conflict that names the manager and the field', async (t) => {
  const { api, apply } = await open(t)
  const { object } = await apply(configMap({ k: '1', l: '1' }), { manager: 'first' })
  const one = await refused(apply(configMap({ k: '2' }), { manager: 'second' }))
  assert.deepEqual([one.code, one.reason], [409, 'Conflict'])
  assert.equal(one.message, 'Apply failed with 1 conflict: conflict with "first": .data.k')
  assert.deepEqual(details(one)['causes'], [
    { reason: 'FieldManagerConflict', message: 'conflict with "first"', field: '.data.k' },
  ])
  const two = await refused(apply(configMap({ k: '2', l: '2' }), { manager: 'second' }))
  assert.equal(two.message, 'Apply failed with 2 conflicts: conflicts with "first":\n- .data.k\n- .data.l')
  assert.deepEqual((await api.get({ name: 'a' })).object, object, 'nothing was changed')
})

void test('spec 4.10: force takes the field, the same value shares it, and leaving it out gives it up', async (t) => {
  const { apply } = await open(t)
  await apply(configMap({ k: '1', l: '1' }), { manager: 'first' })
  const shared = await apply(configMap({ l: '1' }), { manager: 'second' })
  assert.deepEqual(owners(shared), [
    ['first', 'Apply', { 'f:data': { 'f:k': {}, 'f:l': {} } }],
    ['second', 'Apply', { 'f:data': { 'f:l': {} } }],
  ])
  const forced = await apply(configMap({ k: '2', l: '1' }), { manager: 'second', force: true })
  assert.deepEqual(forced.object['data'], { k: '2', l: '1' })
  assert.deepEqual(owners(forced), [
    ['first', 'Apply', { 'f:data': { 'f:l': {} } }],
    ['second', 'Apply', { 'f:data': { 'f:k': {}, 'f:l': {} } }],
  ])
  const left = await apply(configMap(null), { manager: 'second' })
  assert.deepEqual(left.object['data'], { l: '1' })
  assert.deepEqual(owners(left), [['first', 'Apply', { 'f:data': { 'f:l': {} } }]])
})

void test('spec 4.10: an update never fails on a conflict: it takes what it changes', async (t) => {
  const { api, apply } = await open(t)
  await apply(configMap({ k: '1', l: '1' }))
  api.clock.advance(2000)
  const put = await api.update({
    name: 'a',
    body: configMap({ k: '2', l: '1', n: '1' }),
    query: { fieldManager: 'editor' },
  })
  assert.deepEqual(owners(put), [
    ['m', 'Apply', { 'f:data': { 'f:l': {} } }],
    ['editor', 'Update', { 'f:data': { 'f:k': {}, 'f:n': {} } }],
  ])
  const time = textMember(put.object.metadata.managedFields?.[1] ?? {}, 'time')
  const seen = await refused(apply(configMap({ k: '3', l: '1' })))
  assert.equal(
    seen.message,
    `Apply failed with 1 conflict: conflict with "editor" using v1 at ${time}: .data.k`,
  )
  const patched = await api.patch({
    name: 'a',
    body: { data: { l: null } },
    query: { fieldManager: 'editor' },
  })
  assert.deepEqual(owners(patched), [['editor', 'Update', { 'f:data': { 'f:k': {}, 'f:n': {} } }]])
})

void test('spec 4.10: the default manager of an update is the name of the client', async (t) => {
  const { api, apply } = await open(t)
  await apply(configMap({ k: '1' }))
  // The fixture sends `test/1` as its user agent.
  const got = await api.patch({ name: 'a', body: { data: { l: '1' } } })
  assert.deepEqual(owners(got), [
    ['m', 'Apply', { 'f:data': { 'f:k': {} } }],
    ['test', 'Update', { 'f:data': { 'f:l': {} } }],
  ])
})

void test('spec 4.10: an object without managers gets one owner of all its fields at the first apply', async (t) => {
  const { api, apply } = await open(t)
  await api.configMap('a', { data: { k: '1', l: '1' }, metadata: { labels: { app: 'x' } } })
  await api.patch({ name: 'a', body: { metadata: { managedFields: [{}] } } })
  const seen = await refused(apply(configMap({ k: '2' })))
  assert.match(seen.message, /^Apply failed with 1 conflict: conflict with "before-first-apply" using v1/)
  const got = await apply(configMap({ k: '1' }))
  assert.deepEqual(owners(got), [
    ['m', 'Apply', { 'f:data': { 'f:k': {} } }],
    [
      'before-first-apply',
      'Update',
      {
        'f:data': { '.': {}, 'f:k': {}, 'f:l': {} },
        'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} } },
      },
    ],
  ])
})

void test('spec 4.10: one empty entry forgets all managers, an empty list does not', async (t) => {
  const { api, apply } = await open(t)
  const { object } = await apply(configMap({ k: '1' }))
  const kept = await api.patch({ name: 'a', body: { metadata: { managedFields: [] } } })
  assert.deepEqual(kept.object, object)
  const both = { metadata: { managedFields: [{}] }, data: { l: '1' } }
  const changed = await api.patch({ name: 'a', body: both, query: { fieldManager: 'resetter' } })
  assert.deepEqual(owners(changed), [['resetter', 'Update', { 'f:data': { 'f:l': {} } }]])
  const cleared = await api.patch({ name: 'a', body: { metadata: { managedFields: [{}] } } })
  assert.equal(cleared.object.metadata.managedFields, undefined)
})

void test('spec 4.10: the requests that apply refuses get the reason and change nothing', async (t) => {
  const { api, apply } = await open(t)
  await apply(configMap({ k: '1' }))
  const { object } = await api.get({ name: 'a' })
  const uid = '00000000-0000-4000-8000-000000000000'
  const rows: readonly (readonly [JsonObject, Sent, number, RegExp])[] = [
    [configMap({}), { manager: '' }, 422, /fieldManager: Required value: is required for apply patch/],
    [configMap({}, { managedFields: [] }), {}, 400, /metadata\.managedFields must be nil/],
    [configMap({}, { managedFields: [{}] }), {}, 400, /metadata\.managedFields must be nil/],
    [{ kind: 'ConfigMap', metadata: { name: 'a' } }, {}, 400, /must have apiVersion/],
    [{ apiVersion: 'v1', metadata: { name: 'a' } }, {}, 400, /must have kind/],
    [{ ...configMap({}), kind: 'Secret' }, {}, 400, /does not match the kind/],
    [{ ...configMap({}), apiVersion: 'v2' }, {}, 400, /does not match the expected API version/],
    [{ ...configMap({}), spec: {} }, {}, 400, /\.spec: field not declared in schema/],
    [configMap({ k: 1 }), {}, 400, /cannot unmarshal number/],
    [configMap({ k: '2' }, { resourceVersion: '1' }), {}, 409, /modified/],
    [configMap({ k: '2' }, { uid }), {}, 409, /Precondition failed/],
    [configMap({ k: '2' }, { namespace: 'other' }), {}, 400, /namespace/],
  ]
  for (const [body, sent, code, message] of rows) {
    const seen = await refused(apply(body, sent))
    assert.equal(seen.code, code, seen.message)
    assert.match(seen.message, message)
  }
  const odd = await refused(
    api.patch({
      name: 'a',
      contentType: 'application/apply-patch+yaml',
      query: { fieldManager: 'm' },
      body: configMap({}, { name: 'b' }),
    }),
  )
  assert.equal(odd.code, 400)
  const force = await refused(api.patch({ name: 'a', body: {}, query: { force: 'true' } }))
  assert.deepEqual([force.code, force.reason], [422, 'Invalid'])
  const missing = await refused(apply(configMap({}, { name: 'new', uid })))
  assert.equal(missing.code, 409)
  assert.deepEqual((await api.get({ name: 'a' })).object, object)
})

void test('spec 4.9: a dry-run apply responds as the real one and stores nothing', async (t) => {
  const { api, apply } = await open(t)
  await apply(configMap({ k: '1' }))
  const { object } = await api.get({ name: 'a' })
  const dry = await apply(configMap({ l: '1' }), { query: { dryRun: 'All' } })
  assert.deepEqual(dry.object['data'], { l: '1' })
  assert.deepEqual(owners(dry), [['m', 'Apply', { 'f:data': { 'f:l': {} } }]])
  assert.deepEqual((await api.get({ name: 'a' })).object, object)
})

void test('kubectl takes fields from its own client-side apply without a conflict', async (t) => {
  const { api, apply } = await open(t)
  const annotation = 'kubectl.kubernetes.io/last-applied-configuration'
  const last = JSON.stringify(configMap({ k: '1', l: '1' }))
  await api.configMap('a', { data: { k: '1', l: '2' }, metadata: { annotations: { [annotation]: last } } })
  const changed = await refused(apply(configMap({ k: '2', l: '3' }), { manager: 'kubectl' }))
  const inLast = 'l is not as kubectl applied it'
  assert.deepEqual(causes(changed), ['FieldManagerConflict .data.l'], inLast)
  const got = await apply(configMap({ k: '2' }, { annotations: {} }), { manager: 'kubectl' })
  assert.deepEqual(got.object['data'], { k: '2', l: '2' })
  const now = JSON.parse(String((got.object.metadata.annotations ?? {})[annotation])) as JsonObject
  assert.deepEqual(now['data'], { k: '2' })
  const other = await refused(apply(configMap({ k: '3' }), { manager: 'flux' }))
  assert.equal(other.code, 409)
})

void test('when an eleventh manager updates an object, the two oldest entries of updates are merged', async (t) => {
  const { api, apply } = await open(t)
  await apply(configMap({ k: '1' }))
  for (let at = 0; at < 11; at++) {
    api.clock.advance(1000)
    await api.patch({ name: 'a', body: { data: { [`u${at}`]: '' } }, query: { fieldManager: `u${at}` } })
  }
  const got = await api.get({ name: 'a' })
  const names = (got.object.metadata.managedFields ?? []).map(({ manager }) => manager)
  assert.equal(names.length, 11)
  assert.deepEqual(names.slice(0, 3), ['m', 'ancient-changes', 'u2'])
})

void test('an object has a limited number of paths with owners', async (t) => {
  const { api, apply } = await open(t)
  const data = (count: number): JsonObject =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, '1']))
  const tooMany = await refused(apply(configMap(data(10_001))))
  assert.deepEqual([tooMany.code, tooMany.reason], [413, 'RequestEntityTooLarge'])
  assert.match(tooMany.message, /managedFields would have 10002 paths, and may have 10000/)
  await apply(configMap(data(9000)))
  const shared = await refused(apply(configMap(data(1000)), { manager: 'other' }))
  assert.equal(shared.code, 413)
  const update = await api.update({ name: 'a', body: configMap(data(12_000)) })
  assert.equal(update.object.metadata.managedFields, undefined)
})

void test('racing appliers of different fields all succeed', async (t) => {
  const { api, apply } = await open(t)
  await apply(configMap(null))
  const names = [1, 2, 3, 4, 5].map((at) => `m${at}`)
  await Promise.all(names.map((manager) => apply(configMap({ [manager]: 'v' }), { manager })))
  const got = await api.get({ name: 'a' })
  assert.deepEqual(Object.keys(got.object['data'] as JsonObject).sort(), names)
  const entries = got.object.metadata.managedFields ?? []
  assert.deepEqual(entries.map((entry) => textMember(entry, 'manager')).sort(), names)
})

void test('a JSON patch that resets the owners owns each path that it sets, also by the whole object', async (t) => {
  const { api } = await open(t)
  const { object } = await api.configMap('a', { data: { a: '1', b: '2' } })
  const reset = { op: 'add', path: '/metadata/managedFields', value: [{}] }
  const whole = { ...object, metadata: { ...object.metadata, managedFields: [{}], resourceVersion: '' } }
  const move = { op: 'move', from: '/data', path: '/data' }
  const part = { op: 'replace', path: '/data/b', value: '3' }
  const all = { 'f:data': { '.': {}, 'f:a': {}, 'f:b': {} } }
  for (const [body, fields] of [
    [[reset, part], { 'f:data': { 'f:b': {} } }],
    [[reset, move, part, move, part], all],
    [[part, { op: 'replace', path: '', value: whole }], { 'f:data': { 'f:a': {}, 'f:b': {} } }],
  ] as const) {
    const contentType = 'application/json-patch+json'
    const got = await api.patch({ name: 'a', contentType, body, query: { fieldManager: 'p' } })
    assert.deepEqual(owners(got), [['p', 'Update', fields]], JSON.stringify(body))
  }
})

void test('thousands of entries of managedFields are united by manager, and the oldest beyond the limit into one', async (t) => {
  const { api } = await open(t)
  await api.configMap('a')
  const entry = { operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1' }
  const managedFields = Array.from({ length: 4000 }, (_, at) => ({
    ...entry,
    manager: at % 2 === 0 ? 'same' : `m${at}`,
    fieldsV1: { 'f:data': { [`f:k${at}`]: {} } },
  }))
  const got = await api.update({ name: 'a', body: { metadata: { name: 'a', managedFields } } })
  const sizes = new Map(
    (got.object.metadata.managedFields ?? []).map((of) => {
      const data = (of['fieldsV1'] as JsonObject)['f:data'] as JsonObject
      return [textMember(of, 'manager'), Object.keys(data).length]
    }),
  )
  assert.equal(sizes.size, 10)
  assert.deepEqual([sizes.get('same'), sizes.get('ancient-changes')], [2000, 2000 - 8])
})

void test('an element with a very long key is named by the beginning of its key', async (t) => {
  const { api } = await open(t)
  const container = {
    name: 'x'.repeat(5000),
    image: 'i',
    ports: [{ containerPort: 1 }, { containerPort: 1 }],
  }
  const body = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, spec: { containers: [container] } }
  const contentType = 'application/apply-patch+yaml'
  const seen = await refused(
    api.patch({ kind: 'Pod', name: 'a', contentType, query: { fieldManager: 'm' }, body }),
  )
  assert.equal(seen.code, 400)
  assert.match(seen.message, /^\.spec\.containers\[\{"name":"x+.{0,40}\]\.ports: duplicate entries for key/)
  assert.ok(seen.message.length < 1000)
})

void test('spec 4.10: null leaves a map and a list of others as they are, and its applier owns the field', async (t) => {
  const { apply } = await open(t)
  await apply(configMap({ k: '1' }, { labels: { l: '1' }, finalizers: ['x.io/a'] }))
  const before = await apply(configMap({ k: '1' }, { labels: { l: '1' }, finalizers: ['x.io/a'] }))
  const nulls = { ...configMap(null, { labels: null, finalizers: null }), data: null }
  const got = await apply(nulls, { manager: 'other' })
  assert.equal(got.code, 200)
  assert.deepEqual(got.object['data'], { k: '1' })
  assert.deepEqual(got.object.metadata.labels, { l: '1' })
  assert.deepEqual(got.object.metadata.finalizers, ['x.io/a'])
  const [mine, other] = owners(got) as readonly Json[]
  assert.deepEqual(mine, (owners(before) as readonly Json[])[0])
  assert.deepEqual(other, [
    ...['other', 'Apply'],
    { 'f:data': {}, 'f:metadata': { 'f:finalizers': {}, 'f:labels': {} } },
  ])
})

void test('spec 4.10: null for a field of another manager is a conflict; force unsets it', async (t) => {
  const { apply } = await open(t)
  await apply(configMap({ k: '1', l: '1' }))
  const unsetting = configMap({ k: null })
  const error = await refused(apply(unsetting, { manager: 'other' }))
  assert.equal(error.code, 409)
  assert.deepEqual(causes(error), ['FieldManagerConflict .data.k'])
  const forced = await apply(unsetting, { manager: 'other', force: true })
  assert.deepEqual(forced.object['data'], { k: '', l: '1' }, 'a text that is null is empty')
  const own = await apply(configMap({ l: null }))
  assert.deepEqual(own.object['data'], { k: '', l: '' }, 'its own field needs no force')
})

void test('an integer that no double can hold is unchanged when it is applied again', async (t) => {
  const { api } = await open(t)
  const contentType = 'application/apply-patch+yaml'
  const rawBody = `apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec:
  activeDeadlineSeconds: 9007199254740993
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}
`
  const call = { kind: 'Job', name: 'j', contentType, query: { fieldManager: 'm' }, rawBody }
  const first = await api.patch(call)
  const again = await api.patch(call)
  assert.deepEqual([first.code, again.code], [201, 200])
  assert.equal(again.object.metadata.resourceVersion, first.object.metadata.resourceVersion)
})
