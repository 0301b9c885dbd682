/*
 * Goal: what create stores, returns and refuses.
 * Method: the shipped verbs, kinds and state machine in memory.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { objectsMember } from '../../../../../src/api/json.ts'
import { Fixture, causes, details, refused } from '../fixture.ts'

void test('spec 4.2: create returns 201 with the stored object', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const made = await api.configMap('a', { data: { k: 'v' } })
  assert.equal(made.code, 201)
  const read = await api.get({ name: 'a' })
  assert.deepEqual(read.object, made.object)
  assert.match(made.text, /^\{"kind":"ConfigMap","apiVersion":"v1","metadata":\{"name":"a"/)
})

void test('spec 2.1: the server sets uid, creation time, namespace and version, whatever the client sent', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const { object } = await api.configMap('a', {
    metadata: {
      name: 'a',
      uid: 'mine',
      generation: 7,
      creationTimestamp: '2001-01-01T00:00:00Z',
      deletionTimestamp: '2001-01-01T00:00:00Z',
      selfLink: '/x',
    },
  })
  assert.match(object.metadata.uid, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  assert.match(object.metadata.resourceVersion, /^[1-9][0-9]*$/)
  assert.deepEqual(Object.keys(object.metadata), [
    'name',
    'namespace',
    'uid',
    'resourceVersion',
    'creationTimestamp',
  ])
  assert.equal(object.metadata.creationTimestamp, '2026-01-02T03:04:05Z')
})

void test('a generation below zero is refused, except where the server counts it', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const metadata = { name: 'a', generation: -1 }
  const seen = await refused(api.configMap('a', { metadata }))
  assert.deepEqual([seen.code, ...causes(seen)], [422, 'FieldValueInvalid metadata.generation'])
  const containers = [{ name: 'c', image: 'i' }]
  const counted = await api.create({
    kind: 'PodTemplate',
    body: { metadata, template: { metadata: {}, spec: { containers } } },
  })
  assert.equal(counted.object.metadata.generation, 1)
})

void test('spec 1.5, 2.1: a name that is taken is AlreadyExists', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  await api.configMap('a')
  const seen = await refused(api.configMap('a'))
  assert.equal(seen.code, 409)
  assert.equal(seen.reason, 'AlreadyExists')
  assert.equal(seen.message, 'configmaps "a" already exists')
  assert.deepEqual(details(seen), { name: 'a', kind: 'configmaps' })
})

void test('AlreadyExists mentions that the existing object is being deleted', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  await api.configMap('a', { metadata: { finalizers: ['x.io/y'] } })
  await api.delete({ name: 'a' })
  const seen = await refused(api.configMap('a'))
  assert.equal(seen.message, 'object is being deleted: configmaps "a" already exists')
})

void test('spec 2.1: generateName generates a name of the prefix and five characters', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const made = await Promise.all(
    ['x-', 'x-', 'x-'].map((generateName) => api.create({ body: { metadata: { generateName } } })),
  )
  const found = made.map(({ object }) => object.metadata.name)
  for (const name of found) assert.match(name, /^x-[a-z0-9]{5}$/)
  assert.equal(new Set(found).size, 3)
})

void test('a generated name that collides is retried, a bounded number of times', async (t) => {
  const api = await Fixture.open({ limits: { generateNameAttemptsMax: 3 } })
  t.after(() => api.close())
  let draws = 0
  const original = api.random.below.bind(api.random)
  api.random.below = (bound: number) => {
    draws++
    return bound === 27 ? 0 : original(bound)
  }
  const first = await api.create({ body: { metadata: { generateName: 'x-' } } })
  assert.equal(first.object.metadata.name, 'x-bbbbb')
  draws = 0
  const seen = await refused(api.create({ body: { metadata: { generateName: 'x-' } } }))
  assert.equal(draws, 15, 'three names of five letters were drawn')
  assert.equal(seen.reason, 'AlreadyExists')
  assert.equal(details(seen)['retryAfterSeconds'], 1)
})

void test('a missing namespace is 404 of the namespace', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const seen = await refused(api.create({ namespace: 'nowhere', body: { metadata: { name: 'a' } } }))
  assert.equal(seen.code, 404)
  assert.equal(seen.message, 'namespaces "nowhere" not found')
  assert.deepEqual(details(seen), { name: 'nowhere', kind: 'namespaces' })
})

void test('a terminating namespace accepts no objects: 403 with its cause', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  await api.create({ kind: 'Namespace', body: { metadata: { name: 'n' } } })
  await api.delete({ kind: 'Namespace', name: 'n' })
  const seen = await refused(api.create({ namespace: 'n', body: { metadata: { name: 'a' } } }))
  assert.equal(seen.code, 403)
  assert.equal(
    seen.message,
    'configmaps "a" is forbidden: unable to create new content in namespace n because it is being terminated',
  )
  assert.deepEqual(causes(seen), ['NamespaceTerminating metadata.namespace'])
})

void test('path and body must name the same namespace', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const seen = await refused(api.create({ body: { metadata: { name: 'a', namespace: 'other' } } }))
  assert.equal(seen.code, 400)
  assert.equal(
    seen.message,
    'the namespace of the provided object does not match the namespace sent on the request',
  )
})

void test('another kind or version in the body is refused, a missing one is filled in', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const version = await refused(api.create({ body: { apiVersion: 'v2', kind: 'ConfigMap', metadata: {} } }))
  assert.equal(
    version.message,
    'the API version in the data (v2) does not match the expected API version (v1)',
  )
  const kind = await refused(api.create({ body: { apiVersion: 'v1', kind: 'Pod', metadata: {} } }))
  assert.equal(kind.code, 400)
  assert.match(kind.message, /^Pod in version "v1" cannot be handled as a ConfigMap: /)
  const made = await api.create({ body: { metadata: { name: 'a' } } })
  assert.equal(made.object.kind, 'ConfigMap')
})

void test('a malformed body is 400 or 415', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const rows: readonly (readonly [string | Uint8Array, string, number])[] = [
    ['', 'application/json', 400],
    ['{"metadata":', 'application/json', 400],
    ['[]', 'application/json', 400],
    ['{"metadata":{"name":"a"},"data":{"k":1}}', 'application/json', 400],
    ['{"metadata":{"name":"a"},"binaryData":{"k":"?"}}', 'application/json', 400],
    ['{"metadata":[]}', 'application/json', 400],
    [Uint8Array.of(0x7b, 0xff, 0x7d), 'application/json', 400],
    ['{}', 'text/plain', 415],
    ['{}', 'application/vnd.orch.protobuf', 400],
  ]
  for (const [rawBody, contentType, code] of rows) {
    const seen = await refused(api.create({ rawBody, contentType }))
    assert.equal(seen.code, code, `${String(rawBody)} as ${contentType}: ${seen.message}`)
  }
})

void test('spec 4.7, 9.4: an object that kubectl sends as protobuf is created', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const rawBody = Buffer.from(
    '6b3873000a0f0a0276311209436f6e6669674d6170121b0a110a01611200' +
      '1a0022002a0032003800420012060a01781201791a002200',
    'hex',
  )
  const made = await api.create({ rawBody, contentType: 'application/vnd.kubernetes.protobuf' })
  assert.equal(made.object['kind'], 'ConfigMap')
  assert.deepEqual(made.object['data'], { x: 'y' })
})

void test('YAML bodies are accepted', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const rawBody = 'metadata:\n  name: a\ndata:\n  k: v\n'
  const made = await api.create({ rawBody, contentType: 'application/yaml' })
  assert.deepEqual(made.object['data'], { k: 'v' })
})

void test('an object that violates rules is 422 with a cause for each', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const seen = await refused(api.configMap('A_b', { data: { 'a b': '' } }))
  assert.equal(seen.code, 422)
  assert.deepEqual(causes(seen), ['FieldValueInvalid metadata.name', 'FieldValueInvalid data[a b]'])
  assert.match(seen.message, /^ConfigMap "A_b" is invalid: \[metadata\.name: Invalid value: "A_b"/)
  const nameless = await refused(api.create({ body: { metadata: {} } }))
  assert.deepEqual(causes(nameless), ['FieldValueRequired metadata.name'])
})

void test('an object with a resourceVersion cannot be created', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const seen = await refused(api.configMap('a', { metadata: { resourceVersion: '5' } }))
  assert.equal(seen.code, 400)
  assert.equal(seen.message, 'resourceVersion should not be set on objects to be created')
})

void test('spec 4.2: fieldValidation warns about unknown and duplicate members, refuses or ignores them', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const rawBody = '{"metadata":{"name":"a","name":"a"},"spec":1}'
  const strict = await refused(api.create({ rawBody, query: { fieldValidation: 'Strict' } }))
  assert.equal(strict.code, 400)
  assert.match(
    strict.message,
    /strict decoding error: duplicate field "metadata.name", unknown field "spec"$/,
  )
  await api.create({ rawBody: rawBody.replaceAll('"a"', '"b"'), query: { fieldValidation: 'Ignore' } })
  assert.deepEqual(api.warnings, [])
  const made = await api.create({ rawBody })
  assert.deepEqual(api.warnings, ['duplicate field "metadata.name"', 'unknown field "spec"'])
  assert.equal(made.object['spec'], undefined)
})

void test('an owner that is named twice is stored once, with a warning', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'b', uid: 'u' }
  const { uid, ...rest } = owner
  const words =
    'metadata.ownerReferences contains duplicate entries, which are stored once; duplicate UID(s): "u"'
  const ownerReferences = [owner, { uid, ...rest }, { ...owner, blockOwnerDeletion: true }, owner]
  const made = await api.configMap('a', { metadata: { name: 'a', ownerReferences } })
  assert.deepEqual(objectsMember(made.object.metadata, 'ownerReferences'), [
    owner,
    { ...owner, blockOwnerDeletion: true },
  ])
  assert.deepEqual(api.warnings.splice(0), [words])
  const patched = await api.patch({ name: 'a', body: { metadata: { ownerReferences: [owner, owner] } } })
  assert.deepEqual(objectsMember(patched.object.metadata, 'ownerReferences'), [owner])
  assert.deepEqual(api.warnings.splice(0), [words])
  await api.patch({ name: 'a', body: { data: { k: 'v' } } })
  assert.deepEqual(api.warnings, [])
})

void test('spec 4.9: a dry-run create responds as the real one and stores nothing', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const before = api.store.view().revision
  const made = await api.create({ body: { metadata: { name: 'a' } }, query: { dryRun: 'All' } })
  assert.equal(made.code, 201)
  assert.equal(made.object.metadata.name, 'a')
  assert.equal(made.object.metadata.resourceVersion, undefined)
  assert.equal(api.store.view().revision, before)
  await api.configMap('a')
  const seen = await refused(api.create({ body: { metadata: { name: 'a' } }, query: { dryRun: 'All' } }))
  assert.equal(seen.reason, 'AlreadyExists')
})

void test('spec 4.2: malformed dryRun, fieldValidation and fieldManager are 422 and named', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const rows = [
    ['dryRun', 'Some'],
    ['fieldValidation', 'Loud'],
    ['fieldManager', 'x'.repeat(129)],
  ] as const
  for (const [name, value] of rows) {
    const seen = await refused(api.create({ body: { metadata: { name: 'a' } }, query: { [name]: value } }))
    assert.equal(seen.code, 422)
    assert.match(seen.message, new RegExp(`^CreateOptions\\.\\S+ "" is invalid: ${name}: `))
  }
})

void test('an object beyond the size limit of the cluster is 413', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const annotations = Object.fromEntries([...'abcdefg'].map((key) => [key, 'x'.repeat(30_000)]))
  const { settings } = api.store
  await api.store.write(
    { kind: 'change-settings', settings: { ...settings, objectBytesMax: 100_000 } },
    api.clock.monotonicMs() + 1000,
  )
  const seen = await refused(api.configMap('a', { metadata: { annotations } }))
  assert.equal(seen.code, 413)
})
