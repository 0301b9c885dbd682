/*
 * Goal: members whose features are off in upstream 1.24 are dropped silently from new objects and
 * from updates, unless the stored object has them already. `pods/disabled-fields.test.ts` checks
 * the fields of Pods.
 * Method: each member is sent through the shipped verbs on the state machine in memory, on create
 * and on update; the hooks of its kind prepare an update of an object that has it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { isJsonObject, memberOf } from '../../../../src/api/json.ts'
import type { Json, JsonObject } from '../../../../src/api/json.ts'
import type { AnyObject, WriteContext } from '../../../../src/registry/kinds/definition.ts'
import { Fixture, refused } from '../registry/fixture.ts'

const JOB_TRACKING = 'batch.kubernetes.io/job-tracking'
const writing: WriteContext = {
  user: { name: 'u', uid: '', groups: [], extra: {} },
  time: '2026-01-02T03:04:05Z',
}

const metadata = { name: 'w' }
const labels = { app: 'web' }
const podSpec = { containers: [{ name: 'c', image: 'a' }] }
const template = { metadata: { labels }, spec: podSpec }
const once = { template: { ...template, spec: { ...podSpec, restartPolicy: 'Never' } } }
const set = { selector: { matchLabels: labels }, template, serviceName: 'w' }
const anyRule = { rule: 'RunAsAny' }
const policy = { seLinux: anyRule, runAsUser: anyRule, supplementalGroups: anyRule, fsGroup: anyRule }
const scaling = { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }, maxReplicas: 5 }
const cpu = { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } }
const configSource = { configMap: { namespace: 'n', name: 'c', kubeletConfigKey: 'k' } }

type Sent = {
  readonly kind: string
  readonly body: JsonObject
  /** The member, and the value that is sent. */
  readonly path: readonly string[]
  readonly value: Json
  /** Unset: the object itself. */
  readonly subresource?: string
}

const sent: readonly Sent[] = [
  {
    ...{ kind: 'StatefulSet', body: { metadata, spec: set } },
    ...{ path: ['spec', 'persistentVolumeClaimRetentionPolicy'], value: { whenDeleted: 'Delete' } },
  },
  {
    ...{ kind: 'StatefulSet', body: { metadata, spec: set } },
    ...{ path: ['spec', 'updateStrategy', 'rollingUpdate', 'maxUnavailable'], value: 2 },
  },
  {
    ...{ kind: 'CronJob', body: { metadata, spec: { schedule: '@daily', jobTemplate: { spec: once } } } },
    ...{ path: ['spec', 'timeZone'], value: 'Etc/UTC' },
  },
  {
    ...{ kind: 'Job', body: { metadata, spec: once } },
    ...{ path: ['metadata', 'annotations', JOB_TRACKING], value: '' },
  },
  {
    ...{ kind: 'Node', body: { metadata } },
    ...{ path: ['spec', 'configSource'], value: configSource },
  },
  {
    ...{ kind: 'Node', body: { metadata }, subresource: 'status' },
    ...{ path: ['status', 'config'], value: { assigned: configSource } },
  },
  {
    ...{ kind: 'policy/v1beta1/PodSecurityPolicy', body: { metadata, spec: policy } },
    ...{ path: ['spec', 'allowedProcMountTypes'], value: ['Default'] },
  },
  ...['allocatedResources', 'resizeStatus'].map((name) => ({
    ...{ kind: 'PersistentVolumeClaim', subresource: 'status', path: ['status', name] },
    body: {
      metadata,
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    },
    value: name === 'resizeStatus' ? 'NodeExpansionPending' : { storage: '2Gi' },
  })),
  {
    ...{ kind: 'NetworkPolicy', body: { metadata, spec: { podSelector: {} } }, subresource: 'status' },
    path: ['status', 'conditions'],
    value: [
      {
        ...{ type: 'Accepted', status: 'True', reason: 'Made', message: '' },
        lastTransitionTime: '2026-01-02T03:04:05Z',
      },
    ],
  },
]

async function open(t: TestContext): Promise<Fixture> {
  const api = await Fixture.open({ domain: 'k8s.io' })
  t.after(() => api.close())
  return api
}

function valueAt(object: JsonObject, path: readonly string[]): Json | undefined {
  return path.reduce<Json | undefined>(
    (part, name) => (isJsonObject(part) ? memberOf(part, name) : undefined),
    object,
  )
}

function withValue(object: JsonObject, [name = '', ...rest]: readonly string[], value: Json): JsonObject {
  const part = memberOf(object, name)
  const inner = rest.length === 0 ? value : withValue(isJsonObject(part) ? part : {}, rest, value)
  return { ...object, [name]: inner }
}

for (const { kind, body, path, value, subresource } of sent) {
  const what = `${path.join('.')} of a ${kind.split('/').at(-1)}`

  void test(`${what} is dropped on create and on update`, async (t) => {
    const api = await open(t)
    const made = await api.create({ kind, body: withValue(body, path, value) })
    assert.equal(valueAt(made.object, path), undefined, 'on create')
    const part = subresource === undefined ? {} : { subresource }
    const patch = { kind, name: 'w', ...part, body: withValue({}, path, value) }
    assert.equal(valueAt((await api.patch(patch)).object, path), undefined, 'on update')
    // Only writes of a PodSecurityPolicy have a warning: that the policy is not enforced.
    assert.deepEqual(
      api.warnings.filter((words) => !words.includes('not enforced')),
      [],
    )
  })

  void test(`${what} is kept on update if the stored object has it`, async (t) => {
    const api = await open(t)
    const { object } = await api.create({ kind, body })
    const { hooks = {}, subresources } = api.definition(kind)
    const of = subresources.find((one) => one.name === subresource)
    const prepare =
      of !== undefined && 'prepareForUpdate' in of ? of.prepareForUpdate : hooks.prepareForUpdate
    assert.ok(prepare !== undefined)
    const used = withValue(object, path, value) as AnyObject
    assert.deepEqual(valueAt(prepare(used, used, writing), path), value)
    assert.equal(valueAt(prepare(used, object, writing), path), undefined)
    const unset = prepare(object, used, writing)
    assert.equal(valueAt(unset, path), undefined, 'and can be removed')
  })
}

void test('the metric of one container is dropped, so that the source is missing, unless the autoscaler has one', async (t) => {
  const api = await open(t)
  const kind = 'autoscaling/v2/HorizontalPodAutoscaler'
  const of = { type: 'ContainerResource', containerResource: { ...cpu, container: 'c' } }
  const seen = await refused(api.create({ kind, body: { metadata, spec: { ...scaling, metrics: [of] } } }))
  assert.deepEqual([seen.code, seen.reason], [422, 'Invalid'])
  assert.match(seen.message, /must populate information for the given metric source/)
  const { object } = await api.create({ kind, body: { metadata, spec: scaling } })
  const prepare = api.definition(kind).hooks?.prepareForUpdate
  assert.ok(prepare !== undefined)
  const used = withValue(object, ['spec', 'metrics'], [of]) as AnyObject
  assert.deepEqual(valueAt(prepare(used, used, writing), ['spec', 'metrics']), [of])
  assert.deepEqual(valueAt(prepare(used, object, writing), ['spec', 'metrics']), [{ type: of.type }])
})

void test('a stored status of a NetworkPolicy can be cleared, but not changed', async (t) => {
  const api = await open(t)
  const kind = 'NetworkPolicy'
  const { object } = await api.create({ kind, body: { metadata, spec: { podSelector: {} } } })
  const status = api.definition(kind).subresources.find((one) => one.name === 'status')
  assert.ok(status !== undefined && 'prepareForUpdate' in status)
  const withConditions = (type: string): AnyObject => ({ ...object, status: { conditions: [{ type }] } })
  const after = (next: AnyObject) => status.prepareForUpdate(next, withConditions('A'), writing)['status']
  assert.deepEqual(after(withConditions('B')), { conditions: [{ type: 'A' }] })
  assert.deepEqual(after(object), {})
})
