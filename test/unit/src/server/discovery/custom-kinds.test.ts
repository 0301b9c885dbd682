/*
 * Goal: discovery lists custom kinds as upstream does, and its documents change exactly when their
 * content does.
 * Method: custom kinds constructed by the test, in a catalog that changes.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namesOf } from '../../../../../src/api/metadata/names.ts'
import { Catalog } from '../../../../../src/registry/kinds/catalog.ts'
import { definitionsFor } from '../../../../../src/resources/index.ts'
import { Discovery } from '../../../../../src/server/discovery/discovery.ts'
import type { StaticDocument } from '../../../../../src/server/responses/static-document.ts'
import { customKind } from '../../../../support/fixtures/custom-kind.ts'

const names = namesOf('k8s.io')

function fresh(): { readonly catalog: Catalog; readonly discovery: Discovery } {
  const catalog = new Catalog(definitionsFor(names))
  return { catalog, discovery: new Discovery(catalog, names) }
}

const tabs = customKind({
  ...{ group: 'stable.example.com', plural: 'crontabs', kind: 'CronTab', singular: 'tab' },
  shortNames: ['ct'],
  categories: ['all', 'tabs'],
  subresources: [{ name: 'status', verbs: ['get', 'update', 'patch'], prepareForUpdate: (object) => object }],
})

function parsed<T>(document: StaticDocument | null): T {
  assert.ok(document !== null)
  return JSON.parse(Buffer.from(document.bytes).toString('utf8')) as T
}

type Group = {
  readonly name: string
  readonly versions: readonly { readonly version: string }[]
  readonly preferredVersion: { readonly version: string }
}

void test('a custom kind has a singular, short names, categories and subresources', () => {
  const { catalog, discovery } = fresh()
  assert.equal(discovery.plain('/apis/stable.example.com'), null)
  catalog.setCustom([tabs])
  const { resources } = parsed<{ readonly resources: readonly object[] }>(
    discovery.plain('/apis/stable.example.com/v1'),
  )
  const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']
  assert.deepEqual(resources, [
    {
      ...{ name: 'crontabs', singularName: 'tab', namespaced: true, kind: 'CronTab', verbs },
      ...{ shortNames: ['ct'], categories: ['all', 'tabs'], storageVersionHash: 'EdX2FP+L0js=' },
    },
    {
      ...{ name: 'crontabs/status', singularName: '', namespaced: true, kind: 'CronTab' },
      verbs: ['get', 'patch', 'update'],
    },
  ])
  const all = parsed<{ readonly items: readonly { readonly metadata: { readonly name?: string } }[] }>(
    discovery.aggregated('/apis', 'apidiscovery.k8s.io/v2'),
  )
  assert.ok(all.items.some(({ metadata }) => metadata.name === 'stable.example.com'))
  assert.ok(discovery.paths().includes('/apis/stable.example.com/v1'))
  catalog.setCustom([])
  assert.equal(discovery.plain('/apis/stable.example.com/v1'), null)
  assert.ok(!discovery.paths().includes('/apis/stable.example.com'))
})

void test('spec 9.1: versions of custom kinds are ordered by stability, then by number, then by name', () => {
  const { catalog, discovery } = fresh()
  const versions = [
    'foo1',
    'v2beta1',
    'v1alpha1',
    'v10',
    'v3',
    'foo10',
    'v11alpha2',
    'v12alpha1',
    'v11',
    'v10beta3',
  ]
  catalog.setCustom(versions.map((version) => ({ ...tabs, version })))
  const group = parsed<Group>(discovery.plain('/apis/stable.example.com'))
  // Like the example of the documentation of release 1.24, with other numbers.
  const inOrder = [
    'v11',
    'v10',
    'v3',
    'v10beta3',
    'v2beta1',
    'v12alpha1',
    'v11alpha2',
    'v1alpha1',
    'foo1',
    'foo10',
  ]
  assert.deepEqual(
    group.versions.map(({ version }) => version),
    inOrder,
  )
  assert.equal(group.preferredVersion.version, 'v11')
})

void test('groups of custom kinds come after built-in ones, whatever their names', () => {
  const { catalog, discovery } = fresh()
  catalog.setCustom([tabs, { ...tabs, group: 'a.example.com' }, { ...tabs, group: 'apps.k8s.io' }])
  const { groups } = parsed<{ readonly groups: readonly Group[] }>(discovery.plain('/apis'))
  const all = groups.map(({ name }) => name)
  const custom = ['a.example.com', 'apps.k8s.io', 'stable.example.com']
  assert.deepEqual(
    all.filter((name) => custom.includes(name)),
    custom,
  )
  for (const name of ['policy', 'storage.k8s.io']) assert.ok(all.indexOf(name) < all.indexOf('a.example.com'))
})

void test('a custom kind in a built-in group and version is listed with the others', () => {
  const { catalog, discovery } = fresh()
  catalog.setCustom([{ ...tabs, group: 'storage.k8s.io' }])
  const { resources } = parsed<{ readonly resources: readonly { readonly name: string }[] }>(
    discovery.plain('/apis/storage.k8s.io/v1'),
  )
  const listed = resources.map(({ name }) => name)
  for (const name of ['crontabs', 'crontabs/status', 'storageclasses', 'csidrivers'])
    assert.ok(listed.includes(name), name)
  assert.deepEqual(listed, listed.toSorted())
})

void test('documents change exactly when their content does', () => {
  const { catalog, discovery } = fresh()
  const seen = () => ({
    groups: discovery.plain('/apis'),
    core: discovery.plain('/api/v1'),
    group: discovery.plain('/apis/stable.example.com'),
    version: discovery.plain('/apis/stable.example.com/v1'),
    all: discovery.aggregated('/apis', 'apidiscovery.k8s.io/v2'),
    coreOfAll: discovery.aggregated('/api', 'apidiscovery.k8s.io/v2'),
  })
  const first = seen()
  catalog.setCustom([tabs])
  const second = seen()
  assert.equal(second.core, first.core)
  assert.equal(second.coreOfAll, first.coreOfAll)
  assert.notEqual(second.groups?.etag, first.groups?.etag)
  assert.notEqual(second.all.etag, first.all.etag)
  assert.deepEqual(seen(), second)
  // The same definition as another JavaScript object changes nothing.
  catalog.setCustom([{ ...tabs }])
  const third = seen()
  for (const what of ['groups', 'core', 'group', 'version', 'all'] as const)
    assert.equal(third[what], second[what], what)
  // Another kind in the same version changes the documents of that version.
  catalog.setCustom([tabs, { ...tabs, plural: 'others', kind: 'Other' }])
  const fourth = seen()
  assert.equal(fourth.groups, third.groups)
  assert.equal(fourth.group, third.group)
  assert.notEqual(fourth.version?.etag, third.version?.etag)
  assert.notEqual(fourth.all.etag, third.all.etag)
})
