/*
 * Goal: quotas refuse as upstream 1.24 does, in its words, and usage is exact whatever the order in
 * which concurrent writes are applied.
 * Method: the shipped plugin, verbs and machine in memory; random concurrent creates; writes that
 * overtake a write between its evaluation and its commit.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { admissionChain } from '../../../../src/admission/chain.ts'
import { namespaceLifecycle } from '../../../../src/admission/namespace-lifecycle.ts'
import { resourceQuotaAdmission } from '../../../../src/admission/resource-quota.ts'
import { objectMember } from '../../../../src/api/json.ts'
import type { JsonObject } from '../../../../src/api/json.ts'
import { namesOf } from '../../../../src/api/metadata/names.ts'
import type { AnyObject } from '../../../../src/registry/kinds/definition.ts'
import { isUncounted, usageOf } from '../../../../src/registry/quota/usage.ts'
import { Fixture, refused } from '../registry/fixture.ts'
import { openRacingFixture } from './racing-fixture.ts'

const names = namesOf('orch.io')

function open(): Promise<Fixture> {
  const plugins = [namespaceLifecycle({ names }), resourceQuotaAdmission({ names })]
  return Fixture.open({ admission: admissionChain(plugins) })
}

/** Creates a quota whose limits are in force. */
async function quota(api: Fixture, name: string, hard: JsonObject, spec: JsonObject = {}): Promise<void> {
  const used = Object.fromEntries(Object.keys(hard).map((key) => [key, '0']))
  await api.create({ kind: 'ResourceQuota', body: { metadata: { name }, spec: { hard, ...spec } } })
  const body = { status: { hard, used } }
  await api.patch({ kind: 'ResourceQuota', name, subresource: 'status', body })
}

async function usedOf(api: Fixture, name: string): Promise<JsonObject> {
  const { object } = await api.get({ kind: 'ResourceQuota', name })
  return objectMember(objectMember(object, 'status'), 'used')
}

type Resources = { readonly requests?: JsonObject; readonly limits?: JsonObject }

function podOf(name: string, resources: Resources = {}, spec: JsonObject = {}): JsonObject {
  const containers = [{ name: 'c', image: 'i', resources: { ...resources } }]
  return { metadata: { name }, spec: { containers, ...spec } }
}

function pod(api: Fixture, ...of: Parameters<typeof podOf>): ReturnType<Fixture['create']> {
  return api.create({ kind: 'Pod', body: podOf(...of) })
}

void test('spec 5.9: a quota refuses what exceeds it, with upstream words, and counts what it admits', async (t) => {
  const api = await open()
  t.after(() => api.close())
  await quota(api, 'q', { pods: '1', 'requests.cpu': '1' })
  await pod(api, 'a', { requests: { cpu: '600m' } })
  assert.deepEqual(await usedOf(api, 'q'), { pods: '1', 'requests.cpu': '600m' })
  const seen = await refused(pod(api, 'b', { requests: { cpu: '500m' } }))
  assert.equal(seen.code, 403)
  assert.equal(
    seen.message,
    'pods "b" is forbidden: exceeded quota: q, requested: pods=1,requests.cpu=500m, used: pods=1,requests.cpu=600m, limited: pods=1,requests.cpu=1',
  )
  const dry = await refused(
    api.create({ kind: 'Pod', body: podOf('b', { requests: { cpu: '1' } }), query: { dryRun: 'All' } }),
  )
  assert.match(dry.message, /exceeded quota: q/)
  assert.deepEqual(await usedOf(api, 'q'), { pods: '1', 'requests.cpu': '600m' })
})

void test('spec 5.9: containers must specify what a quota limits', async (t) => {
  const api = await open()
  t.after(() => api.close())
  await quota(api, 'q', { 'limits.cpu': '1', 'requests.memory': '1Gi', pods: '10' })
  const seen = await refused(pod(api, 'a'))
  assert.equal(
    seen.message,
    'pods "a" is forbidden: failed quota: q: must specify limits.cpu,requests.memory',
  )
  const enough = { limits: { cpu: '1', memory: '1Gi' } }
  assert.equal((await pod(api, 'a', enough)).code, 201)
})

void test('spec 5.9: a quota without the usage of what it limits refuses, and one not in force does not', async (t) => {
  const api = await open()
  t.after(() => api.close())
  const hard = { pods: '0' }
  await api.create({ kind: 'ResourceQuota', body: { metadata: { name: 'q' }, spec: { hard } } })
  assert.equal((await pod(api, 'a')).code, 201)
  await api.patch({ kind: 'ResourceQuota', name: 'q', subresource: 'status', body: { status: { hard } } })
  const seen = await refused(pod(api, 'b'))
  assert.equal(seen.message, 'pods "b" is forbidden: status unknown for quota: q, resources: pods')
})

void test('spec 5.9: quotas count objects of every kind, by name and by group', async (t) => {
  const api = await open()
  t.after(() => api.close())
  await quota(api, 'q', {
    configmaps: '2',
    'count/configmaps': '1',
    'count/leases.coordination.orch.io': '1',
  })
  await api.configMap('a')
  const seen = await refused(api.configMap('b'))
  assert.match(
    seen.message,
    /requested: count\/configmaps=1, used: count\/configmaps=1, limited: count\/configmaps=1$/,
  )
  await api.create({ kind: 'Lease', body: { metadata: { name: 'a' } } })
  assert.equal((await refused(api.create({ kind: 'Lease', body: { metadata: { name: 'b' } } }))).code, 403)
  assert.equal((await api.create({ kind: 'Secret', body: { metadata: { name: 'b' } } })).code, 201)
  // Another namespace has quotas of its own.
  await api.create({ kind: 'Namespace', body: { metadata: { name: 'other' } } })
  const body = { metadata: { name: 'b', namespace: 'other' } }
  assert.equal((await api.create({ kind: 'ConfigMap', namespace: 'other', body })).code, 201)
  assert.deepEqual(await usedOf(api, 'q'), {
    configmaps: '1',
    'count/configmaps': '1',
    'count/leases.coordination.orch.io': '1',
  })
})

void test('spec 5.9: all quotas of a namespace count, each in its scope', async (t) => {
  const api = await open()
  t.after(() => api.close())
  const hard = { pods: '1' }
  const scoped = (scope: string): JsonObject => ({ scopes: [scope] })
  await quota(api, 'all', { pods: '9', 'hugepages-2Mi': '4Mi', 'requests.example.com/gpu': '2' })
  await quota(api, 'best', hard, scoped('BestEffort'))
  await quota(api, 'not-best', hard, scoped('NotBestEffort'))
  await quota(api, 'ending', hard, scoped('Terminating'))
  const expression = { scopeName: 'PriorityClass', operator: 'In', values: ['high'] }
  await quota(api, 'high', hard, { scopeSelector: { matchExpressions: [expression] } })
  await pod(api, 'a')
  const gpu = { cpu: '1', 'example.com/gpu': '2', 'hugepages-2Mi': '4Mi' }
  await pod(api, 'b', { requests: gpu, limits: gpu }, { activeDeadlineSeconds: 5, priorityClassName: 'high' })
  for (const name of ['best', 'not-best', 'ending', 'high'])
    assert.deepEqual(await usedOf(api, name), { pods: '1' }, name)
  assert.deepEqual(await usedOf(api, 'all'), {
    pods: '2',
    'hugepages-2Mi': '4Mi',
    'requests.example.com/gpu': '2',
  })
  assert.match((await refused(pod(api, 'c'))).message, /exceeded quota: best,/)
  const zero = await refused(pod(api, 'd', { requests: { cpu: '0' } }))
  assert.match(zero.message, /exceeded quota: best,/, 'a request of 0 counts as none')
  // An update that moves a Pod into a scope is refused if the quota of the scope is used up.
  await api.delete({ kind: 'ResourceQuota', name: 'best' })
  await pod(api, 'e')
  const seen = await refused(
    api.patch({ kind: 'Pod', name: 'e', body: { spec: { activeDeadlineSeconds: 9 } } }),
  )
  assert.match(seen.message, /exceeded quota: ending, requested: pods=1/)
})

void test('spec 5.9: storage is counted in total and by class, and a claim that grows counts its growth', async (t) => {
  const api = await open()
  t.after(() => api.close())
  const ofClass = 'fast.storageclass.storage.orch.io'
  await quota(api, 'q', {
    'requests.storage': '10Gi',
    [`${ofClass}/requests.storage`]: '6Gi',
    [`${ofClass}/persistentvolumeclaims`]: '5',
  })
  const kind = 'PersistentVolumeClaim'
  const claim = (name: string, storage: string): JsonObject => ({
    metadata: { name },
    spec: { accessModes: ['ReadWriteOnce'], storageClassName: 'fast', resources: { requests: { storage } } },
  })
  await api.create({ kind, body: claim('a', '4Gi') })
  assert.match(
    (await refused(api.create({ kind, body: claim('b', '3Gi') }))).message,
    /limited: fast\.storageclass/,
  )
  await api.patch({ kind, name: 'a', subresource: 'status', body: { status: { phase: 'Bound' } } })
  const grow = (storage: string): ReturnType<Fixture['patch']> =>
    api.patch({ kind, name: 'a', body: { spec: { resources: { requests: { storage } } } } })
  assert.match((await refused(grow('7Gi'))).message, /requested: fast.*requests\.storage=3Gi/)
  await grow('6Gi')
  assert.deepEqual(await usedOf(api, 'q'), {
    [`${ofClass}/persistentvolumeclaims`]: '1',
    [`${ofClass}/requests.storage`]: '6Gi',
    'requests.storage': '6Gi',
  })
})

void test('spec 5.9: concurrent creates never exceed a quota, and use all of it', async (t) => {
  const seed = Number(process.env['SEED'] ?? 1)
  t.diagnostic(`repeat with SEED=${seed} node dist/test/run.js --only admission/resource-quota`)
  const random = new SeededRandom(seed)
  for (let round = 0; round < 4; round++) {
    const api = await open()
    t.after(() => api.close())
    const limit = 5 + random.below(20)
    await quota(api, 'q', { configmaps: String(limit) })
    await quota(api, 'cpu', { 'requests.cpu': '100' })
    const calls = Array.from({ length: limit + 15 }, (_, at) => {
      const isPod = random.below(4) === 0
      const made = isPod ? pod(api, `p${at}`, { requests: { cpu: '1' } }) : api.configMap(`c${at}`)
      return made.then(
        () => (isPod ? 'pod' : 'made'),
        (cause: unknown) => (isPod ? Promise.reject(cause as Error) : 'refused'),
      )
    })
    const results = await Promise.all(calls)
    const count = (result: string): number => results.filter((one) => one === result).length
    const wanted = Math.min(limit, count('made') + count('refused'))
    assert.equal(count('made'), wanted, `round ${round}`)
    assert.deepEqual(await usedOf(api, 'q'), { configmaps: String(wanted) })
    assert.deepEqual(await usedOf(api, 'cpu'), { 'requests.cpu': String(count('pod')) })
    const { items } = await api.list({ kind: 'ConfigMap' })
    assert.equal(items.length, wanted)
  }
})

function openRacing(): ReturnType<typeof openRacingFixture> {
  return openRacingFixture([namespaceLifecycle({ names }), resourceQuotaAdmission({ names })])
}

void test('spec 5.9: a create that was evaluated before a quota was there, or in force, is evaluated again', async (t) => {
  const { api, race } = await openRacing()
  t.after(() => api.close())
  race.before = () => quota(api, 'q', { configmaps: '0' })
  assert.match((await refused(api.configMap('a'))).message, /exceeded quota: q/)
  const hard = { secrets: '0' }
  await api.create({ kind: 'ResourceQuota', body: { metadata: { name: 'r' }, spec: { hard } } })
  race.before = () => {
    const body = { status: { hard, used: { secrets: '0' } } }
    return api.patch({ kind: 'ResourceQuota', name: 'r', subresource: 'status', body })
  }
  assert.match(
    (await refused(api.create({ kind: 'Secret', body: { metadata: { name: 'a' } } }))).message,
    /exceeded quota: r/,
  )
})

void test('spec 5.9: what is created while a new quota is counted is counted, too', async (t) => {
  const { api, race } = await openRacing()
  t.after(() => api.close())
  const hard = { configmaps: '1' }
  const made = await api.create({
    kind: 'ResourceQuota',
    body: { metadata: { name: 'q' }, spec: { hard } },
  })
  // The controller has counted nothing, and a ConfigMap is stored before its status is.
  race.before = () => api.configMap('a')
  const counted = { ...made.object, status: { hard, used: { configmaps: '0' } } }
  const status = api.update({ kind: 'ResourceQuota', name: 'q', subresource: 'status', body: counted })
  assert.equal((await refused(status)).code, 409)
  const body = { status: { hard, used: { configmaps: '1' } } }
  await api.patch({ kind: 'ResourceQuota', name: 'q', subresource: 'status', body })
  assert.match((await refused(api.configMap('b'))).message, /exceeded quota: q/)
})

void test('spec 5.9: a create that was evaluated before a further quota, or another limit, is evaluated again', async (t) => {
  const { api, race } = await openRacing()
  t.after(() => api.close())
  await quota(api, 'pods', { pods: '5' })
  race.before = () => quota(api, 'maps', { configmaps: '0' })
  assert.match((await refused(api.configMap('a'))).message, /exceeded quota: maps/)
  // Another quota of the same resource, and one that does not count it until its spec is changed.
  race.before = () => quota(api, 'fewer', { pods: '0' })
  assert.match((await refused(pod(api, 'a'))).message, /exceeded quota: fewer/)
  const { object } = await api.get({ kind: 'Namespace', name: 'default' })
  race.before = async () => {
    const limits = { hard: { pods: '5', secrets: '0' } }
    await api.patch({ kind: 'ResourceQuota', name: 'pods', body: { spec: limits } })
    const body = { status: { ...limits, used: { pods: '0', secrets: '0' } } }
    await api.patch({ kind: 'ResourceQuota', name: 'pods', subresource: 'status', body })
  }
  const secret = api.create({ kind: 'Secret', body: { metadata: { name: 'a' } } })
  assert.match((await refused(secret)).message, /exceeded quota: pods/)
  const after = (await api.get({ kind: 'Namespace', name: 'default' })).object
  const metadataOf = (of: JsonObject): JsonObject => ({
    ...objectMember(of, 'metadata'),
    resourceVersion: '',
  })
  assert.deepEqual(metadataOf(after), metadataOf(object))
  assert.deepEqual(objectMember(after, 'spec'), objectMember(object, 'spec'))
})

void test('spec 5.9: server-side apply that creates, and an update that grows, are evaluated again too', async (t) => {
  const { api, race } = await openRacing()
  t.after(() => api.close())
  const claim = (storage: string): JsonObject => ({
    metadata: { name: 'a' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage } } },
  })
  const kind = 'PersistentVolumeClaim'
  await api.create({ kind, body: claim('1Gi') })
  await api.patch({ kind, name: 'a', subresource: 'status', body: { status: { phase: 'Bound' } } })
  race.before = () => quota(api, 'q', { configmaps: '0', 'requests.storage': '0' })
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }
  const query = { fieldManager: 'm' }
  const contentType = 'application/apply-patch+yaml'
  assert.match(
    (await refused(api.patch({ name: 'a', body, query, contentType }))).message,
    /exceeded quota: q/,
  )
  await api.delete({ kind: 'ResourceQuota', name: 'q' })
  race.before = () => quota(api, 'q', { 'requests.storage': '0' })
  const grown = { spec: { resources: { requests: { storage: '2Gi' } } } }
  assert.match((await refused(api.patch({ kind, name: 'a', body: grown }))).message, /exceeded quota: q/)
})

void test('spec 5.9: quotas count the load balancers and node ports of Services, and changes of their type', async (t) => {
  const api = await open()
  t.after(() => api.close())
  await quota(api, 'q', { 'services.loadbalancers': '1', 'services.nodeports': '3' })
  const ports = (count: number): JsonObject[] =>
    Array.from({ length: count }, (_, at) => ({ name: `p${at}`, port: 80 + at }))
  const service = (name: string, spec: JsonObject): ReturnType<Fixture['create']> =>
    api.create({ kind: 'Service', body: { metadata: { name }, spec: { ports: ports(2), ...spec } } })
  const counts = async (): Promise<readonly unknown[]> => {
    const used = await usedOf(api, 'q')
    return [used['services.loadbalancers'], used['services.nodeports']]
  }
  await service('plain', {})
  assert.deepEqual(await counts(), ['0', '0'])
  await service('out', { type: 'LoadBalancer' })
  assert.deepEqual(await counts(), ['1', '2'])
  assert.match(
    (await refused(service('more', { type: 'NodePort' }))).message,
    /exceeded quota: q, requested: services\.nodeports=2, used: services\.nodeports=2, limited: services\.nodeports=3$/,
  )
  const patch = (name: string, spec: JsonObject): ReturnType<Fixture['patch']> =>
    api.patch({ kind: 'Service', name, body: { spec } })
  assert.match(
    (await refused(patch('plain', { type: 'LoadBalancer' }))).message,
    /requested: services\.loadbalancers=1,services\.nodeports=2,/,
  )
  await patch('plain', { type: 'NodePort', ports: ports(1) })
  assert.deepEqual(await counts(), ['1', '3'])
  assert.match((await refused(patch('plain', { ports: ports(3) }))).message, /services\.nodeports=2,? used/)
})

void test('spec 5.9: load balancers without node ports count only the node ports that they state', () => {
  const used = (spec: JsonObject): readonly unknown[] => {
    const object: AnyObject = { apiVersion: 'v1', kind: 'Service', metadata: {}, spec }
    const { amounts } = usageOf({ group: '', plural: 'services' }, object, names)
    return ['services.loadbalancers', 'services.nodeports'].map((name) => amounts.get(name)?.nanos ?? 0n)
  }
  const ports = [{ port: 80, nodePort: 30_080 }, { port: 81 }]
  const one = 10n ** 9n
  const type = 'LoadBalancer'
  assert.deepEqual(used({ type, ports, allocateLoadBalancerNodePorts: false }), [one, one])
  assert.deepEqual(used({ type, ports, allocateLoadBalancerNodePorts: true }), [one, 2n * one])
  assert.deepEqual(used({ type: 'ExternalName', ports }), [0n, 0n])
})

void test('spec 5.9: quotas do not count events, and count the objects of a custom kind of that name', () => {
  assert.ok(isUncounted({ group: '', plural: 'events' }))
  assert.ok(!isUncounted({ group: 'calendar.example.com', plural: 'events' }))
})
