/*
 * Goal: the plugins for Pods, nodes, claims, namespaces and certificate requests decide as those of
 * upstream 1.24, in its words.
 * Method: the shipped plugins and verbs in memory, a table for each plugin.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { alwaysDeny, namespaceExists } from '../../../../src/admission/always.ts'
import { alwaysPullImages } from '../../../../src/admission/always-pull-images.ts'
import { certificateSubjectRestriction } from '../../../../src/admission/certificate-subject.ts'
import { admissionChain } from '../../../../src/admission/chain.ts'
import type { AdmissionPlugin } from '../../../../src/admission/chain.ts'
import { defaultTolerationSeconds } from '../../../../src/admission/default-tolerations.ts'
import { extendedResourceToleration } from '../../../../src/admission/extended-resource-toleration.ts'
import { limitRanger } from '../../../../src/admission/limit-ranger.ts'
import { priorityAdmission } from '../../../../src/admission/priority.ts'
import { runtimeClassAdmission } from '../../../../src/admission/runtime-class.ts'
import {
  defaultStorageClass,
  persistentVolumeClaimResize,
} from '../../../../src/admission/storage-classes.ts'
import { taintNodesByCondition } from '../../../../src/admission/taint-nodes.ts'
import { objectMember, objectsMember, withoutMembers } from '../../../../src/api/json.ts'
import type { JsonObject } from '../../../../src/api/json.ts'
import { namesOf } from '../../../../src/api/metadata/names.ts'
import type { AnyObject } from '../../../../src/registry/kinds/definition.ts'
import { certificateRequest } from '../../../support/fixtures/certificate-request.ts'
import { Fixture, refused } from '../registry/fixture.ts'

const names = namesOf('k8s.io')

function open(...plugins: readonly AdmissionPlugin[]): Promise<Fixture> {
  return Fixture.open({ domain: 'k8s.io', admission: admissionChain(plugins) })
}

function pod(
  api: Fixture,
  name: string,
  spec: JsonObject = {},
  container: JsonObject = {},
): ReturnType<Fixture['create']> {
  const containers = [{ name: 'c', image: 'i', ...container }]
  return api.create({ kind: 'Pod', body: { metadata: { name }, spec: { containers, ...spec } } })
}

const specOf = (object: AnyObject): JsonObject => objectMember(object, 'spec')

void test('spec 5.9: LimitRanger fills requests and limits of containers, adds an annotation, and refuses what is out of range', async (t) => {
  const api = await open(limitRanger({ names }))
  t.after(() => api.close())
  const limits = [
    {
      type: 'Container',
      default: { cpu: '1', memory: '1Gi' },
      defaultRequest: { cpu: '500m' },
      max: { cpu: '2' },
      min: { cpu: '100m' },
    },
    { type: 'Pod', max: { cpu: '3' }, maxLimitRequestRatio: { cpu: '4' } },
    { type: 'PersistentVolumeClaim', min: { storage: '1Gi' }, max: { storage: '2Gi' } },
  ]
  await api.create({ kind: 'LimitRange', body: { metadata: { name: 'r' }, spec: { limits } } })
  const { object } = await pod(api, 'a')
  const [container] = objectsMember(specOf(object), 'containers')
  assert.deepEqual(container?.['resources'], {
    limits: { cpu: '1', memory: '1Gi' },
    requests: { cpu: '500m', memory: '1Gi' },
  })
  assert.equal(
    object.metadata.annotations?.['kubernetes.io/limit-ranger'],
    'LimitRanger plugin set: cpu, memory request for container c; cpu, memory limit for container c',
  )
  const cpu = (limit: string, request = limit): JsonObject => ({
    resources: { limits: { cpu: limit }, requests: { cpu: request } },
  })
  for (const [container, words] of [
    [cpu('2500m', '1'), 'maximum cpu usage per Container is 2, but limit is 2500m'],
    [cpu('50m'), '[minimum cpu usage per Container is 100m, but request is 50m'],
    [cpu('2', '100m'), 'cpu max limit to request ratio per Pod is 4, but provided ratio is 20.000000'],
  ] as const) {
    const seen = await refused(pod(api, 'b', {}, container))
    assert.equal(seen.code, 403)
    if (words.startsWith('['))
      assert.ok(seen.message.startsWith(`pods "b" is forbidden: ${words.slice(1)}`), seen.message)
    else assert.equal(seen.message, `pods "b" is forbidden: ${words}`)
  }
  const two = { containers: ['a', 'b'].map((name) => ({ name, image: 'i', ...cpu('2') })) }
  const seen = await refused(pod(api, 'b', two))
  assert.equal(seen.message, 'pods "b" is forbidden: maximum cpu usage per Pod is 3, but limit is 4')
  const claim = (storage: string): JsonObject => ({
    metadata: { name: 'c' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage } } },
  })
  const kind = 'PersistentVolumeClaim'
  assert.match(
    (await refused(api.create({ kind, body: claim('3Gi') }))).message,
    /maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi$/,
  )
  assert.match(
    (await refused(api.create({ kind, body: claim('1Mi') }))).message,
    /minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi$/,
  )
  assert.equal((await api.create({ kind, body: claim('1Gi') })).code, 201)
})

const extended = (count: number): JsonObject =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`example.com/r${at}`, '1']))

const containersOf = (count: number): JsonObject => ({
  containers: Array.from({ length: count }, (_, at) => ({ name: `c${at}`, image: 'i' })),
})

void test('LimitRanger reports at most 64 violations of a Pod, however many containers and limits there are', async (t) => {
  const api = await open(limitRanger({ names }))
  t.after(() => api.close())
  const limits = [{ type: 'Pod', max: extended(2000) }]
  await api.create({ kind: 'LimitRange', body: { metadata: { name: 'r' }, spec: { limits } } })
  const seen = await refused(pod(api, 'a', containersOf(1000)))
  assert.equal(seen.code, 403)
  assert.equal(seen.message.split('No limit is specified').length - 1, 64)
})

void test('LimitRanger refuses a Pod that would get more than 10000 defaults', async (t) => {
  const api = await open(limitRanger({ names }))
  t.after(() => api.close())
  const limits = [{ type: 'Container', defaultRequest: extended(1000), default: extended(1000) }]
  await api.create({ kind: 'LimitRange', body: { metadata: { name: 'r' }, spec: { limits } } })
  assert.equal((await pod(api, 'a', containersOf(1))).code, 201)
  const seen = await refused(pod(api, 'b', containersOf(6)))
  assert.equal(seen.code, 403)
  assert.match(seen.message, /"b" is forbidden: its containers would get more than 10000 default requests/)
})

void test('a container gets each default of the first LimitRange that has it, and the annotation names the defaults of the last LimitRange that set any', async (t) => {
  const api = await open(limitRanger({ names }))
  t.after(() => api.close())
  for (const [name, item] of [
    ['a', { default: { cpu: '2' }, defaultRequest: { cpu: '1' } }],
    ['b', { default: { cpu: '4', memory: '2Gi' }, defaultRequest: { cpu: '3', memory: '1Gi' } }],
    ['c', { default: { cpu: '6', memory: '4Gi' }, defaultRequest: { cpu: '5', memory: '3Gi' } }],
  ] as const) {
    const body = { metadata: { name }, spec: { limits: [{ type: 'Container', ...item }] } }
    await api.create({ kind: 'LimitRange', body })
  }
  const stated = { name: 'second', image: 'i', resources: { requests: { memory: '64Mi' } } }
  const { object } = await pod(api, 'a', {
    containers: [{ name: 'first', image: 'i' }, stated],
    initContainers: [{ name: 'before', image: 'i' }],
  })
  const resourcesOf = (list: string): unknown[] =>
    objectsMember(specOf(object), list).map((one) => one['resources'])
  const both = { limits: { cpu: '2', memory: '2Gi' }, requests: { cpu: '1', memory: '1Gi' } }
  const own = { limits: { cpu: '2', memory: '2Gi' }, requests: { cpu: '1', memory: '64Mi' } }
  assert.deepEqual([...resourcesOf('containers'), ...resourcesOf('initContainers')], [both, own, both])
  assert.equal(
    object.metadata.annotations?.['kubernetes.io/limit-ranger'],
    'LimitRanger plugin set: memory request for container first; memory limit for container first; ' +
      'memory limit for container second; memory request for init container before; ' +
      'memory limit for init container before',
  )
})

void test('spec 5.9: Priority gives Pods the priority of their class or of the default class, and protects its classes', async (t) => {
  const api = await open(priorityAdmission({ names }))
  t.after(() => api.close())
  const kind = 'PriorityClass'
  const priorityOf = async (name: string, spec: JsonObject = {}): Promise<JsonObject> => {
    const { priority, priorityClassName, preemptionPolicy } = specOf((await pod(api, name, spec)).object)
    return {
      priority: priority ?? null,
      priorityClassName: priorityClassName ?? null,
      preemptionPolicy: preemptionPolicy ?? null,
    }
  }
  const preempt = 'PreemptLowerPriority'
  assert.deepEqual(await priorityOf('a'), { priority: 0, priorityClassName: null, preemptionPolicy: preempt })
  await api.create({ kind, body: { metadata: { name: 'high' }, value: 7, preemptionPolicy: 'Never' } })
  await api.create({ kind, body: { metadata: { name: 'usual' }, value: 3, globalDefault: true } })
  assert.deepEqual(await priorityOf('b'), {
    priority: 3,
    priorityClassName: 'usual',
    preemptionPolicy: preempt,
  })
  assert.deepEqual(await priorityOf('c', { priorityClassName: 'high' }), {
    priority: 7,
    priorityClassName: 'high',
    preemptionPolicy: 'Never',
  })
  const critical = 'system-node-critical'
  assert.equal((await priorityOf('d', { priorityClassName: critical }))['priority'], 2_000_001_000)
  for (const [spec, words] of [
    [{ priorityClassName: 'none' }, 'no PriorityClass with name none was found'],
    [
      { priority: 5 },
      'the integer value of priority (5) must not be provided in pod spec; priority admission controller computed 3 from the given PriorityClass name',
    ],
    [
      { preemptionPolicy: 'Never' },
      'the string value of PreemptionPolicy (Never) must not be provided in pod spec; priority admission controller computed PreemptLowerPriority from the given PriorityClass name',
    ],
  ] as const) {
    const seen = await refused(pod(api, 'e', spec))
    assert.equal(seen.message, `pods "e" is forbidden: ${words}`)
  }
  const second = await refused(
    api.create({ kind, body: { metadata: { name: 'x' }, value: 1, globalDefault: true } }),
  )
  assert.match(
    second.message,
    /PriorityClass usual is already marked as default\. Only one default can exist$/,
  )
  await api.create({ kind, body: { metadata: { name: critical }, value: 2_000_001_000 } })
  assert.match(
    (await refused(api.delete({ kind, name: critical }))).message,
    /this is a system priority class and cannot be deleted$/,
  )
  // An update without the priority keeps it.
  const { object } = await api.get({ kind: 'Pod', name: 'c' })
  const spec = withoutMembers(specOf(object), 'priority', 'preemptionPolicy')
  const updated = await api.update({ kind: 'Pod', name: 'c', body: { ...object, spec } })
  assert.equal(specOf(updated.object)['priority'], 7)
})

void test('spec 5.9: DefaultTolerationSeconds and ExtendedResourceToleration add what is missing', async (t) => {
  const api = await open(defaultTolerationSeconds({ names }), extendedResourceToleration())
  t.after(() => api.close())
  const usual = (key: string): JsonObject => ({
    key,
    operator: 'Exists',
    effect: 'NoExecute',
    tolerationSeconds: 300,
  })
  const [notReady, unreachable] = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']
  const own = { key: notReady, operator: 'Exists', effect: 'NoExecute' }
  const everything = { operator: 'Exists' }
  const gpu = { 'example.com/gpu': '1' }
  const native = { 'kubernetes.io/batteries': '1', 'example.kubernetes.io/lamps': '500m' }
  for (const [name, spec, container, expected] of [
    ['a', {}, {}, [usual(notReady), usual(unreachable)]],
    ['b', { tolerations: [own] }, {}, [own, usual(unreachable)]],
    ['c', { tolerations: [everything] }, {}, [everything]],
    [
      'd',
      { tolerations: [everything] },
      { resources: { requests: gpu, limits: gpu } },
      [everything, { key: 'example.com/gpu', operator: 'Exists', effect: 'NoSchedule' }],
    ],
    // Resources of the API itself are not extended ones, and may have fractions.
    ['e', { tolerations: [everything] }, { resources: { requests: native } }, [everything]],
  ] as const) {
    const { object } = await pod(api, name, { ...spec }, { ...container })
    assert.deepEqual(specOf(object)['tolerations'], expected, name)
  }
})

void test('spec 5.9: RuntimeClass gives Pods overhead, node selector and tolerations, and refuses what differs', async (t) => {
  const api = await open(runtimeClassAdmission({ names }))
  t.after(() => api.close())
  const wide = { key: 'k', operator: 'Exists' }
  const body = {
    ...{ metadata: { name: 'r' }, handler: 'h', overhead: { podFixed: { cpu: '250m' } } },
    scheduling: { nodeSelector: { disk: 'fast' }, tolerations: [wide] },
  }
  await api.create({ kind: 'RuntimeClass', body })
  const narrow = { key: 'k', operator: 'Equal', value: 'v', effect: 'NoSchedule' }
  const { object } = await pod(api, 'a', {
    runtimeClassName: 'r',
    nodeSelector: { zone: 'z' },
    tolerations: [narrow],
  })
  const spec = specOf(object)
  assert.deepEqual(
    [spec['overhead'], spec['nodeSelector'], spec['tolerations']],
    [{ cpu: '250m' }, { zone: 'z', disk: 'fast' }, [wide]],
  )
  for (const [given, words] of [
    [{ runtimeClassName: 'none' }, 'pod rejected: RuntimeClass "none" not found'],
    [
      { overhead: { cpu: '1' } },
      'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead',
    ],
    [
      { runtimeClassName: 'r', overhead: { cpu: '1' } },
      "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
    ],
    [
      { runtimeClassName: 'r', nodeSelector: { disk: 'slow' } },
      'conflict: runtimeClass.scheduling.nodeSelector[disk] = fast; pod.spec.nodeSelector[disk] = slow',
    ],
  ] as const)
    assert.equal((await refused(pod(api, 'b', given))).message, `pods "b" is forbidden: ${words}`)
})

void test('spec 5.9: claims get the only default storage class, and grow only if their class allows it', async (t) => {
  const api = await open(defaultStorageClass({ names }), persistentVolumeClaimResize({ names }))
  t.after(() => api.close())
  const kind = 'PersistentVolumeClaim'
  const claim = (name: string, spec: JsonObject = {}): JsonObject => ({
    metadata: { name },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
  })
  const classOf = async (body: JsonObject): Promise<unknown> =>
    specOf((await api.create({ kind, body })).object)['storageClassName']
  const storageClass = (name: string, allowVolumeExpansion: boolean): ReturnType<Fixture['create']> =>
    api.create({
      kind: 'StorageClass',
      body: {
        metadata: { name, annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
        ...{ provisioner: 'x.io/p', allowVolumeExpansion },
      },
    })
  assert.equal(await classOf(claim('a')), undefined)
  await storageClass('std', true)
  assert.equal(await classOf(claim('b')), 'std')
  assert.equal(await classOf(claim('c', { storageClassName: '' })), '')
  const grow = (name: string): ReturnType<Fixture['patch']> =>
    api.patch({ kind, name, body: { spec: { resources: { requests: { storage: '2Gi' } } } } })
  for (const name of ['b', 'c'])
    await api.patch({ kind, name, subresource: 'status', body: { status: { phase: 'Bound' } } })
  assert.equal((await grow('b')).code, 200)
  assert.match((await refused(grow('c'))).message, /only dynamically provisioned pvc can be resized/)
  await storageClass('other', false)
  await api.create({ kind, body: claim('e', { storageClassName: 'other' }) })
  await api.patch({ kind, name: 'e', subresource: 'status', body: { status: { phase: 'Bound' } } })
  assert.match((await refused(grow('e'))).message, /only dynamically provisioned pvc can be resized/)
  assert.match(
    (await refused(api.create({ kind, body: claim('d') }))).message,
    /2 default StorageClasses were found$/,
  )
})

void test('spec 5.9: AlwaysPullImages, TaintNodesByCondition, NamespaceExists and AlwaysDeny act according to their names', async (t) => {
  const api = await open(alwaysPullImages(), taintNodesByCondition({ names }), namespaceExists())
  t.after(() => api.close())
  const { object } = await pod(api, 'a', {}, { imagePullPolicy: 'Never' })
  assert.equal(objectsMember(specOf(object), 'containers')[0]?.['imagePullPolicy'], 'Always')
  const node = await api.create({ kind: 'Node', body: { metadata: { name: 'n' } } })
  assert.deepEqual(specOf(node.object)['taints'], [
    { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' },
  ])
  const body = { metadata: { name: 'x', namespace: 'none' } }
  assert.equal((await refused(api.create({ namespace: 'none', body }))).code, 404)
  const denying = await open(alwaysDeny())
  t.after(() => denying.close())
  assert.match(
    (await refused(denying.configMap('a'))).message,
    /admission control is denying all modifications$/,
  )
})

void test('spec 5.9: AlwaysPullImages does not change existing Pods, unless an update adds an image', async (t) => {
  let chain = admissionChain([])
  const api = await Fixture.open({
    domain: 'k8s.io',
    admission: {
      mutate: (request) => chain.mutate(request),
      validate: (request) => chain.validate(request),
      extraOperations: (request) => chain.extraOperations(request),
    },
  })
  t.after(() => api.close())
  await api.create({
    kind: 'Pod',
    body: {
      metadata: { name: 'a', finalizers: ['example.com/f'] },
      spec: { containers: [{ name: 'c', image: 'i', imagePullPolicy: 'IfNotPresent' }] },
    },
  })
  chain = admissionChain([alwaysPullImages()])
  const patch = (body: JsonObject, subresource?: string): ReturnType<Fixture['patch']> =>
    api.patch({ kind: 'Pod', name: 'a', body, ...(subresource === undefined ? {} : { subresource }) })
  await patch({ metadata: { labels: { a: 'b' } } })
  await api.delete({ kind: 'Pod', name: 'a', query: { gracePeriodSeconds: '0' } })
  await patch({ metadata: { finalizers: null } })
  assert.equal((await refused(api.get({ kind: 'Pod', name: 'a' }))).code, 404)
  await pod(api, 'a')
  const ephemeral = { name: 'e', image: 'secret', imagePullPolicy: 'Never' }
  const { object } = await patch({ spec: { ephemeralContainers: [ephemeral] } }, 'ephemeralcontainers')
  assert.equal(objectsMember(specOf(object), 'ephemeralContainers')[0]?.['imagePullPolicy'], 'Always')
})

void test('spec 5.9: client certificates of the administrators are refused', async (t) => {
  const organizationsIn = (request: string): readonly string[] =>
    Buffer.from(request, 'base64').toString().includes('CERTIFICATE') ? ['system:masters'] : []
  const api = await open(certificateSubjectRestriction({ names, organizationsIn }))
  t.after(() => api.close())
  const spec = {
    request: Buffer.from(certificateRequest({ commonName: 'jane' })).toString('base64'),
    ...{ signerName: 'kubernetes.io/kube-apiserver-client', usages: ['client auth'] },
  }
  const kind = 'CertificateSigningRequest'
  const seen = await refused(api.create({ kind, body: { metadata: { name: 'a' }, spec } }))
  assert.match(
    seen.message,
    /use of kubernetes\.io\/kube-apiserver-client signer with system:masters group is not allowed$/,
  )
  const other = { ...spec, signerName: 'example.com/other' }
  assert.equal((await api.create({ kind, body: { metadata: { name: 'a' }, spec: other } })).code, 201)
})
