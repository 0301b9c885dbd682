/*
 * Goal: markers of a custom schema decide how its lists and maps are merged and owned, also after
 * they change; status has owners of its own. Method: the shipped verbs on the state machine in
 * memory; kinds from schemas, exchanged in the catalog.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { compileStructural } from '../../../../../src/api/custom/structural-schema.ts'
import { objectMember } from '../../../../../src/api/json.ts'
import type { Json, JsonObject } from '../../../../../src/api/json.ts'
import { namesOf } from '../../../../../src/api/metadata/names.ts'
import { statusSubresource } from '../../../../../src/resources/common/status-subresource.ts'
import type { ResourceDefinition } from '../../../../../src/registry/kinds/definition.ts'
import { customKind } from '../../../../support/fixtures/custom-kind.ts'
import { Fixture, causes, refused } from '../fixture.ts'
import type { Got } from '../fixture.ts'

const names = namesOf('orch.io')
const text = { type: 'string' }
const ports = {
  type: 'object',
  properties: { name: text, protocol: { ...text, default: 'TCP' }, host: text },
}

/** @param spec schema of the spec */
function kindOf(spec: JsonObject): ResourceDefinition {
  const status = { type: 'object', properties: { phase: text } }
  const whole = { type: 'object', properties: { spec: { type: 'object', ...spec }, status } }
  const structural = compileStructural(whole, names)
  return customKind({
    ...{ group: 'test.example', plural: 'gadgets', kind: 'Gadget', structural, schema: structural.schema },
    subresources: [statusSubresource()],
  })
}

type Kit = {
  readonly api: Fixture
  readonly become: (spec: JsonObject) => void
  readonly apply: (manager: string, spec: Json, query?: { readonly [name: string]: string }) => Promise<Got>
  readonly owned: (got: Got, manager: string) => Json
}

async function open(t: TestContext, properties: JsonObject): Promise<Kit> {
  const api = await Fixture.open()
  t.after(() => api.close())
  const become = (spec: JsonObject): void => {
    assert.deepEqual(api.catalog.setCustom([kindOf({ properties: spec })]), [])
  }
  become(properties)
  return {
    api,
    become,
    apply: (manager, spec, query = {}) =>
      api.patch({
        ...{ kind: 'Gadget', name: 'a', contentType: 'application/apply-patch+yaml' },
        query: { fieldManager: manager, ...query },
        body: { apiVersion: 'test.example/v1', kind: 'Gadget', metadata: { name: 'a' }, spec },
      }),
    owned: (got, manager) => {
      const entry = got.object.metadata.managedFields?.find((one) => one['manager'] === manager)
      return ((entry?.['fieldsV1'] ?? {}) as JsonObject)['f:spec'] ?? null
    },
  }
}

const marked = {
  'x-orch-list-type': 'map',
  'x-orch-list-map-keys': ['name', 'protocol'],
  ...{ type: 'array', items: { ...ports, required: ['name'] } },
}

void test('spec 4.10: elements of a list of type map are merged by their keys, with defaults of keys', async (t) => {
  const { apply, owned } = await open(t, { ports: marked })
  await apply('p', { ports: [{ name: 'a', host: '1' }, { name: 'b' }] })
  const both = await apply('q', { ports: [{ name: 'c' }, { name: 'a', protocol: 'UDP' }, { name: 'b' }] })
  assert.deepEqual((both.object['spec'] as JsonObject)['ports'], [
    { name: 'a', protocol: 'TCP', host: '1' },
    { name: 'b', protocol: 'TCP' },
    { name: 'c', protocol: 'TCP' },
    { name: 'a', protocol: 'UDP' },
  ])
  assert.deepEqual(owned(both, 'p'), {
    'f:ports': {
      'k:{"name":"a","protocol":"TCP"}': { '.': {}, 'f:host': {}, 'f:name': {} },
      'k:{"name":"b","protocol":"TCP"}': { '.': {}, 'f:name': {} },
    },
  })
  const seen = await refused(apply('q', { ports: [{ name: 'a', host: '2' }] }))
  assert.deepEqual(causes(seen), ['FieldManagerConflict .spec.ports[name="a",protocol="TCP"].host'])
  const left = await apply('q', { ports: [] })
  assert.deepEqual((left.object['spec'] as JsonObject)['ports'], [
    { name: 'a', protocol: 'TCP', host: '1' },
    { name: 'b', protocol: 'TCP' },
  ])
})

void test('spec 4.10: the elements of a list of type set have owners of their own', async (t) => {
  const { apply } = await open(t, { tags: { type: 'array', items: text, 'x-orch-list-type': 'set' } })
  await apply('p', { tags: ['a', 'b'] })
  const both = await apply('q', { tags: ['c', 'b'] })
  assert.deepEqual(both.object['spec'], { tags: ['a', 'b', 'c'] })
  assert.deepEqual((await apply('p', { tags: [] })).object['spec'], { tags: ['b', 'c'] })
})

void test('spec 4.10: unmarked lists and atomic maps have one owner, granular maps one per key', async (t) => {
  const map = { type: 'object', additionalProperties: text }
  const { apply } = await open(t, {
    list: { type: 'array', items: text },
    one: { ...map, 'x-orch-map-type': 'atomic' },
    each: { ...map, 'x-orch-map-type': 'granular' },
  })
  await apply('p', { list: ['a'], one: { a: '1' }, each: { a: '1' } })
  const seen = await refused(apply('q', { list: ['b'], one: { b: '1' }, each: { b: '1' } }))
  assert.deepEqual(causes(seen), ['FieldManagerConflict .spec.list', 'FieldManagerConflict .spec.one'])
  const got = await apply('q', { each: { b: '1' } })
  assert.deepEqual((got.object['spec'] as JsonObject)['each'], { a: '1', b: '1' })
})

void test('spec 4.10: the owner of a part of a map that became atomic owns the whole', async (t) => {
  const map = { type: 'object', additionalProperties: text }
  const { apply, become, owned } = await open(t, { map })
  await apply('p', { map: { a: '1' } })
  become({ map: { ...map, 'x-orch-map-type': 'atomic' } })
  const seen = await refused(apply('q', { map: { b: '1' } }))
  assert.deepEqual(causes(seen), ['FieldManagerConflict .spec.map'])
  const got = await apply('q', { map: { a: '1' } })
  assert.deepEqual([owned(got, 'p'), owned(got, 'q')], [{ 'f:map': {} }, { 'f:map': {} }])
})

void test('spec 4.10: the parts of a map that became granular have no owner, so nothing conflicts', async (t) => {
  const map = { type: 'object', additionalProperties: text }
  const { apply, become } = await open(t, { map: { ...map, 'x-orch-map-type': 'atomic' } })
  await apply('p', { map: { a: '1', c: '1' } })
  become({ map })
  const got = await apply('q', { map: { a: '2', b: '1' } })
  assert.deepEqual(got.object['spec'], { map: { a: '2', b: '1', c: '1' } })
})

void test('below x-orch-preserve-unknown-fields, declared members merge as declared, others by their values', async (t) => {
  const open1 = {
    ...{ type: 'object', 'x-orch-preserve-unknown-fields': true },
    properties: { ports: marked, list: { type: 'array', items: text } },
  }
  const { apply, owned } = await open(t, { open: open1, free: { 'x-orch-preserve-unknown-fields': true } })
  const value = (name: string): JsonObject => ({ [name]: { deep: '1' }, list: [name] })
  await apply('p', { open: { ports: [{ name: 'a' }], more: { p: '1' }, others: ['p'] }, free: value('p') })
  const seen = await refused(apply('q', { open: { others: ['q'] }, free: { list: ['q'] } }))
  assert.deepEqual(causes(seen), [
    'FieldManagerConflict .spec.free.list',
    'FieldManagerConflict .spec.open.others',
  ])
  const both = await apply('q', { open: { ports: [{ name: 'b' }], more: { q: '1' } }, free: { q: '1' } })
  assert.deepEqual(objectMember(both.object, 'spec'), {
    open: {
      ports: [
        { name: 'a', protocol: 'TCP' },
        { name: 'b', protocol: 'TCP' },
      ],
      more: { p: '1', q: '1' },
      others: ['p'],
    },
    free: { p: { deep: '1' }, list: ['p'], q: '1' },
  })
  assert.deepEqual(objectMember(owned(both, 'q') as JsonObject, 'f:open')['f:ports'], {
    'k:{"name":"b","protocol":"TCP"}': { '.': {}, 'f:name': {} },
  })
})

void test('status is applied through its subresource only, with owners of its own', async (t) => {
  const { api, apply } = await open(t, { size: text })
  await apply('p', { size: '1' })
  const body = {
    ...{ apiVersion: 'test.example/v1', kind: 'Gadget', metadata: { name: 'a' } },
    ...{ spec: { size: '2' }, status: { phase: 'Ready' } },
  }
  const call = { kind: 'Gadget', name: 'a', contentType: 'application/apply-patch+yaml', body }
  const got = await api.patch({ ...call, subresource: 'status', query: { fieldManager: 'controller' } })
  assert.deepEqual([got.object['spec'], got.object['status']], [{ size: '1' }, { phase: 'Ready' }])
  const entries = got.object.metadata.managedFields ?? []
  const ours = entries.find((one) => one['manager'] === 'controller')
  assert.deepEqual([ours?.['subresource'], ours?.['fieldsV1']], ['status', { 'f:status': { 'f:phase': {} } }])
  const main = await api.patch({ ...call, query: { fieldManager: 'p' } })
  const own = main.object.metadata.managedFields?.find((one) => one['manager'] === 'p')
  assert.deepEqual(own?.['fieldsV1'], { 'f:spec': { 'f:size': {} } })
})

void test('spec 4.10: list elements without a required key, duplicate elements and undeclared fields are refused', async (t) => {
  const { apply } = await open(t, {
    ports: marked,
    tags: { type: 'array', items: text, 'x-orch-list-type': 'set' },
  })
  const rows: readonly (readonly [Json, RegExp])[] = [
    [{ ports: [{ host: '1' }] }, /\.spec\.ports: element 0 of a list with keys lacks the key "name"/],
    [{ ports: [{ name: 'a' }, { name: 'a', protocol: 'TCP' }] }, /duplicate entries for key/],
    [{ tags: ['a', 'a'] }, /\.spec\.tags: duplicate entries for key \[="a"\]/],
    [{ other: '1' }, /\.spec\.other: field not declared in schema/],
  ]
  for (const [spec, message] of rows) {
    const seen = await refused(apply('p', spec))
    assert.equal(seen.code, 400, seen.message)
    assert.match(seen.message, message)
  }
})

void test('spec 4.10: a member that an apply sets to an empty value stays', async (t) => {
  const tags = { type: 'array', items: text, 'x-orch-list-type': 'set' }
  const inner = { type: 'object', properties: { tags } }
  const { apply } = await open(t, { tags, ports: marked, inner, note: text })
  const note = 'is owned throughout'
  const first = { tags: ['a'], inner: { tags: ['b'] }, ports: [{ name: 'p' }], note }
  for (const spec of [{ tags: [], inner: { tags: [] }, ports: [], note }, { inner: {}, note }, { note }]) {
    await apply('p', first)
    assert.deepEqual((await apply('p', spec)).object['spec'], spec)
  }
  // Elements that other managers own are kept.
  await apply('p', { tags: ['a'], note })
  await apply('q', { tags: ['c'] })
  assert.deepEqual((await apply('p', { tags: [], note })).object['spec'], { note, tags: ['c'] })
})

void test('spec 4.10: an apply that empties all that it owned keeps the parent that it sends', async (t) => {
  const { apply } = await open(t, { tags: { type: 'array', items: text, 'x-orch-list-type': 'set' } })
  await apply('p', { tags: ['a'] })
  assert.deepEqual((await apply('p', { tags: [] })).object['spec'], { tags: [] })
})
