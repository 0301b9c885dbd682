/*
 * Goal: fields of Pods whose features are off in upstream 1.24 have no effect, for each kind with a
 * Pod template, unless a stored object uses them already. `../disabled-members.test.ts` checks the
 * fields of other kinds.
 * Method: the shipped verbs on the state machine in memory, and the pure rule.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { Findings } from '../../../../../src/api/errors/findings.ts'
import { memberOf, objectMember, objectsMember } from '../../../../../src/api/json.ts'
import type { JsonObject } from '../../../../../src/api/json.ts'
import { validateSchema } from '../../../../../src/api/schema/validate.ts'
import { withoutDisabledFields } from '../../../../../src/resources/pods/disabled-fields.ts'
import { containerSchema } from '../../../../../src/resources/containers/container.ts'
import { topologySpreadConstraintSchema } from '../../../../../src/resources/pods/topology-spread.ts'
import { Fixture } from '../../registry/fixture.ts'

const labels = { app: 'web' }
const constraint = { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway', minDomains: 2 }
const probe = { exec: { command: ['true'] }, terminationGracePeriodSeconds: 5 }
const container = {
  ...{ name: 'c', image: 'a', securityContext: { procMount: 'Unmasked' } },
  ...{ livenessProbe: probe, startupProbe: probe },
}
const sent = {
  containers: [container],
  // Containers that run to completion have no probes.
  initContainers: [{ name: 'i', image: 'a', securityContext: container.securityContext }],
  topologySpreadConstraints: [constraint],
}
const metadata = { name: 'w' }
const template = { metadata: { labels }, spec: sent }
const selector = { matchLabels: labels }
const onceTemplate = { ...template, spec: { ...sent, restartPolicy: 'Never' } }

const bodies: readonly (readonly [kind: string, body: JsonObject, path: readonly string[]])[] = [
  ['Pod', { metadata, spec: sent }, ['spec']],
  ['PodTemplate', { metadata, template }, ['template', 'spec']],
  ['ReplicationController', { metadata, spec: { template } }, ['spec', 'template', 'spec']],
  ['Job', { metadata, spec: { template: onceTemplate } }, ['spec', 'template', 'spec']],
  [
    'CronJob',
    { metadata, spec: { schedule: '@daily', jobTemplate: { spec: { template: onceTemplate } } } },
    ['spec', 'jobTemplate', 'spec', 'template', 'spec'],
  ],
  ...['ReplicaSet', 'Deployment', 'DaemonSet', 'StatefulSet'].map(
    (kind) =>
      [
        kind,
        { metadata, spec: { selector, template, serviceName: 'w' } },
        ['spec', 'template', 'spec'],
      ] as const,
  ),
]

async function open(t: TestContext): Promise<Fixture> {
  const api = await Fixture.open()
  t.after(() => api.close())
  return api
}

/**
 * Returns the mount types of /proc, whether a spread constraint has `minDomains`, and how many
 * probes have a grace period.
 */
function used(spec: JsonObject): readonly unknown[] {
  const of = (list: string): readonly unknown[] =>
    objectsMember(spec, list).map((one) => memberOf(objectMember(one, 'securityContext'), 'procMount'))
  const spread = objectsMember(spec, 'topologySpreadConstraints')
  const probes = objectsMember(spec, 'containers').flatMap((one) =>
    ['livenessProbe', 'startupProbe'].map((name) => objectMember(one, name)),
  )
  const graces = probes.filter((one) => 'terminationGracePeriodSeconds' in one)
  return [
    ...of('containers'),
    ...of('initContainers'),
    spread.some((one) => 'minDomains' in one),
    graces.length,
  ]
}

for (const [kind, body, path] of bodies) {
  void test(`a new ${kind} has the default mount of /proc, no minDomains and no grace periods of probes, whatever is sent`, async (t) => {
    const api = await open(t)
    const query = { fieldValidation: 'Ignore' }
    const { object } = await api.create({ kind, body, query })
    const spec = path.reduce<JsonObject>((part, name) => objectMember(part, name), object)
    assert.deepEqual(used(spec), ['Default', 'Default', false, 0])
  })
}

void test('an ephemeral container has the default mount of /proc', async (t) => {
  const api = await open(t)
  const pod = { kind: 'Pod', name: 'w' }
  await api.create({ ...pod, body: { metadata, spec: { containers: [{ name: 'c', image: 'a' }] } } })
  const { image, securityContext } = container
  const body = { spec: { ephemeralContainers: [{ name: 'e', image, securityContext }] } }
  const { object } = await api.patch({ ...pod, subresource: 'ephemeralcontainers', body })
  const [added = {}] = objectsMember(objectMember(object, 'spec'), 'ephemeralContainers')
  assert.equal(memberOf(objectMember(added, 'securityContext'), 'procMount'), 'Default')
})

void test('a stored object that uses a disabled field keeps it', () => {
  assert.deepEqual(used(withoutDisabledFields(sent, sent)), ['Unmasked', 'Unmasked', true, 2])
  const unused = { containers: [{ name: 'c', securityContext: { procMount: 'Default' } }] }
  assert.deepEqual(used(withoutDisabledFields(sent, unused)), ['Default', 'Default', false, 0])
})

void test('a stored object that uses one disabled feature does not keep the fields of others', () => {
  const before = { containers: [{ name: 'c', startupProbe: probe }] }
  assert.deepEqual(used(withoutDisabledFields(sent, before)), ['Default', 'Default', false, 2])
})

void test('a spec without disabled fields is returned unchanged', () => {
  const spec = { containers: [{ name: 'c', livenessProbe: { exec: { command: ['true'] } } }] }
  assert.equal(withoutDisabledFields(spec, null), spec)
})

void test('minDomains of a stored object needs whenUnsatisfiable DoNotSchedule', () => {
  const found = new Findings()
  validateSchema(topologySpreadConstraintSchema, constraint, found)
  assert.equal(found.count, 1)
})

void test('the grace period of a probe of a stored object is greater than 0', () => {
  for (const [seconds, count] of [
    [1, 0],
    [0, 1],
  ] as const) {
    const found = new Findings()
    const livenessProbe = { ...probe, terminationGracePeriodSeconds: seconds }
    validateSchema(containerSchema, { name: 'c', image: 'a', livenessProbe }, found)
    assert.deepEqual(
      found.list.map(({ detail }) => detail),
      Array.from({ length: count }, () => 'must be greater than 0'),
    )
  }
})
