/*
 * Goal: fields of Pods whose features are off in upstream 1.24 have no effect, for each kind with a
 * Pod template, unless a stored object uses them already.
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
import { topologySpreadConstraintSchema } from '../../../../../src/resources/pods/topology-spread.ts'
import { Fixture } from '../../registry/fixture.ts'

const labels = { app: 'web' }
const constraint = { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway', minDomains: 2 }
const container = { name: 'c', image: 'a', securityContext: { procMount: 'Unmasked' } }
const sent = {
  containers: [container],
  initContainers: [{ ...container, name: 'i' }],
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

/** Returns the mount types of /proc, and whether a spread constraint has `minDomains`. */
function used(spec: JsonObject): readonly unknown[] {
  const of = (list: string): readonly unknown[] =>
    objectsMember(spec, list).map((one) => memberOf(objectMember(one, 'securityContext'), 'procMount'))
  const spread = objectsMember(spec, 'topologySpreadConstraints')
  return [...of('containers'), ...of('initContainers'), spread.some((one) => 'minDomains' in one)]
}

for (const [kind, body, path] of bodies) {
  void test(`a new ${kind} has the default mount of /proc and no minDomains, whatever is sent`, async (t) => {
    const api = await open(t)
    const query = { fieldValidation: 'Ignore' }
    const { object } = await api.create({ kind, body, query })
    const spec = path.reduce<JsonObject>((part, name) => objectMember(part, name), object)
    assert.deepEqual(used(spec), ['Default', 'Default', false])
  })
}

void test('an ephemeral container has the default mount of /proc', async (t) => {
  const api = await open(t)
  const pod = { kind: 'Pod', name: 'w' }
  await api.create({ ...pod, body: { metadata, spec: { containers: [{ name: 'c', image: 'a' }] } } })
  const body = { spec: { ephemeralContainers: [{ ...container, name: 'e' }] } }
  const { object } = await api.patch({ ...pod, subresource: 'ephemeralcontainers', body })
  const [added = {}] = objectsMember(objectMember(object, 'spec'), 'ephemeralContainers')
  assert.equal(memberOf(objectMember(added, 'securityContext'), 'procMount'), 'Default')
})

void test('a stored object that uses such a field keeps it', () => {
  assert.deepEqual(used(withoutDisabledFields(sent, sent)), ['Unmasked', 'Unmasked', true])
  const unused = { containers: [{ ...container, securityContext: { procMount: 'Default' } }] }
  assert.deepEqual(used(withoutDisabledFields(sent, unused)), ['Default', 'Default', false])
})

void test('minDomains of a stored object needs whenUnsatisfiable DoNotSchedule', () => {
  const found = new Findings()
  validateSchema(topologySpreadConstraintSchema, constraint, found)
  assert.equal(found.count, 1)
})
