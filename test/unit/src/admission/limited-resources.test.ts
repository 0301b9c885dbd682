/*
 * Goal: resources that the configuration limits are consumed only where a quota limits them, as
 * upstream 1.24 decides, and an error of the configuration names the field.
 * Method: the shipped plugin and verbs in memory; tables of configurations.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { admissionChain } from '../../../../src/admission/chain.ts'
import { limitedResourcesShape, readLimitedResources } from '../../../../src/admission/limited-resources.ts'
import type { LimitedResource } from '../../../../src/admission/limited-resources.ts'
import { checkConfigurationShape } from '../../../../src/admission/plugin-configuration.ts'
import { resourceQuotaAdmission } from '../../../../src/admission/resource-quota.ts'
import type { JsonObject } from '../../../../src/api/json.ts'
import { namesOf } from '../../../../src/api/metadata/names.ts'
import { Fixture, refused } from '../registry/fixture.ts'

const names = namesOf('k8s.io')
const CLASS = 'gold.storageclass.storage.k8s.io'

function limited(...limitedResources: readonly JsonObject[]): readonly LimitedResource[] {
  return readLimitedResources({ limitedResources }, (words) => assert.fail(words))
}

async function open(t: TestContext, ...entries: readonly JsonObject[]): Promise<Fixture> {
  const admission = admissionChain([resourceQuotaAdmission({ names, limited: limited(...entries) })])
  const api = await Fixture.open({ domain: 'k8s.io', admission })
  t.after(() => api.close())
  return api
}

/** Creates a quota whose limits are in force. */
async function quota(api: Fixture, name: string, hard: JsonObject, spec: JsonObject = {}): Promise<void> {
  const used = Object.fromEntries(Object.keys(hard).map((key) => [key, '0']))
  await api.create({ kind: 'ResourceQuota', body: { metadata: { name }, spec: { hard, ...spec } } })
  const body = { status: { hard, used } }
  await api.patch({ kind: 'ResourceQuota', name, subresource: 'status', body })
}

function claim(api: Fixture, name: string, storageClassName: string): ReturnType<Fixture['create']> {
  const resources = { requests: { storage: '1Gi' } }
  const spec = { accessModes: ['ReadWriteOnce'], storageClassName, resources }
  return api.create({ kind: 'PersistentVolumeClaim', body: { metadata: { name }, spec } })
}

function pod(api: Fixture, name: string, spec: JsonObject = {}): ReturnType<Fixture['create']> {
  const containers = [{ name: 'c', image: 'i' }]
  return api.create({ kind: 'Pod', body: { metadata: { name }, spec: { containers, ...spec } } })
}

void test('a resource whose name contains a text of matchContains is consumed only where a quota limits it', async (t) => {
  const api = await open(t, { resource: 'persistentvolumeclaims', matchContains: [CLASS] })
  const seen = await refused(claim(api, 'a', 'gold'))
  assert.deepEqual(
    [seen.code, seen.message],
    [
      403,
      'persistentvolumeclaims "a" is forbidden: insufficient quota to consume: ' +
        `${CLASS}/persistentvolumeclaims,${CLASS}/requests.storage`,
    ],
  )
  const query = { dryRun: 'All' }
  const body = { metadata: { name: 'a' }, spec: { containers: [{ name: 'c', image: 'i' }] } }
  assert.equal((await api.create({ kind: 'Pod', body, query })).code, 201)
  assert.equal((await claim(api, 'other-class', 'silver')).code, 201)
  await quota(api, 'some', { [`${CLASS}/requests.storage`]: '5Gi', services: '3' })
  assert.match(
    (await refused(claim(api, 'a', 'gold'))).message,
    /consume: gold[^,]*\/persistentvolumeclaims$/,
  )
  await quota(api, 'rest', { [`${CLASS}/persistentvolumeclaims`]: '1' })
  assert.equal((await claim(api, 'a', 'gold')).code, 201)
  assert.match((await refused(claim(api, 'b', 'gold'))).message, /exceeded quota: rest/)
})

void test('an update of a claim needs a quota only for limited resources of which it uses more', async (t) => {
  const entry = { resource: 'persistentvolumeclaims', matchContains: ['requests.storage'] }
  const api = await open(t, entry)
  await quota(api, 'all', { 'requests.storage': '5Gi', [`${CLASS}/requests.storage`]: '5Gi' })
  await claim(api, 'a', 'gold')
  const kind = 'PersistentVolumeClaim'
  await api.patch({ kind, name: 'a', subresource: 'status', body: { status: { phase: 'Bound' } } })
  await api.delete({ kind: 'ResourceQuota', name: 'all' })
  const patch = (body: JsonObject): ReturnType<Fixture['patch']> => api.patch({ kind, name: 'a', body })
  assert.equal((await patch({ metadata: { labels: { a: 'b' } } })).code, 200)
  const grown = patch({ spec: { resources: { requests: { storage: '2Gi' } } } })
  assert.match((await refused(grown)).message, /insufficient quota to consume: gold.*,requests\.storage$/)
})

void test('objects of other kinds are limited by their count, in their group', async (t) => {
  const entry = { apiGroup: 'coordination.k8s.io', resource: 'leases', matchContains: ['count/'] }
  const api = await open(t, entry)
  const lease = (name: string): ReturnType<Fixture['create']> =>
    api.create({ kind: 'Lease', body: { metadata: { name } } })
  assert.match((await refused(lease('a'))).message, /consume: count\/leases\.coordination\.k8s\.io$/)
  assert.equal((await api.configMap('a')).code, 201)
  await quota(api, 'q', { 'count/leases.coordination.k8s.io': '1' })
  assert.equal((await lease('a')).code, 201)
})

void test('a limited scope of Pods needs a quota with the same scope', async (t) => {
  const scope = { scopeName: 'PriorityClass', operator: 'In', values: ['high', 'top'] }
  const api = await open(t, { resource: 'pods', matchScopes: [scope] })
  assert.equal((await pod(api, 'plain')).code, 201)
  const seen = await refused(pod(api, 'a', { priorityClassName: 'high' }))
  assert.deepEqual(
    [seen.code, seen.message],
    [403, 'pods "a" is forbidden: insufficient quota to match these scopes: [{PriorityClass In [high top]}]'],
  )
  // Without the scope, or for another class, a quota does not cover it.
  await quota(api, 'all', { pods: '9' })
  const other = { scopeName: 'PriorityClass', operator: 'In', values: ['low'] }
  await quota(api, 'low', { pods: '9' }, { scopeSelector: { matchExpressions: [other] } })
  assert.match((await refused(pod(api, 'a', { priorityClassName: 'high' }))).message, /insufficient quota/)
  const high = { ...other, values: ['high'] }
  await quota(api, 'high', { pods: '1' }, { scopeSelector: { matchExpressions: [high] } })
  assert.equal((await pod(api, 'a', { priorityClassName: 'high' })).code, 201)
  assert.match((await refused(pod(api, 'b', { priorityClassName: 'high' }))).message, /exceeded quota: high/)
})

void test('a Pod that enters a limited scope later needs the quota then', async (t) => {
  const scopes = ['Terminating', 'NotTerminating'].map((scopeName) => ({ scopeName, operator: 'Exists' }))
  const api = await open(t, { resource: 'pods', matchScopes: scopes })
  await quota(api, 'endless', { pods: '9' }, { scopes: ['NotTerminating'] })
  await pod(api, 'a')
  await api.delete({ kind: 'ResourceQuota', name: 'endless' })
  const patch = (body: JsonObject): ReturnType<Fixture['patch']> =>
    api.patch({ kind: 'Pod', name: 'a', body })
  assert.equal((await patch({ metadata: { labels: { a: 'b' } } })).code, 200)
  const ending = patch({ spec: { activeDeadlineSeconds: 9 } })
  assert.match((await refused(ending)).message, /these scopes: \[\{Terminating Exists \[\]\}\]$/)
})

void test('a configuration of limited resources has the types of upstream 1.24', () => {
  const rows: readonly (readonly [JsonObject, readonly string[]])[] = [
    [{ kind: 'ResourceQuotaConfiguration', apiVersion: 'apiserver.config.k8s.io/v1' }, []],
    [{ kind: 'Configuration', apiVersion: 'resourcequota.admission.k8s.io/v1beta1' }, []],
    [{ kind: 'Configuration', apiVersion: 'resourcequota.admission.k8s.io/v1alpha1' }, []],
    [
      { kind: 'Configuration', apiVersion: 'apiserver.config.k8s.io/v1' },
      [
        'apiVersion: must be resourcequota.admission.k8s.io/v1beta1 or resourcequota.admission.k8s.io/v1alpha1',
      ],
    ],
    [
      { kind: 'Quota', apiVersion: 'apiserver.config.k8s.io/v1', limits: [] },
      ['kind: must be ResourceQuotaConfiguration', 'limits: unknown field; the fields are limitedResources'],
    ],
  ]
  for (const [given, wanted] of rows) {
    const problems: string[] = []
    checkConfigurationShape(given, limitedResourcesShape(names, given), (words) => problems.push(words))
    assert.deepEqual(problems, wanted)
  }
})

void test('an invalid entry of limitedResources is rejected, and the error names the field', () => {
  const scope = { scopeName: 'PriorityClass', operator: 'In', values: ['a'] }
  const pods = (...matchScopes: readonly JsonObject[]): JsonObject => ({ resource: 'pods', matchScopes })
  const rows: readonly (readonly [entry: JsonObject | string, problem: RegExp])[] = [
    ['pods', /^limitedResources\[0\]: must be an object/],
    [{ matchContains: ['a'] }, /\[0\]\.resource: Required value/],
    [{ resource: 'events', matchContains: ['a'] }, /\[0\]\.resource: no quota counts events$/],
    [{ resource: 'pods' }, /\[0\]: limits nothing without matchContains or matchScopes/],
    [{ resource: 'pods', matchContains: [1, 'a'] }, /\[0\]\.matchContains: must be a list of texts/],
    [{ resource: 'pods', matchContain: [], matchContains: ['a'] }, /\[0\]\.matchContain: unknown field; the/],
    [{ resource: 'pods', matchContains: ['a'], matchScopes: {} }, /\[0\]\.matchScopes: must be a list/],
    [{ ...pods(scope), resource: 'services' }, /\[0\]\.matchScopes: only the resource pods has scopes/],
    [pods({ ...scope, scopeName: 'Priority' }), /matchScopes\[0\]\.scopeName: must be one of BestEffort, /],
    [pods({ ...scope, operator: 'Is', values: [] }), /matchScopes\[0\]\.operator: must be In or NotIn or/],
    [pods(scope, { ...scope, values: [] }), /matchScopes\[1\]\.values: In and NotIn need at least one value/],
    [pods({ ...scope, operator: 'Exists' }), /matchScopes\[0\]\.values: only In and NotIn have values/],
    [pods({ scopeName: 'BestEffort', operator: 'DoesNotExist' }), /\[0\]\.operator: must be Exists$/],
  ]
  for (const [entry, wanted] of rows) {
    const problems: string[] = []
    readLimitedResources({ limitedResources: [entry] }, (words) => problems.push(words))
    assert.match(problems[0] ?? '', wanted, JSON.stringify(entry))
  }
  const problems: string[] = []
  readLimitedResources({ limitedResources: {} }, (words) => problems.push(words))
  assert.deepEqual(problems, ['limitedResources: must be a list'])
})
