/*
 * Goal: the life cycle of a Pod: defaults, mutable fields, status updates and deletion.
 * Method: the shipped verbs on the state machine in memory.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { JsonObject } from '../../../../src/api/json.ts'
import { numberMember, objectMember, objectsMember } from '../../../../src/api/json.ts'
import { Fixture, causes, refused } from '../registry/fixture.ts'
import type { Got } from '../registry/fixture.ts'
import { container, createPod, podBody, updateStatus } from './pods/pod-samples.ts'

const kind = 'Pod'
const pod = { kind, name: 'a' }

async function open(t: TestContext): Promise<Fixture> {
  const api = await Fixture.open()
  t.after(() => api.close())
  return api
}

function specOf({ object }: Got): JsonObject {
  return objectMember(object, 'spec')
}

function firstOf(got: Got): JsonObject {
  return objectsMember(specOf(got), 'containers')[0] ?? {}
}

void test('unset fields of a Pod get defaults', async (t) => {
  const api = await open(t)
  const { code, object } = await createPod(api)
  assert.equal(code, 201)
  assert.deepEqual(object['spec'], {
    containers: [
      {
        name: 'main',
        image: 'registry.test/app:1',
        resources: {},
        terminationMessagePath: '/dev/termination-log',
        terminationMessagePolicy: 'File',
        imagePullPolicy: 'IfNotPresent',
      },
    ],
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    dnsPolicy: 'ClusterFirst',
    securityContext: {},
    schedulerName: 'default-scheduler',
    enableServiceLinks: true,
  })
  assert.deepEqual(object['status'], { phase: 'Pending', qosClass: 'BestEffort' })
})

void test('zero values of a Pod that are equivalent to absent ones get defaults too', async (t) => {
  const api = await open(t)
  const probe = { tcpSocket: { port: 'web' }, timeoutSeconds: 0, failureThreshold: 0 }
  const got = await createPod(api, {
    containers: [container({ livenessProbe: probe, imagePullPolicy: '', terminationMessagePath: '' })],
    restartPolicy: '',
    terminationGracePeriodSeconds: 0,
  })
  assert.equal(specOf(got)['restartPolicy'], 'Always')
  assert.equal(specOf(got)['terminationGracePeriodSeconds'], 0)
  assert.deepEqual(firstOf(got)['livenessProbe'], {
    ...{ tcpSocket: { port: 'web' }, timeoutSeconds: 1, periodSeconds: 10 },
    ...{ successThreshold: 1, failureThreshold: 3 },
  })
})

void test('an image without a tag, or with the tag latest, is always pulled', async (t) => {
  const api = await open(t)
  const rows = [
    ['app', 'Always'],
    ['app:latest', 'Always'],
    ['registry.test:5000/app', 'Always'],
    ['registry.test:5000/app:1', 'IfNotPresent'],
    [`app@sha256:${'0'.repeat(64)}`, 'IfNotPresent'],
  ] as const
  for (const [image, policy] of rows) {
    const body = podBody({ containers: [container({ image })] })
    const got = await api.create({ kind, body, query: { dryRun: 'All' } })
    assert.equal(firstOf(got)['imagePullPolicy'], policy, image)
  }
})

void test('some defaults of a Pod depend on other members', async (t) => {
  const api = await open(t)
  const got = await createPod(api, {
    hostNetwork: true,
    serviceAccount: 'robot',
    volumes: [{ name: 'v' }],
    containers: [
      container({
        ports: [{ containerPort: 80 }],
        resources: { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '100500u' } },
        env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
        readinessProbe: { httpGet: { port: 80 } },
        livenessProbe: { grpc: { port: 80 } },
      }),
    ],
  })
  const spec = specOf(got)
  assert.deepEqual([spec['serviceAccountName'], spec['serviceAccount']], ['robot', 'robot'])
  assert.deepEqual(spec['volumes'], [{ name: 'v', emptyDir: {} }])
  const first = firstOf(got)
  assert.deepEqual(first['ports'], [{ containerPort: 80, protocol: 'TCP', hostPort: 80 }])
  assert.deepEqual(first['resources'], {
    limits: { cpu: '1', memory: '1Gi' },
    requests: { cpu: '101m', memory: '1Gi' },
  })
  const [variable] = objectsMember(first, 'env')
  assert.deepEqual(variable?.['valueFrom'], { fieldRef: { fieldPath: 'metadata.name', apiVersion: 'v1' } })
  const http = objectMember(objectMember(first, 'readinessProbe'), 'httpGet')
  assert.deepEqual(http, { port: 80, path: '/', scheme: 'HTTP' })
  assert.deepEqual(objectMember(objectMember(first, 'livenessProbe'), 'grpc'), { port: 80, service: '' })
})

void test('the QoS class of a Pod follows from its requests and limits', async (t) => {
  const api = await open(t)
  const rows: readonly (readonly [resources: JsonObject, wanted: string])[] = [
    [{}, 'BestEffort'],
    [{ limits: { cpu: '0' } }, 'BestEffort'],
    [{ limits: { 'x.test/gpu': '1' } }, 'BestEffort'],
    [{ requests: { cpu: '1' } }, 'Burstable'],
    [{ limits: { cpu: '1' } }, 'Burstable'],
    [{ limits: { cpu: '1', memory: '1Gi' } }, 'Guaranteed'],
    [{ limits: { cpu: '1', memory: '1Gi' }, requests: { memory: '1024Mi', cpu: '1000m' } }, 'Guaranteed'],
    [{ limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '500m' } }, 'Burstable'],
  ]
  for (const [resources, wanted] of rows) {
    const body = podBody({ containers: [container({ resources })] })
    const got = await api.create({ kind, body, query: { dryRun: 'All' } })
    assert.equal(objectMember(got.object, 'status')['qosClass'], wanted, JSON.stringify(resources))
  }
})

void test('the spec of a Pod is immutable, except for images, deadlines and tolerations', async (t) => {
  const api = await open(t)
  const toleration = { key: 'a', operator: 'Exists', effect: 'NoExecute' }
  await createPod(api, {
    activeDeadlineSeconds: 100,
    tolerations: [toleration],
    initContainers: [container({ name: 'init' })],
  })
  const merge = { contentType: 'application/strategic-merge-patch+json' }
  const allowed: readonly JsonObject[] = [
    { containers: [{ name: 'main', image: 'other:2' }] },
    { initContainers: [{ name: 'init', image: 'other:3' }] },
    { activeDeadlineSeconds: 50 },
    {
      tolerations: [
        { ...toleration, tolerationSeconds: 5 },
        { key: 'b', operator: 'Exists' },
      ],
    },
  ]
  for (const spec of allowed) await api.patch({ ...pod, ...merge, body: { spec } })
  const refusals: readonly (readonly [spec: JsonObject, cause: string, words: string])[] = [
    [{ containers: [{ name: 'more', image: 'i' }] }, 'spec.containers', 'may not add or remove containers'],
    [{ initContainers: null }, 'spec.initContainers', 'may not add or remove containers'],
    [{ activeDeadlineSeconds: 60 }, 'spec.activeDeadlineSeconds', 'less than or equal to previous value'],
    [
      { activeDeadlineSeconds: null },
      'spec.activeDeadlineSeconds',
      'must not update from a positive integer to nil',
    ],
    [{ tolerations: [] }, 'spec.tolerations', 'existing toleration can not be modified'],
    [{ hostname: 'x' }, 'spec', 'spec.hostname: none -> "x"'],
    [{ nodeName: 'n' }, 'spec', 'pod updates may not change fields other than'],
    [{ containers: [{ name: 'main', args: ['x'] }] }, 'spec', 'spec.containers[0].args: none -> ["x"]'],
  ]
  for (const [spec, field, words] of refusals) {
    const seen = await refused(api.patch({ ...pod, ...merge, body: { spec } }))
    assert.equal(seen.code, 422)
    assert.ok(
      causes(seen).some((cause) => cause.endsWith(` ${field}`)),
      `${field}: ${seen.message}`,
    )
    assert.ok(seen.message.includes(words), seen.message)
  }
  const empty = await api.patch({
    ...pod,
    ...merge,
    body: { spec: { containers: [{ name: 'main', args: [] }] } },
  })
  assert.equal(empty.code, 200, 'an empty list equals an absent one')
})

void test('a negative grace period may become one second', async (t) => {
  const api = await open(t)
  await createPod(api, { terminationGracePeriodSeconds: -5 })
  const two = await refused(api.patch({ ...pod, body: { spec: { terminationGracePeriodSeconds: 2 } } }))
  assert.deepEqual(causes(two), ['FieldValueForbidden spec'])
  const one = await api.patch({ ...pod, body: { spec: { terminationGracePeriodSeconds: 1 } } })
  assert.equal(specOf(one)['terminationGracePeriodSeconds'], 1)
})

void test('an update of the object keeps the status, and one of the status keeps spec and owners, and changes labels', async (t) => {
  const api = await open(t)
  await createPod(api, {}, { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'u' }] })
  const whole = await api.patch({ ...pod, body: { status: { phase: 'Running' } } })
  assert.equal(objectMember(whole.object, 'status')['phase'], 'Pending')
  const reported = await api.patch({
    ...{ ...pod, subresource: 'status' },
    body: {
      metadata: { ownerReferences: null, labels: { a: 'b' } },
      spec: { hostname: 'x' },
      status: { phase: 'Running', podIP: '10.0.0.1' },
    },
  })
  assert.equal(objectMember(reported.object, 'spec')['hostname'], undefined)
  assert.deepEqual(objectMember(reported.object, 'status')['podIPs'], [{ ip: '10.0.0.1' }])
  assert.deepEqual(reported.object.metadata.labels, { a: 'b' })
  assert.equal(objectsMember(reported.object.metadata as JsonObject, 'ownerReferences').length, 1)
})

void test('pod status updates reject impossible states', async (t) => {
  const api = await open(t)
  const state = (name: string, members: JsonObject): JsonObject => ({ name, state: members })
  const ended = (exitCode: number): JsonObject => ({ terminated: { exitCode } })
  await createPod(api, { restartPolicy: 'OnFailure' })
  await updateStatus(api, { containerStatuses: [state('good', ended(0)), state('bad', ended(1))] })
  await updateStatus(api, { containerStatuses: [state('good', ended(0)), state('bad', { running: {} })] })
  const rows: readonly (readonly [status: JsonObject, cause: string])[] = [
    [
      { containerStatuses: [state('good', { running: {} })] },
      'FieldValueForbidden status.containerStatuses[0].state',
    ],
    [{ nominatedNodeName: 'A' }, 'FieldValueInvalid status.nominatedNodeName'],
    [{ podIPs: [{ ip: '10.0.0' }] }, 'FieldValueInvalid status.podIPs[0]'],
    [{ podIPs: [{ ip: '::1' }, { ip: '::1' }] }, 'FieldValueDuplicate status.podIPs[1]'],
    [{ podIPs: [{ ip: '::1' }, { ip: '::2' }] }, 'FieldValueInvalid status.podIPs'],
    [{ conditions: [{ type: 'a b', status: 'True' }] }, 'FieldValueInvalid status.conditions[0].type'],
  ]
  for (const [status, cause] of rows) {
    const seen = await refused(updateStatus(api, status))
    assert.deepEqual(causes(seen), [cause])
  }
  await updateStatus(api, { podIPs: [{ ip: '10.0.0.1' }, { ip: '::1' }] })
})

void test('ephemeral containers can only be added, by their own subresource', async (t) => {
  const api = await open(t)
  await createPod(api, {}, { labels: { a: 'b' } })
  const add = (containers: readonly JsonObject[], more: JsonObject = {}): Promise<Got> =>
    api.patch({
      ...{ ...pod, subresource: 'ephemeralcontainers' },
      body: { ...more, spec: { ephemeralContainers: containers, hostname: 'x' } },
    })
  const look = container({ name: 'look', targetContainerName: 'main' })
  const got = await add([look], { metadata: { labels: { c: 'd' } } })
  assert.deepEqual(
    objectsMember(specOf(got), 'ephemeralContainers').map((one) => [one['name'], one['imagePullPolicy']]),
    [['look', 'IfNotPresent']],
  )
  assert.equal(specOf(got)['hostname'], undefined)
  assert.deepEqual(got.object.metadata.labels, { a: 'b' })
  const field = 'spec.ephemeralContainers'
  const rows: readonly (readonly [containers: readonly JsonObject[], cause: string])[] = [
    [[], `FieldValueForbidden ${field}`],
    [[{ ...look, image: 'other' }], `FieldValueForbidden ${field}`],
    [[look, container()], `FieldValueDuplicate ${field}[1].name`],
    [
      [look, container({ name: 'b', targetContainerName: 'none' })],
      `FieldValueNotFound ${field}[1].targetContainerName`,
    ],
    [
      [look, container({ name: 'b', ports: [{ containerPort: 1 }] })],
      `FieldValueForbidden ${field}[1].ports`,
    ],
    [
      [look, container({ name: 'b', resources: { limits: { cpu: '1' } } })],
      `FieldValueForbidden ${field}[1].resources`,
    ],
  ]
  for (const [containers, cause] of rows) assert.deepEqual(causes(await refused(add(containers))), [cause])
  const cleared = await refused(api.patch({ ...pod, body: { spec: { ephemeralContainers: null } } }))
  assert.deepEqual(causes(cleared), ['FieldValueForbidden spec'], 'not by the object itself')
})

/** Returns the response code, the deletion time, and the grace period. */
function ending({ code, object }: Got): readonly unknown[] {
  const { deletionTimestamp } = object.metadata
  return [code, deletionTimestamp, numberMember(object.metadata, 'deletionGracePeriodSeconds')]
}

void test('spec 3.1: a scheduled Pod gets a grace period, until its node deletes it without one', async (t) => {
  const api = await open(t)
  await createPod(api, { nodeName: 'n' })
  assert.deepEqual(ending(await api.delete(pod)), [202, '2026-01-02T03:04:35Z', 30])
  assert.equal((await updateStatus(api, { phase: 'Running' })).code, 200)
  const sooner = await api.delete({ ...pod, body: { gracePeriodSeconds: 5 } })
  assert.deepEqual(ending(sooner), [202, '2026-01-02T03:04:10Z', 5])
  assert.equal((await api.get(pod)).code, 200)
  assert.equal((await api.delete({ ...pod, body: { gracePeriodSeconds: 0 } })).code, 200)
  assert.equal((await refused(api.get(pod))).code, 404)
})

void test('a Pod that is unscheduled or finished is removed at once, and returned by the deletion', async (t) => {
  const api = await open(t)
  const { object } = await createPod(api)
  const gone = await api.delete(pod)
  assert.deepEqual([gone.code, gone.object.kind, gone.object.metadata.uid], [200, 'Pod', object.metadata.uid])
  for (const phase of ['Succeeded', 'Failed']) {
    await createPod(api, { nodeName: 'n' })
    await updateStatus(api, { phase })
    assert.equal((await api.delete(pod)).code, 200)
    assert.equal((await refused(api.get(pod))).code, 404)
  }
})

void test('a Pod with the grace period 0 is removed at once, and one with a negative period has one second', async (t) => {
  const api = await open(t)
  await createPod(api, { nodeName: 'n', terminationGracePeriodSeconds: 0 })
  assert.equal((await api.delete(pod)).code, 200)
  await createPod(api, { nodeName: 'n', terminationGracePeriodSeconds: -7 })
  assert.deepEqual(ending(await api.delete(pod)), [202, '2026-01-02T03:04:06Z', 1])
  assert.equal((await api.deleteCollection({ kind, query: { gracePeriodSeconds: '0' } })).code, 200)
  assert.equal((await refused(api.get(pod))).code, 404)
})

void test('Pods are selected by node, phase and other fields', async (t) => {
  const api = await open(t)
  await createPod(api, { nodeName: 'n' })
  await createPod(api, { restartPolicy: 'Never', serviceAccountName: 's' }, { name: 'b' })
  await updateStatus(api, { phase: 'Running', podIP: '10.0.0.1', nominatedNodeName: 'm' })
  const rows = [
    ['spec.nodeName=n', ['a']],
    ['spec.nodeName=', ['b']],
    ['spec.restartPolicy=Never', ['b']],
    ['spec.schedulerName=default-scheduler', ['a', 'b']],
    ['spec.serviceAccountName=s', ['b']],
    ['status.phase!=Running', ['b']],
    ['status.podIP=10.0.0.1', ['a']],
    ['status.nominatedNodeName=m', ['a']],
  ] as const
  for (const [fieldSelector, names] of rows) {
    const { items } = await api.list({ kind, query: { fieldSelector } })
    assert.deepEqual(
      items.map(({ metadata }) => metadata.name),
      names,
      fieldSelector,
    )
  }
})
