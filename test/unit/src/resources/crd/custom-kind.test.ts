/*
 * Goal: objects of a custom kind behave like those of built-in kinds: pruning, defaults, generation
 * and validation, in each version, under an older schema too; their lists, tables, status and
 * scale. Method: the shipped verbs on the state machine in memory; a definition in the store with
 * its names accepted by hand.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { Json, JsonObject } from '../../../../../src/api/json.ts'
import { customLimits } from '../../../../../src/api/custom/limits.ts'
import type { ApiDomain } from '../../../../../src/api/metadata/names.ts'
import type { AnyObject, ResourceDefinition } from '../../../../../src/registry/kinds/definition.ts'
import { tableOfOne } from '../../../../../src/registry/representations/table.ts'
import { customKinds } from '../../../../../src/resources/crd/custom-kind.ts'
import { prefixOf } from '../../../../../src/store/key.ts'
import { Fixture, causes, refused } from '../../registry/fixture.ts'
import { definitionBody, definitionKind, without } from './definition-samples.ts'

const name = 'gadgets.test.example'
const count = { type: 'integer', minimum: 0 }
const schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      required: ['count'],
      properties: {
        count,
        color: { type: 'string', default: 'red' },
        note: { type: 'string', nullable: true },
      },
    },
    status: { type: 'object', properties: { count, selector: { type: 'string' } } },
  },
} as const satisfies JsonObject
const names = {
  plural: 'gadgets',
  singular: 'gadget',
  kind: 'Gadget',
  listKind: 'GadgetsTogether',
  shortNames: ['gg'],
}

type Options = {
  readonly domain?: ApiDomain
  readonly version?: JsonObject
  readonly shape?: JsonObject
  readonly versions?: readonly JsonObject[] | null
}
type Kit = { readonly api: Fixture; readonly kinds: () => readonly ResourceDefinition[] }

/** Opens a fixture with an established definition; `version` adds members to its one version. */
async function start(
  t: TestContext,
  { domain = 'orch.io', version = {}, shape = schema, versions = null }: Options = {},
): Promise<Kit> {
  const api = await Fixture.open({ domain })
  t.after(() => api.close())
  const body = definitionBody({ schema: shape, version })
  const spec = { ...body.spec, names, ...(versions === null ? {} : { versions }) }
  await api.create({ kind: definitionKind, body: { ...body, spec } })
  const conditions = [{ type: 'Established', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }]
  const status = { conditions, acceptedNames: names }
  await api.patch({ kind: definitionKind, name, subresource: 'status', body: { status } })
  let kinds: readonly ResourceDefinition[] = []
  const kit = { api, kinds: () => kinds }
  const take = async (): Promise<void> => {
    const { object } = await api.get({ kind: definitionKind, name })
    kinds = customKinds(object, api.names)
    assert.deepEqual(api.catalog.setCustom(kinds), [])
  }
  await take()
  retakes.set(api, take)
  return kit
}

const retakes = new WeakMap<Fixture, () => Promise<void>>()

/** Changes the definition and updates the catalog. */
async function redefine(api: Fixture, spec: JsonObject): Promise<void> {
  await api.patch({ kind: definitionKind, name, body: { spec } })
  await retakes.get(api)?.()
}

const kind = 'Gadget'
const gadget = (spec: JsonObject, more: JsonObject = {}): JsonObject => ({
  metadata: { name: 'a' },
  spec,
  ...more,
})
const withStatus = { subresources: { status: {} } }

void test('a definition creates no kinds before its names are accepted', async (t) => {
  const { api } = await start(t)
  const { object } = await api.get({ kind: definitionKind, name })
  const fresh = { ...object, status: { conditions: [{ type: 'Established', status: 'False' }] } }
  assert.deepEqual(customKinds(fresh as unknown as AnyObject, api.names), [])
})

void test('a kind and its lists have the accepted names', async (t) => {
  const { api, kinds } = await start(t)
  const [only] = kinds()
  assert.ok(only !== undefined)
  const { group, version, plural, singular, shortNames, scope } = only
  assert.deepEqual(
    [group, version, plural, singular, shortNames, scope],
    ['test.example', 'v1', 'gadgets', 'gadget', ['gg'], 'Namespaced'],
  )
  await api.create({ kind, body: gadget({ count: 1 }) })
  const list = await api.list({ kind })
  assert.deepEqual([list.kind, list.apiVersion, list.items.length], ['GadgetsTogether', 'test.example/v1', 1])
})

void test('unknown members are reported and dropped, defaults are filled in, zeros stay', async (t) => {
  const { api } = await start(t)
  const body = gadget({ count: 0, note: null, nonsense: 1 }, { extra: {} })
  const strict = await refused(api.create({ kind, body, query: { fieldValidation: 'Strict' } }))
  assert.ok(
    strict.message.includes('unknown field "spec.nonsense"') &&
      strict.message.includes('unknown field "extra"'),
    strict.message,
  )
  const { code, object } = await api.create({ kind, body })
  assert.equal(code, 201)
  assert.deepEqual(object['spec'], { count: 0, note: null, color: 'red' })
  assert.equal(object['extra'], undefined)
  assert.deepEqual(api.warnings, ['unknown field "spec.nonsense"', 'unknown field "extra"'])
  const invalid = await refused(api.create({ kind, body: { metadata: { name: 'b' }, spec: { count: -1 } } }))
  assert.deepEqual([invalid.code, causes(invalid)], [422, ['FieldValueInvalid spec.count']])
  const missing = await refused(api.create({ kind, body: { metadata: { name: 'b' }, spec: {} } }))
  assert.deepEqual([missing.code, causes(missing)], [422, ['FieldValueRequired spec.count']])
  const named = await refused(api.create({ kind, body: { metadata: { name: 'B_' }, spec: { count: 1 } } }))
  assert.deepEqual(causes(named), ['FieldValueInvalid metadata.name'])
})

void test('without a status subresource, status is an ordinary member and counts as a change of the spec', async (t) => {
  const { api } = await start(t)
  const made = await api.create({ kind, body: gadget({ count: 1 }, { status: { count: 1 } }) })
  assert.deepEqual([made.object['status'], made.object.metadata.generation], [{ count: 1 }, 1])
  const changed = await api.patch({ kind, name: 'a', body: { status: { count: 2 } } })
  assert.deepEqual([changed.object['status'], changed.object.metadata.generation], [{ count: 2 }, 2])
  const labelled = await api.patch({ kind, name: 'a', body: { metadata: { labels: { a: 'b' } } } })
  assert.equal(labelled.object.metadata.generation, 2)
  const seen = await refused(api.patch({ kind, name: 'a', subresource: 'status', body: {} }))
  assert.equal(seen.code, 404)
})

void test('with a status subresource, either path ignores the members of the other', async (t) => {
  const { api } = await start(t, { version: withStatus })
  const made = await api.create({ kind, body: gadget({ count: 1 }, { status: { count: 1 } }) })
  assert.equal(made.object['status'], undefined)
  const body = {
    ...made.object,
    spec: { count: 9 },
    status: { count: 2 },
    metadata: { ...made.object.metadata, labels: { a: 'b' } },
  }
  const status = await api.update({ kind, name: 'a', subresource: 'status', body })
  assert.deepEqual(
    [status.object['status'], status.object['spec'], status.object.metadata.labels],
    [{ count: 2 }, { count: 1, color: 'red' }, undefined],
  )
  assert.equal(status.object.metadata.generation, 1)
  const spec = await api.patch({ kind, name: 'a', body: { spec: { count: 3 }, status: { count: 4 } } })
  assert.deepEqual([spec.object['status'], spec.object.metadata.generation], [{ count: 2 }, 2])
  const invalid = await refused(
    api.patch({ kind, name: 'a', subresource: 'status', body: { status: { count: 'x' } } }),
  )
  assert.deepEqual([invalid.code, causes(invalid)], [422, ['FieldValueTypeInvalid status.count']])
  const cleared = await api.patch({ kind, name: 'a', subresource: 'status', body: { status: null } })
  assert.equal(cleared.object['status'], undefined)
})

void test('JSON patches are supported, strategic ones are not, and a PUT needs a version', async (t) => {
  const { api } = await start(t)
  await api.create({ kind, body: gadget({ count: 1 }) })
  const contentType = 'application/json-patch+json'
  const steps = [{ op: 'replace', path: '/spec/count', value: 5 }]
  const patched = await api.patch({ kind, name: 'a', contentType, body: steps })
  assert.deepEqual(patched.object['spec'], { count: 5, color: 'red' })
  const other = 'application/strategic-merge-patch+json'
  const refusal = await refused(api.patch({ kind, name: 'a', contentType: other, body: {} }))
  assert.equal(refusal.code, 415)
  const versionless = without(patched.object.metadata, 'resourceVersion')
  const seen = await refused(
    api.update({ kind, name: 'a', body: { ...patched.object, metadata: versionless } }),
  )
  assert.deepEqual(causes(seen), ['FieldValueInvalid metadata.resourceVersion'])
})

void test('the deletion of a custom object is answered with a Status', async (t) => {
  const { api } = await start(t)
  await api.create({ kind, body: gadget({ count: 1 }) })
  const gone = await api.delete({ kind, name: 'a' })
  assert.deepEqual([gone.code, gone.object.kind, gone.object['status']], [200, 'Status', 'Success'])
})

void test('an object that was stored under another schema is read under the current one, and not written back', async (t) => {
  const { api } = await start(t)
  await api.create({ kind, body: gadget({ count: 1, note: 'x' }) })
  const before = await api.get({ kind, name: 'a' })
  const others = without(schema.properties.spec.properties, 'note')
  const spec = { ...schema.properties.spec, properties: { ...others, size: { type: 'integer', default: 7 } } }
  const changed = { ...schema, properties: { ...schema.properties, spec } }
  const watch = await api.watch({ kind, query: { resourceVersion: '0' } })
  await redefine(api, definitionBody({ schema: changed }).spec)
  const wanted = { count: 1, color: 'red', size: 7 }
  const after = await api.get({ kind, name: 'a' })
  assert.deepEqual(after.object['spec'], wanted)
  assert.equal(after.object.metadata.resourceVersion, before.object.metadata.resourceVersion)
  for (const round of [1, 2]) {
    const { items } = await api.list({ kind })
    assert.deepEqual(
      items.map((item) => item['spec']),
      [wanted],
      `list ${round}`,
    )
  }
  // A watch keeps the schema that it began with.
  const [reported] = await watch.now()
  assert.deepEqual(reported?.object['spec'], { count: 1, color: 'red', note: 'x' })
  const same = await api.patch({ kind, name: 'a', body: {} })
  assert.equal(same.object.metadata.resourceVersion, before.object.metadata.resourceVersion)
  const { objects } = api.store
    .view()
    .list(prefixOf({ group: 'test.example', plural: 'gadgets', namespace: null }), {
      after: null,
      limit: null,
    })
  assert.ok(
    Buffer.from(objects[0]?.bytes ?? [])
      .toString()
      .includes('"note":"x"'),
  )
})

const v1 = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }
const extra = { ...schema.properties.spec.properties, size: { type: 'integer' } }
const wider = {
  ...schema,
  properties: { ...schema.properties, spec: { ...schema.properties.spec, properties: extra } },
}
const v2 = { name: 'v2', served: true, storage: false, schema: { openAPIV3Schema: wider } }

void test('spec 9.5: an object written in one version is read in the other, which drops unknown members', async (t) => {
  const { api, kinds } = await start(t, { versions: [v1, v2] })
  assert.deepEqual(
    kinds().map(({ version }) => version),
    ['v1', 'v2'],
  )
  const second = 'test.example/v2/Gadget'
  const made = await api.create({ kind: second, body: gadget({ count: 1, size: 3 }) })
  // The object is stored in v1, which has no member `size`.
  assert.deepEqual(
    [made.object.apiVersion, made.object['spec']],
    ['test.example/v2', { count: 1, color: 'red' }],
  )
  const read = await api.get({ kind: 'test.example/v1/Gadget', name: 'a' })
  assert.equal(read.object.apiVersion, 'test.example/v1')

  await redefine(api, {
    versions: [
      { ...v1, storage: false },
      { ...v2, storage: true },
    ],
  })
  for (const version of ['v1', 'v2']) {
    const requested = `test.example/${version}/Gadget`
    const { object } = await api.get({ kind: requested, name: 'a' })
    assert.deepEqual(
      [object.apiVersion, object['spec']],
      [`test.example/${version}`, { count: 1, color: 'red' }],
    )
    const { items } = await api.list({ kind: requested })
    assert.deepEqual(
      items.map((item) => item['spec']),
      [{ count: 1, color: 'red' }],
    )
  }
  const sized = await api.patch({ kind: second, name: 'a', body: { spec: { size: 4 } } })
  assert.deepEqual(sized.object['spec'], { count: 1, color: 'red', size: 4 })
  const narrow = await api.get({ kind: 'test.example/v1/Gadget', name: 'a' })
  assert.deepEqual(narrow.object['spec'], { count: 1, color: 'red' })

  // The storage version need not be served.
  await redefine(api, {
    versions: [
      { ...v1, storage: false },
      { ...v2, storage: true, served: false },
    ],
  })
  assert.deepEqual(
    kinds().map(({ version }) => version),
    ['v1'],
  )
  const still = await api.get({ kind: 'test.example/v1/Gadget', name: 'a' })
  assert.deepEqual(still.object['spec'], { count: 1, color: 'red' })
})

void test('spec 9.6: a deprecated version has the warning of its definition, or one that names a better version', async (t) => {
  const alpha = { ...v2, name: 'v1alpha1', deprecated: true }
  const given = { ...v2, name: 'v1beta1', deprecated: true, deprecationWarning: 'mind the gap' }
  const { kinds } = await start(t, { versions: [v1, alpha, given] })
  assert.deepEqual(
    kinds().map(({ deprecated }) => deprecated),
    [
      undefined,
      { words: 'test.example/v1alpha1 Gadget is deprecated; use test.example/v1 Gadget', removed: '' },
      { words: 'mind the gap', removed: '' },
    ],
  )
})

void test('tables have the columns of the definition, by default the age', async (t) => {
  const column = (type: string, jsonPath: string): JsonObject => ({ name: jsonPath, type, jsonPath })
  const additionalPrinterColumns = [
    column('integer', '.spec.count'),
    column('string', '.spec.color'),
    column('boolean', '.spec.color'),
    column('string', '.spec'),
    column('date', '.metadata.creationTimestamp'),
    column('date', '.spec.color'),
    { ...column('string', '.spec.note'), priority: 1, format: 'password' },
  ]
  const { api, kinds } = await start(t, { version: { additionalPrinterColumns } })
  const made = await api.create({ kind, body: gadget({ count: 3 }) })
  const shape = { apiVersion: 'meta.k8s.io/v1', includeObject: 'None' } as const
  const [only] = kinds()
  assert.ok(only !== undefined)
  const table = JSON.parse(
    Buffer.from(tableOfOne(only, shape, Buffer.from(made.text), api.clock.wallMs() + 61_000)).toString(),
  ) as {
    readonly columnDefinitions: readonly JsonObject[]
    readonly rows: readonly { readonly cells: readonly unknown[] }[]
  }
  assert.deepEqual(table.rows[0]?.cells, [
    'a',
    3,
    'red',
    null,
    '{"count":3,"color":"red"}',
    '61s',
    '<invalid>',
    null,
  ])
  const last = table.columnDefinitions.at(-1)
  assert.deepEqual([last?.['priority'], last?.['format'], last?.['type']], [1, 'password', 'string'])
  const plain = await start(t)
  assert.deepEqual(
    plain.kinds()[0]?.columns?.map(({ name: title }) => title),
    ['Name', 'Age'],
  )
})

void test('all columns of a row together visit at most the allowed number of values', async (t) => {
  let looked = 0
  const counting = (inside: JsonObject): JsonObject =>
    new Proxy(inside, {
      ownKeys: (target) => {
        looked++
        return Reflect.ownKeys(target)
      },
    })
  let deep: JsonObject = {}
  for (let depth = 0; depth < 22; depth++) deep = counting({ a: deep })
  // Visits the same values again in each of its conditions.
  const inside = (depth: number): string => (depth === 0 ? '..x' : `..[?(@${inside(depth - 1)})]`)
  const column = { name: 'a', type: 'string', jsonPath: inside(5) }
  const additionalPrinterColumns = Array.from({ length: customLimits.columnsMax }, () => column)
  const { kinds } = await start(t, { version: { additionalPrinterColumns } })
  const [only] = kinds()
  const object: AnyObject = { apiVersion: 'a/v1', kind, metadata: { name: 'a' }, spec: deep }
  const cells = only?.columns?.slice(1).map(({ cell }) => cell(object))
  assert.deepEqual(
    cells,
    Array.from({ length: customLimits.columnsMax }, () => null),
  )
  assert.ok(looked > 10_000 && looked <= customLimits.rowVisitsMax, `${looked} objects`)
})

const scale = {
  specReplicasPath: '.spec.count',
  statusReplicasPath: '.status.count',
  labelSelectorPath: '.status.selector',
}

const having = (object: JsonObject, members: JsonObject): JsonObject => ({ ...object, ...members })

void test('scale shows replica counts and selector, and writes only the replica count of the spec', async (t) => {
  const { api } = await start(t, { version: { subresources: { status: {}, scale } } })
  await api.create({ kind, body: gadget({ count: 2 }) })
  await api.patch({ kind, name: 'a', subresource: 'status', body: { status: { count: 1, selector: 'a=b' } } })
  const of = { kind, name: 'a', subresource: 'scale' }
  const { object } = await api.get(of)
  const whole = await api.get({ kind, name: 'a' })
  const { uid, resourceVersion, creationTimestamp } = whole.object.metadata
  const metadata = { name: 'a', namespace: 'default', uid, resourceVersion, creationTimestamp }
  assert.deepEqual(object, {
    ...{ kind: 'Scale', apiVersion: 'autoscaling/v1', metadata },
    ...{ spec: { replicas: 2 }, status: { replicas: 1, selector: 'a=b' } },
  })
  const set = await api.update({
    ...of,
    body: having(object, { spec: { replicas: 5 }, status: { replicas: 9 } }),
  })
  assert.deepEqual(
    [set.object['spec'], set.object['status']],
    [{ replicas: 5 }, { replicas: 1, selector: 'a=b' }],
  )
  const after = await api.get({ kind, name: 'a' })
  assert.deepEqual([after.object['spec'], after.object.metadata.generation], [{ count: 5, color: 'red' }, 2])
  assert.equal((await refused(api.update({ ...of, body: object }))).code, 409)
  for (const contentType of ['application/merge-patch+json', 'application/strategic-merge-patch+json']) {
    const patched = await api.patch({ ...of, contentType, body: { spec: { replicas: 6 } } })
    assert.deepEqual(patched.object['spec'], { replicas: 6 })
  }
  const dry = await api.patch({ ...of, body: { spec: { replicas: 7 } }, query: { dryRun: 'All' } })
  assert.deepEqual(dry.object['spec'], { replicas: 7 })
  const seen = await refused(api.patch({ ...of, body: { spec: { replicas: -1 } } }))
  assert.deepEqual(
    [seen.code, causes(seen), seen.message.startsWith('Scale.autoscaling "a" is invalid')],
    [422, ['FieldValueInvalid spec.replicas'], true],
  )
  assert.equal((await refused(api.create({ ...of, body: object }))).code, 405)
  assert.deepEqual((await api.get(of)).object['spec'], { replicas: 6 })
})

void test('an applied scale makes its manager the owner of the replica count', async (t) => {
  const { api } = await start(t, { version: { subresources: { status: {}, scale } } })
  const contentType = 'application/apply-patch+yaml'
  const applied = (fieldManager: string, replicas: number | null, query: Record<string, string> = {}) =>
    api.patch({
      ...{ kind, name: 'a', subresource: 'scale', contentType },
      query: { fieldManager, ...query },
      body: { apiVersion: 'autoscaling/v1', kind: 'Scale', spec: replicas === null ? {} : { replicas } },
    })
  assert.equal((await refused(applied('scaler', 3))).code, 404)
  const body = gadget({ count: 2, color: 'blue' }, { apiVersion: 'test.example/v1', kind })
  await api.patch({ kind, name: 'a', contentType, body, query: { fieldManager: 'owner' } })
  const conflict = await refused(applied('scaler', 3))
  assert.deepEqual([conflict.code, causes(conflict)], [409, ['FieldManagerConflict .spec.count']])
  const { code, object } = await applied('scaler', 3, { force: 'true' })
  assert.deepEqual([code, object.kind, object['spec']], [200, 'Scale', { replicas: 3 }])
  const whole = (await api.get({ kind, name: 'a' })).object
  assert.deepEqual(whole['spec'], { count: 3, color: 'blue' })
  assert.deepEqual(
    (whole.metadata.managedFields ?? []).map(({ manager, subresource, apiVersion, fieldsV1 }) => [
      ...[manager, subresource, apiVersion, fieldsV1],
    ]),
    [
      ['owner', undefined, 'test.example/v1', { 'f:spec': { 'f:color': {} } }],
      ['scaler', 'scale', 'test.example/v1', { 'f:spec': { 'f:count': {} } }],
    ],
  )
  // Applying the object again now conflicts with the manager of the scale.
  const back = await refused(
    api.patch({ kind, name: 'a', contentType, body, query: { fieldManager: 'owner' } }),
  )
  assert.deepEqual([back.code, causes(back)], [409, ['FieldManagerConflict .spec.count']])
  const dry = await applied('scaler', 9, { dryRun: 'All' })
  assert.deepEqual(dry.object['spec'], { replicas: 9 })
  assert.deepEqual((await applied('scaler', 3)).object['spec'], { replicas: 3 })
  const negative = await refused(applied('scaler', -1))
  assert.deepEqual([negative.code, causes(negative)], [422, ['FieldValueInvalid spec.replicas']])
  const other = await refused(
    api.patch({
      ...{ kind, name: 'a', subresource: 'scale', contentType, query: { fieldManager: 'scaler' } },
      body: { apiVersion: 'autoscaling/v1', kind: 'Scale', spec: { color: 'red' } },
    }),
  )
  assert.equal(other.code, 400)
  assert.match(other.message, /autoscaling\/v1, Kind=Scale.*\.spec\.color: field not declared in schema/)
})

void test('scale can be set but not read while the object has no replica count', async (t) => {
  const paths = { specReplicasPath: '.spec.inner.count', statusReplicasPath: '.status.count' }
  const open = { type: 'object', 'x-orch-preserve-unknown-fields': true } as const
  const { api } = await start(t, {
    shape: { type: 'object', properties: { spec: open } },
    version: { subresources: { scale: paths } },
  })
  await api.create({ kind, body: gadget({}) })
  const of = { kind, name: 'a', subresource: 'scale' }
  const seen = await refused(api.get(of))
  assert.deepEqual(
    [seen.code, seen.message.includes('the spec replicas field ".spec.inner.count" does not exist')],
    [500, true],
    seen.message,
  )
  await api.patch({ ...of, body: { spec: { replicas: 3 } } })
  assert.deepEqual((await api.get({ kind, name: 'a' })).object['spec'], { inner: { count: 3 } })
})

void test('a JSON patch cannot build a value that is deeper or larger than a body may be', async (t) => {
  const open = { type: 'object', 'x-orch-preserve-unknown-fields': true } as const
  const { api } = await start(t, { shape: { type: 'object', properties: { spec: open } } })
  await api.create({ kind, body: gadget({}) })
  const deeper = (from: string, to: string): Json => ({ op: 'move', from, path: to })
  const add = (path: string, value: Json): Json => ({ op: 'add', path, value })
  const steps = '/a'.repeat(150)
  const nested: Json = Array.from({ length: 150 }).reduce<Json>((inside) => ({ a: inside }), {})
  const deep = [add('/spec/a', nested), add('/spec/b', nested), deeper('/spec/b', `/spec${steps}`)]
  const long = 'x'.repeat(1_000_000)
  const large = [
    add('/spec/a', { long }),
    ...['b', 'c', 'd'].map((name) => ({ op: 'copy', from: '/spec/a', path: `/spec/${name}` })),
    add('/spec/e', long),
  ]
  for (const [patch, code, words] of [
    [deep, 400, /nesting depth/],
    [[...deep, { op: 'copy', from: '/spec', path: '/spec/c' }], 400, /nesting depth/],
    [large, 413, /characters/],
  ] as const) {
    const seen = await refused(
      api.patch({ kind, name: 'a', contentType: 'application/json-patch+json', body: patch }),
    )
    assert.equal(seen.code, code, seen.message)
    assert.match(seen.message, words)
  }
})

void test('field selectors of lists and watches support the selectable fields of the version', async (t) => {
  const fields = ['.spec.color', '.spec.count', '.spec.ready'].map((jsonPath) => ({ jsonPath }))
  const properties = { count, color: { type: 'string' }, ready: { type: 'boolean' } }
  const shape = { type: 'object', properties: { spec: { type: 'object', properties } } }
  const { api } = await start(t, { version: { selectableFields: fields }, shape })
  const create = (own: string, spec: JsonObject) =>
    api.create({ kind, body: { metadata: { name: own }, spec } })
  await create('a', { color: 'red', count: 1, ready: true })
  await create('b', { color: 'blue', count: 1 })
  await create('c', { count: 20, ready: false })
  for (const [fieldSelector, expected] of [
    ['spec.color=red', ['a']],
    ['spec.color!=red', ['b', 'c']],
    ['spec.color=', ['c']],
    ['spec.count=1', ['a', 'b']],
    ['spec.count=20,spec.ready=false', ['c']],
    ['spec.ready=', ['b']],
    ['metadata.name=a,spec.ready=true', ['a']],
  ] as const) {
    const { items } = await api.list({ kind, query: { fieldSelector } })
    assert.deepEqual(
      items.map(({ metadata }) => metadata.name),
      expected,
      fieldSelector,
    )
  }
  const unknown = await refused(api.list({ kind, query: { fieldSelector: 'spec.note=x' } }))
  assert.equal(unknown.code, 400)
  const { metadata } = await api.list({ kind })
  const query = { fieldSelector: 'spec.color=red', resourceVersion: metadata.resourceVersion }
  const events = await api.watch({ kind, query })
  await api.patch({ kind, name: 'b', body: { spec: { color: 'red' } } })
  await api.patch({ kind, name: 'c', body: { spec: { count: 21 } } })
  await api.patch({ kind, name: 'a', body: { spec: { color: 'green' } } })
  assert.deepEqual(
    (await events.now()).map(({ type, object }) => `${type} ${object.metadata.name}`),
    ['ADDED b', 'DELETED a'],
  )
})

void test('scale shows the low 32 bits of a replica count that has more, and can replace it', async (t) => {
  const paths = { specReplicasPath: '.spec.count', statusReplicasPath: '.status.count' }
  const open = { type: 'object', 'x-orch-preserve-unknown-fields': true } as const
  const { api } = await start(t, {
    shape: { type: 'object', properties: { spec: open } },
    version: { subresources: { scale: paths } },
  })
  const head = `"apiVersion":"test.example/v1","kind":"${kind}","metadata":{"name":"a"}`
  const rawBody = `{${head},"spec":{"count":9223372036854775807}}`
  await api.create({ kind, rawBody })
  const of = { kind, name: 'a', subresource: 'scale' }
  assert.deepEqual((await api.get(of)).object['spec'], { replicas: -1 })
  const { object } = await api.patch({ ...of, body: { spec: { replicas: 3 } } })
  assert.deepEqual(object['spec'], { replicas: 3 })
})
