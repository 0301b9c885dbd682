/*
 * Goal: every write records its manager as the owner of what it set, as upstream 1.24: creates,
 * updates, patches, subresources and operations; what admission and the server set has no owner.
 * Method: the shipped verbs on the state machine in memory.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { admissionChain } from '../../../../../src/admission/chain.ts'
import type { AdmissionPlugin } from '../../../../../src/admission/chain.ts'
import { objectMember, textMember } from '../../../../../src/api/json.ts'
import type { Json, JsonObject } from '../../../../../src/api/json.ts'
import type { AnyObject } from '../../../../../src/registry/kinds/definition.ts'
import { Fixture, refused } from '../fixture.ts'
import type { FixtureOptions, Got } from '../fixture.ts'

async function open(t: TestContext, options: FixtureOptions = {}): Promise<Fixture> {
  const api = await Fixture.open(options)
  t.after(() => api.close())
  return api
}

/** Returns the fields of each manager by `manager operation subresource`. */
function owners({ object }: Got): { readonly [name: string]: Json } {
  const entries = (object.metadata.managedFields ?? []).map((entry): readonly [string, Json] => {
    const words = ['manager', 'operation', 'subresource'].map((name) => textMember(entry, name))
    return [words.join(' ').trim(), entry['fieldsV1'] as Json]
  })
  return Object.fromEntries(entries)
}

function timesOf({ object }: Got): readonly string[] {
  return (object.metadata.managedFields ?? []).map((entry) => textMember(entry, 'time'))
}

const by = (fieldManager: string): { readonly fieldManager: string } => ({ fieldManager })
const reset = { metadata: { managedFields: [{}] } }

function configMap(data: JsonObject, metadata: JsonObject = {}): JsonObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', ...metadata }, data }
}

const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'a' },
  spec: { containers: [{ name: 'c', image: 'i' }] },
}

void test('spec 4.10: a create records its manager as the owner of all that it sent', async (t) => {
  const api = await open(t)
  const got = await api.create({ body: configMap({ k: '1' }, { labels: { app: 'x' } }), query: by('maker') })
  assert.deepEqual(got.object.metadata.managedFields, [
    {
      ...{ manager: 'maker', operation: 'Update', apiVersion: 'v1', time: '2026-01-02T03:04:05Z' },
      fieldsType: 'FieldsV1',
      fieldsV1: {
        'f:data': { '.': {}, 'f:k': {} },
        'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} } },
      },
    },
  ])
})

void test('spec 4.10: for writes other than apply, the default manager is that of the user agent', async (t) => {
  const api = await open(t)
  // The fixture sends `test/1` as its user agent.
  assert.deepEqual(Object.keys(owners(await api.create({ body: configMap({ k: '1' }) }))), ['test Update'])
  const patched = await api.patch({ name: 'a', body: { data: { l: '1' } } })
  assert.deepEqual(owners(patched), {
    'test Update': { 'f:data': { '.': {}, 'f:k': {}, 'f:l': {} } },
  })
})

void test('spec 4.10: updates and patches take what they change, and what is removed has no owner', async (t) => {
  const api = await open(t)
  await api.create({ body: configMap({ k: '1', l: '1', m: '1' }), query: by('maker') })
  const put = await api.update({
    name: 'a',
    body: configMap({ k: '2', l: '1', n: '1' }),
    query: by('putter'),
  })
  assert.deepEqual(owners(put), {
    'maker Update': { 'f:data': { '.': {}, 'f:l': {} } },
    'putter Update': { 'f:data': { 'f:k': {}, 'f:n': {} } },
  })
  const rows: readonly (readonly [string, Json])[] = [
    ['application/merge-patch+json', { data: { merge: '1' } }],
    ['application/strategic-merge-patch+json', { data: { strategic: '1' } }],
    ['application/json-patch+json', [{ op: 'add', path: '/data/json', value: '1' }]],
  ]
  for (const [contentType, body] of rows) {
    const word = contentType.split('/')[1] ?? ''
    const got = await api.patch({ name: 'a', contentType, body, query: by(word) })
    const field = word.split('-')[0] ?? ''
    assert.deepEqual(owners(got)[`${word} Update`], { 'f:data': { [`f:${field}`]: {} } })
  }
})

void test('defaults belong to the writer; what the server sets, such as status and uid, has no owner', async (t) => {
  const api = await open(t)
  const got = await api.create({ kind: 'Pod', body: { ...pod, status: { phase: 'Running' } } })
  assert.equal(objectMember(got.object, 'status')['phase'], 'Pending')
  assert.deepEqual(owners(got), {
    'test Update': {
      'f:spec': {
        'f:containers': {
          'k:{"name":"c"}': {
            '.': {},
            ...{ 'f:image': {}, 'f:imagePullPolicy': {}, 'f:name': {}, 'f:resources': {} },
            ...{ 'f:terminationMessagePath': {}, 'f:terminationMessagePolicy': {} },
          },
        },
        ...{ 'f:dnsPolicy': {}, 'f:enableServiceLinks': {}, 'f:restartPolicy': {} },
        ...{ 'f:schedulerName': {}, 'f:securityContext': {}, 'f:terminationGracePeriodSeconds': {} },
      },
    },
  })
})

void test('subresources have entries of their own: status, binding', async (t) => {
  const api = await open(t)
  await api.create({ kind: 'Pod', body: pod, query: by('maker') })
  const binding = { metadata: { name: 'a' }, target: { kind: 'Node', name: 'n' } }
  await api.create({ kind: 'Pod', name: 'a', subresource: 'binding', body: binding, query: by('scheduler') })
  const got = await api.patch({
    ...{ kind: 'Pod', name: 'a', subresource: 'status', query: by('kubelet') },
    body: { spec: { schedulerName: 'ignored' }, status: { phase: 'Running' } },
  })
  const { 'maker Update': made, ...others } = owners(got)
  assert.ok(made !== undefined)
  assert.deepEqual(Object.keys(others), ['kubelet Update status', 'scheduler Update binding'])
  assert.deepEqual(others['kubelet Update status'], { 'f:status': { 'f:phase': {} } })
  assert.deepEqual(objectMember(others, 'scheduler Update binding')['f:spec'], { 'f:nodeName': {} })
})

void test('an update that changes nothing writes nothing: neither times nor owners', async (t) => {
  const api = await open(t)
  const made = await api.create({ body: configMap({ k: '1' }), query: by('maker') })
  api.clock.advance(60_000)
  const { resourceVersion } = made.object.metadata
  const put = await api.update({ name: 'a', body: configMap({ k: '1' }), query: by('other') })
  assert.deepEqual([put.object.metadata.resourceVersion, owners(put)], [resourceVersion, owners(made)])
  const patched = await api.patch({ name: 'a', body: { data: { k: '1' } }, query: by('maker') })
  assert.deepEqual(patched.object, made.object)
})

void test('the time of an entry changes only when its manager takes fields', async (t) => {
  const api = await open(t)
  await api.create({ body: configMap({ k: '1', l: '1' }), query: by('maker') })
  api.clock.advance(60_000)
  const got = await api.patch({ name: 'a', body: { data: { k: '2' } }, query: by('other') })
  assert.deepEqual(timesOf(got), ['2026-01-02T03:04:05Z', '2026-01-02T03:05:05Z'])
})

/** Sets a field that the request does not have, and changes one that it has. */
const labelling: AdmissionPlugin = {
  name: 'Labelling',
  mutate: ({ object }): AnyObject | null => {
    if (object === null) return null
    const metadata = { ...object.metadata, labels: { ...object.metadata.labels, added: '1' } }
    return { ...object, metadata, data: { ...objectMember(object, 'data'), k: 'changed' } }
  },
}

void test('what mutating admission adds has no owner, and what it changes stays the writer’s', async (t) => {
  const api = await open(t, { admission: admissionChain([labelling]) })
  const got = await api.create({ body: configMap({ k: '1' }), query: by('maker') })
  assert.deepEqual(got.object.metadata.labels, { added: '1' })
  assert.deepEqual(owners(got), { 'maker Update': { 'f:data': { '.': {}, 'f:k': {} } } })
  api.clock.advance(60_000)
  // The request changes k, admission changes it back: nothing but a time would differ.
  const put = await api.update({ name: 'a', body: configMap({ k: '2' }), query: by('maker') })
  assert.equal(put.object.metadata.resourceVersion, got.object.metadata.resourceVersion)
})

void test('a create owns all that it creates, whatever managed fields it sends', async (t) => {
  const api = await open(t)
  const made = await api.create({ body: configMap({ k: '1' }), query: by('maker') })
  const metadata = { name: 'b', managedFields: made.object.metadata.managedFields ?? [] }
  const copy = await api.create({ body: { ...configMap({ k: '1' }), metadata }, query: by('copier') })
  assert.deepEqual(owners(copy), { 'copier Update': { 'f:data': { '.': {}, 'f:k': {} } } })
})

void test('an object without managed fields gets none by updates, and one owner by an apply', async (t) => {
  const api = await open(t)
  await api.create({ body: configMap({ k: '1' }) })
  const cleared = await api.patch({ name: 'a', body: reset })
  assert.equal(cleared.object.metadata.managedFields, undefined)
  const updated = await api.patch({ name: 'a', body: { data: { l: '1' } }, query: by('editor') })
  assert.equal(updated.object.metadata.managedFields, undefined)
  const applied = await api.patch({
    ...{ name: 'a', contentType: 'application/apply-patch+yaml', query: by('m') },
    body: configMap({ k: '1' }),
  })
  assert.deepEqual(Object.keys(owners(applied)), ['m Apply', 'before-first-apply Update'])
})

void test('spec 4.10: with other changes, a reset happens first and the requester owns all fields in the request', async (t) => {
  const api = await open(t)
  await api.create({ body: configMap({ k: '1', l: '1', m: '1' }), query: by('maker') })
  const merged = await api.patch({
    ...{ name: 'a', query: by('resetter') },
    body: { ...reset, data: { k: '2', l: '1', m: null } },
  })
  assert.deepEqual(owners(merged), { 'resetter Update': { 'f:data': { 'f:k': {}, 'f:l': {} } } })
  const json = await api.patch({
    ...{ name: 'a', query: by('other'), contentType: 'application/json-patch+json' },
    body: [
      { op: 'replace', path: '/metadata/managedFields', value: [{}] },
      { op: 'test', path: '/data/k', value: '2' },
      { op: 'replace', path: '/data/l', value: '1' },
    ],
  })
  assert.deepEqual(owners(json), { 'other Update': { 'f:data': { 'f:l': {} } } })
  const put = await api.update({
    ...{ name: 'a', query: by('putter') },
    body: configMap({ k: '2', n: '1' }, { managedFields: [{}] }),
  })
  assert.deepEqual(owners(put), { 'putter Update': { 'f:data': { '.': {}, 'f:k': {}, 'f:n': {} } } })
})

void test('spec 4.10: a reset by a patch of lists makes the requester the owner of the elements it names', async (t) => {
  const api = await open(t)
  const containers = [
    { name: 'c', image: 'i' },
    { name: 'd', image: 'i' },
  ]
  await api.create({ kind: 'Pod', body: { ...pod, spec: { containers } }, query: by('maker') })
  const element = (name: string): JsonObject => ({
    'f:spec': { 'f:containers': { [`k:{"name":"${name}"}`]: { '.': {}, 'f:image': {}, 'f:name': {} } } },
  })
  const strategic = await api.patch({
    ...{ kind: 'Pod', name: 'a', contentType: 'application/strategic-merge-patch+json', query: by('s') },
    body: {
      ...reset,
      spec: {
        $setElementOrder: [{ name: 'c' }, { name: 'd' }],
        '$setElementOrder/containers': [{ name: 'c' }, { name: 'd' }],
        containers: [{ name: 'd', image: 'i' }],
      },
    },
  })
  assert.deepEqual(owners(strategic), { 's Update': element('d') })
  const json = await api.patch({
    ...{ kind: 'Pod', name: 'a', contentType: 'application/json-patch+json', query: by('j') },
    body: [
      { op: 'replace', path: '/metadata/managedFields', value: [{}] },
      { op: 'replace', path: '/spec/containers/0/image', value: 'i2' },
    ],
  })
  const image = { 'f:spec': { 'f:containers': { 'k:{"name":"c"}': { 'f:image': {} } } } }
  assert.deepEqual(owners(json), { 'j Update': image })
})

void test('an object with too many paths for owners is stored without them, with a warning, and its apply is 413', async (t) => {
  const api = await open(t, { limits: { managedPathsMax: 100 } })
  const data = Object.fromEntries(Array.from({ length: 120 }, (_, at) => [`k${at}`, '1']))
  const made = await api.create({ body: configMap(data) })
  assert.equal(made.object.metadata.managedFields, undefined)
  assert.match(
    api.warnings.join(),
    /the object would have more than 100 owned paths, so it is stored without them/,
  )
  const list = Array.from({ length: 120 }, (_, at) => ({ name: `c${at}`, image: 'i' }))
  await api.create({ kind: 'Pod', body: pod })
  const many = { ...pod, spec: { ...pod.spec, containers: list } }
  // The update is refused for other reasons, after its owners were given up with a warning.
  assert.equal((await refused(api.update({ kind: 'Pod', name: 'a', body: many }))).code, 422)
  assert.equal(api.warnings.length, 2)
  const small = await api.update({ name: 'a', body: configMap({ k: '1' }) })
  assert.equal(small.object.metadata.managedFields, undefined)
  await api.create({ body: { ...configMap({ k: '1' }), metadata: { name: 'b' } } })
  const grown = await api.patch({ name: 'b', body: { data } })
  assert.deepEqual([grown.code, grown.object.metadata.managedFields], [200, undefined])
  const apply = { name: 'b', contentType: 'application/apply-patch+yaml', query: by('m') }
  const seen = await refused(
    api.patch({ ...apply, body: { ...configMap({ k: '1' }), metadata: { name: 'b' } } }),
  )
  assert.deepEqual([seen.code, seen.reason], [413, 'RequestEntityTooLarge'])
})

void test('a new object that is too large only with its owners is stored without them, with a warning, and its apply is 413', async (t) => {
  const api = await open(t)
  const settings = { ...api.store.settings, objectBytesMax: 2000 }
  await api.store.write({ kind: 'change-settings', settings }, api.clock.monotonicMs() + 1000)
  const data = { [`k${'x'.repeat(200)}`]: 'v'.repeat(1500) }
  const made = await api.create({ body: configMap(data) })
  assert.equal(made.object.metadata.managedFields, undefined)
  assert.match(api.warnings.join(), /the object would have more than 2000 bytes, so it is stored without/)
  const apply = { name: 'b', contentType: 'application/apply-patch+yaml', query: by('m') }
  const seen = await refused(api.patch({ ...apply, body: { ...configMap(data), metadata: { name: 'b' } } }))
  assert.deepEqual([seen.code, seen.reason], [413, 'RequestEntityTooLarge'])
})

void test('a write to the status takes no managed fields from its body', async (t) => {
  const api = await open(t)
  await api.create({ kind: 'Pod', body: pod, query: by('maker') })
  const got = await api.patch({
    ...{ kind: 'Pod', name: 'a', subresource: 'status', query: by('kubelet') },
    body: { ...reset, status: { phase: 'Running' } },
  })
  assert.deepEqual(Object.keys(owners(got)), ['kubelet Update status', 'maker Update'])
})
