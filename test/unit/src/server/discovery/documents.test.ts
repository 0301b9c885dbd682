/*
 * Goal: discovery lists groups in order, and names the kind of a body where it is another kind.
 * Method: the pure functions, with kinds constructed by the test.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namesOf } from '../../../../../src/api/metadata/names.ts'
import type { ObjectSchema } from '../../../../../src/api/schema/schema.ts'
import type { ResourceDefinition } from '../../../../../src/registry/kinds/definition.ts'
import { aggregatedDocument } from '../../../../../src/server/discovery/aggregated.ts'
import { discoveredGroups } from '../../../../../src/server/discovery/groups.ts'
import { plainDocument } from '../../../../../src/server/discovery/plain.ts'
import { storageVersionHash } from '../../../../../src/server/discovery/storage-version-hash.ts'

function kind(group: string, version: string, name: string): ResourceDefinition {
  return {
    ...{ group, version, kind: name, plural: `${name.toLowerCase()}s`, singular: name.toLowerCase() },
    ...{ shortNames: [], categories: [], scope: 'Namespaced', verbs: ['get', 'list'], hooks: {} },
    ...{ schema: { type: 'object', properties: {} }, validateName: () => [], deleteReturnsObject: false },
    subresources: [],
  }
}

const stem = namesOf('k8s.io').groupStem

void test('groups are listed in the order in which clients look up a resource by its name', () => {
  const groups = discoveredGroups(
    ['zoo.example', 'storage.k8s.io', 'events.k8s.io', 'apps', 'ant.example', ''].map((group) =>
      kind(group, 'v1', 'Thing'),
    ),
    stem,
  )
  assert.deepEqual(
    groups.map(({ name }) => name),
    ['', 'apps', 'events.k8s.io', 'storage.k8s.io', 'ant.example', 'zoo.example'],
  )
})

void test('spec 9.1: of several versions the most stable one is preferred, then the highest', () => {
  const versions = ['v1alpha1', 'v1beta2', 'v1', 'v2', 'v1beta1']
  const groups = discoveredGroups(
    versions.map((version) => kind('storage.k8s.io', version, 'Thing')),
    stem,
  )
  const group = plainDocument(groups, '/apis/storage.k8s.io') as {
    readonly versions: readonly { readonly version: string }[]
    readonly preferredVersion: object
  }
  assert.deepEqual(
    group.versions.map(({ version }) => version),
    ['v2', 'v1', 'v1beta2', 'v1beta1', 'v1alpha1'],
  )
  assert.deepEqual(group.preferredVersion, { groupVersion: 'storage.k8s.io/v2', version: 'v2' })
})

void test('a subresource whose body is another kind names that kind', () => {
  const body = { group: 'policy', version: 'v1', kind: 'Eviction' }
  const schema: ObjectSchema = { type: 'object', properties: {} }
  const pods: ResourceDefinition = {
    ...kind('', 'v1', 'Pod'),
    subresources: [
      {
        ...{ name: 'eviction', verbs: ['create'], body: { ...body, schema } },
        operation: () => ({ kind: 'delete' as const, options: {} }),
      },
    ],
  }
  const groups = discoveredGroups([pods], stem)
  const { resources } = plainDocument(groups, '/api/v1') as { readonly resources: readonly object[] }
  assert.deepEqual(resources[1], {
    name: 'pods/eviction',
    ...{ singularName: '', namespaced: true, group: 'policy', version: 'v1', kind: 'Eviction' },
    verbs: ['create'],
  })
  const { items } = aggregatedDocument(groups, 'apidiscovery.k8s.io/v2') as {
    readonly items: readonly {
      readonly versions: readonly {
        readonly resources: readonly { readonly subresources: readonly object[] }[]
      }[]
    }[]
  }
  assert.deepEqual(items[0]?.versions[0]?.resources[0]?.subresources, [
    { subresource: 'eviction', responseKind: body, verbs: ['create'] },
  ])
})

void test('the storage version hash equals that of release 1.24; kinds that are not stored have no hash', () => {
  assert.equal(storageVersionHash(kind('', 'v1', 'Pod')), 'xPOwRZ+Yhw8=')
  assert.equal(storageVersionHash(kind('', 'v1', 'Secret')), 'S6u1pOWzb84=')
  assert.equal(storageVersionHash({ ...kind('', 'v1', 'Review'), verbs: ['create'] }), null)
  assert.equal(storageVersionHash({ ...kind('', 'v1', 'Health'), observe: () => [] }), null)
})
