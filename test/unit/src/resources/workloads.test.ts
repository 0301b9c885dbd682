/*
 * Goal: ReplicationController and the kinds of the group apps follow the rules of upstream 1.24.
 * Method: the shipped verbs on the state machine in memory; each rule broken once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  memberOf,
  objectMember,
  objectsMember,
  textMember,
  withoutMembers,
} from '../../../../src/api/json.ts'
import type { JsonObject } from '../../../../src/api/json.ts'
import { Fixture } from '../registry/fixture.ts'
import { cells, refusesChange, refusesNew } from './common/broken-rules.ts'
import type { BrokenRule } from './common/broken-rules.ts'

const labels = { app: 'web' }
const containers = [{ name: 'c', image: 'nginx:1.25' }]
const template = { metadata: { labels }, spec: { containers } }
const selector = { matchLabels: labels }

function bodyOf(more: JsonObject = {}): JsonObject {
  return { metadata: { name: 'w' }, spec: { selector, template, ...more } }
}

const bodies: readonly (readonly [kind: string, body: JsonObject])[] = [
  ['ReplicationController', bodyOf({ selector: labels })],
  ['ReplicaSet', bodyOf()],
  ['Deployment', bodyOf()],
  ['DaemonSet', bodyOf()],
  ['StatefulSet', bodyOf({ serviceName: 'w' })],
]
const [, ...inApps] = bodies

for (const [kind, body] of bodies) {
  void test(`a ${kind} has a template of Pods that run until they are deleted, and that it selects`, async (t) => {
    const api = await Fixture.open()
    t.after(() => api.close())
    const at = 'spec.template'
    const rules: BrokenRule[] = [
      [
        { spec: { template: { metadata: { labels: { app: 'api' } } } } },
        [`FieldValueInvalid ${at}.metadata.labels`],
        '`selector` does not match template `labels`',
      ],
      [
        { spec: { template: { spec: { restartPolicy: 'Never' } } } },
        [`FieldValueNotSupported ${at}.spec.restartPolicy`],
        'supported values: "Always"',
      ],
      [
        { spec: { template: { spec: { activeDeadlineSeconds: 5 } } } },
        [`FieldValueForbidden ${at}.spec.activeDeadlineSeconds`],
      ],
      [{ spec: { template: { spec: { containers: [] } } } }, [`FieldValueRequired ${at}.spec.containers`]],
      [
        { spec: { template: { metadata: { labels: { 'a b': 'x', app: 'web' } } } } },
        [
          ...(kind === 'ReplicationController' ? ['FieldValueInvalid metadata.labels'] : []),
          `FieldValueInvalid ${at}.metadata.labels`,
        ],
        'name part must consist of alphanumeric characters',
      ],
      [
        { spec: { minReadySeconds: -1 } },
        ['FieldValueInvalid spec.minReadySeconds'],
        'greater than or equal to 0',
      ],
    ]
    if (kind !== 'DaemonSet')
      rules.push([
        { spec: { replicas: -1 } },
        ['FieldValueInvalid spec.replicas'],
        'greater than or equal to 0',
      ])
    await refusesNew(api, { kind, body }, rules)
  })
}

for (const [kind, body] of inApps) {
  void test(`a ${kind} has a selector that is not empty and does not change`, async (t) => {
    const api = await Fixture.open()
    t.after(() => api.close())
    await refusesNew(api, { kind, body }, [
      [
        { spec: { selector: null } },
        ['FieldValueRequired spec.selector', 'FieldValueInvalid spec.template.metadata.labels'],
      ],
      [
        { spec: { selector: { matchLabels: null } } },
        ['FieldValueInvalid spec.selector'],
        'empty selector is invalid',
      ],
      [
        { spec: { selector: { matchExpressions: [{ key: 'app', operator: 'Exists', values: ['x'] }] } } },
        ['FieldValueForbidden spec.selector.matchExpressions[0].values'],
      ],
    ])
    await api.create({ kind, body })
    const changed = {
      spec: { selector: { matchLabels: { app: 'api' } }, template: { metadata: { labels: { app: 'api' } } } },
    }
    const field = kind === 'StatefulSet' ? 'FieldValueForbidden spec' : 'FieldValueInvalid spec.selector'
    await refusesChange(api, { kind, name: 'w' }, [[changed, [field]]])
  })

  void test(`the generation of a ${kind} counts changes of its spec, and its status has its own path`, async (t) => {
    const api = await Fixture.open()
    t.after(() => api.close())
    const { object } = await api.create({ kind, body: { ...body, status: { observedGeneration: 7 } } })
    assert.equal(objectMember(object, 'status')['observedGeneration'], undefined)
    assert.equal(object.metadata.generation, 1)
    const status = await api.patch({
      kind,
      name: 'w',
      subresource: 'status',
      body: { status: { observedGeneration: 1 } },
    })
    assert.equal(status.object.metadata.generation, 1)
    assert.equal(objectMember(status.object, 'status')['observedGeneration'], 1)
    const changed = await api.patch({ kind, name: 'w', body: { spec: { minReadySeconds: 5 } } })
    assert.equal(changed.object.metadata.generation, 2)
    assert.equal(objectMember(changed.object, 'status')['observedGeneration'], 1)
    const other = await api.update({
      ...{ kind, name: 'w', subresource: 'status' },
      body: { ...object, metadata: { name: 'w' }, status: { observedGeneration: 2 } },
    })
    assert.equal(objectMember(other.object, 'spec')['minReadySeconds'], 5)
    assert.equal(objectMember(other.object, 'status')['observedGeneration'], 2)
    assert.equal(other.object.metadata.generation, 2, 'the spec that is sent to the status is ignored')
  })
}

void test('counts in a status do not exceed those that contain them', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const more = (counts: JsonObject): JsonObject => ({ status: { replicas: 2, ...counts } })
  for (const [kind, counts] of [
    ['ReplicationController', ['fullyLabeledReplicas', 'readyReplicas']],
    ['ReplicaSet', ['fullyLabeledReplicas', 'readyReplicas']],
    ['Deployment', ['updatedReplicas', 'readyReplicas']],
    ['StatefulSet', ['currentReplicas', 'updatedReplicas', 'readyReplicas']],
  ] as const) {
    const [, body = {}] = bodies.find(([name]) => name === kind) ?? []
    await api.create({ kind, body })
    const call = { kind, name: 'w', subresource: 'status' }
    await refusesChange(api, call, [
      ...counts.map((name): BrokenRule => [
        more({ [name]: 3 }),
        [`FieldValueInvalid status.${name}`],
        'cannot be greater than status.replicas',
      ]),
      [more({ readyReplicas: 1, availableReplicas: 2 }), ['FieldValueInvalid status.availableReplicas']],
      [more({ availableReplicas: -1 }), ['FieldValueInvalid status.availableReplicas']],
    ])
  }
})

void test('the count of collisions in a status is never lowered', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  for (const [kind, body] of inApps.filter(([name]) => name !== 'ReplicaSet')) {
    await api.create({ kind, body })
    const call = { kind, name: 'w', subresource: 'status' }
    await api.patch({ ...call, body: { status: { collisionCount: 2 } } })
    const wanted = ['FieldValueInvalid status.collisionCount']
    await refusesChange(api, call, [
      [{ status: { collisionCount: 1 } }, wanted, 'cannot be decremented'],
      [{ status: { collisionCount: null } }, wanted, 'cannot be decremented'],
    ])
  }
})

void test('a Deployment rolls out a quarter of its Pods at a time, unless its strategy is another one', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const kind = 'Deployment'
  const body = bodyOf()
  const strategy = (of: JsonObject): JsonObject => ({ spec: { strategy: of } })
  const at = 'spec.strategy.rollingUpdate'
  await refusesNew(api, { kind, body }, [
    [strategy({ type: 'Sometimes' }), ['FieldValueNotSupported spec.strategy.type']],
    [
      strategy({ type: 'Recreate', rollingUpdate: {} }),
      [`FieldValueForbidden ${at}`],
      "may not be specified when strategy `type` is 'Recreate'",
    ],
    [
      strategy({ rollingUpdate: { maxUnavailable: 0, maxSurge: '0%' } }),
      [`FieldValueInvalid ${at}.maxUnavailable`],
      'may not be 0 when `maxSurge` is 0',
    ],
    [
      strategy({ rollingUpdate: { maxUnavailable: '101%' } }),
      [`FieldValueInvalid ${at}.maxUnavailable`],
      'must not be greater than 100%',
    ],
    [
      strategy({ rollingUpdate: { maxSurge: 'many' } }),
      [`FieldValueInvalid ${at}.maxSurge`],
      'a valid percent string',
    ],
    [
      strategy({ rollingUpdate: { maxSurge: -1 } }),
      [`FieldValueInvalid ${at}.maxSurge`],
      'greater than or equal to 0',
    ],
    [
      { spec: { progressDeadlineSeconds: 10, minReadySeconds: 10 } },
      ['FieldValueInvalid spec.progressDeadlineSeconds'],
      'must be greater than minReadySeconds',
    ],
  ])
  const { object } = await api.create({ kind, body })
  const spec = withoutMembers(objectMember(object, 'spec'), 'selector', 'template')
  assert.deepEqual(spec, {
    replicas: 1,
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' } },
    revisionHistoryLimit: 10,
    progressDeadlineSeconds: 600,
  })
  const status = { replicas: 3, readyReplicas: 2, updatedReplicas: 1, availableReplicas: 2 }
  const done = await api.patch({ kind, name: 'w', subresource: 'status', body: { status } })
  assert.deepEqual(cells(api, kind, done.object), {
    ...{ Name: 'w', Ready: '2/1', 'Up-to-date': '1', Available: '2' },
    ...{ Containers: 'c', Images: 'nginx:1.25', Selector: 'app=web' },
  })
})

void test('a DaemonSet replaces one Pod at a time, by surge or by unavailability', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const kind = 'DaemonSet'
  const body = bodyOf()
  const strategy = (rollingUpdate: JsonObject): JsonObject => ({
    spec: { updateStrategy: { rollingUpdate } },
  })
  const at = 'spec.updateStrategy.rollingUpdate'
  await refusesNew(api, { kind, body }, [
    [
      strategy({ maxUnavailable: 0 }),
      [`FieldValueRequired ${at}.maxUnavailable`],
      'cannot be 0 when maxSurge is 0',
    ],
    [
      strategy({ maxSurge: 1 }),
      [`FieldValueInvalid ${at}.maxSurge`],
      'may not be set when maxUnavailable is non-zero',
    ],
    [{ spec: { updateStrategy: { type: 'Never' } } }, ['FieldValueNotSupported spec.updateStrategy.type']],
  ])
  const { object } = await api.create({ kind, body })
  assert.deepEqual(objectMember(objectMember(object, 'spec'), 'updateStrategy'), {
    type: 'RollingUpdate',
    rollingUpdate: { maxUnavailable: 1, maxSurge: 0 },
  })
  assert.deepEqual(cells(api, kind, object), {
    ...{
      Name: 'w',
      Desired: 0,
      Current: 0,
      Ready: 0,
      'Up-to-date': 0,
      Available: 0,
      'Node Selector': '<none>',
    },
    ...{ Containers: 'c', Images: 'nginx:1.25', Selector: 'app=web' },
  })
})

void test('a StatefulSet mounts the claims that its Pods get, and has no members of alpha features', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const kind = 'StatefulSet'
  const claim = {
    metadata: { name: 'data' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  }
  const mounting = {
    ...template,
    spec: { containers: [{ ...containers[0], volumeMounts: [{ name: 'data', mountPath: '/d' }] }] },
  }
  const body = bodyOf({ serviceName: 'w', template: mounting, volumeClaimTemplates: [claim] })
  await refusesNew(api, { kind, body }, [
    [
      { spec: { podManagementPolicy: 'Random' } },
      ['FieldValueInvalid spec.podManagementPolicy'],
      "must be 'OrderedReady' or 'Parallel'",
    ],
    [
      { spec: { updateStrategy: { type: 'Never' } } },
      ['FieldValueInvalid spec.updateStrategy.type'],
      "must be 'RollingUpdate' or 'OnDelete'",
    ],
    [
      { spec: { updateStrategy: { type: 'OnDelete', rollingUpdate: { partition: 1 } } } },
      ['FieldValueInvalid spec.updateStrategy.rollingUpdate'],
      "only allowed for updateStrategy 'RollingUpdate'",
    ],
    [
      { spec: { updateStrategy: { rollingUpdate: { partition: -1 } } } },
      ['FieldValueInvalid spec.updateStrategy.rollingUpdate.partition'],
    ],
  ])
  const alpha = {
    persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete' },
    updateStrategy: { rollingUpdate: { maxUnavailable: 2 } },
  }
  const { object } = await api.create({ kind, body: bodyOf({ ...objectMember(body, 'spec'), ...alpha }) })
  const spec = objectMember(object, 'spec')
  assert.deepEqual(spec['updateStrategy'], { type: 'RollingUpdate', rollingUpdate: { partition: 0 } })
  assert.equal(memberOf(spec, 'persistentVolumeClaimRetentionPolicy'), undefined)
  const [filled = {}] = objectsMember(spec, 'volumeClaimTemplates')
  assert.equal(textMember(filled, 'kind'), 'PersistentVolumeClaim')
  assert.equal(textMember(objectMember(filled, 'status'), 'phase'), 'Pending')
  await refusesChange(api, { kind, name: 'w' }, [
    [
      { spec: { serviceName: 'x' } },
      ['FieldValueForbidden spec'],
      'updates to statefulset spec for fields other than',
    ],
    [{ spec: { volumeClaimTemplates: null } }, ['FieldValueForbidden spec']],
  ])
  const scaled = await api.patch({ kind, name: 'w', body: { spec: { replicas: 3 } } })
  assert.deepEqual(cells(api, kind, scaled.object), {
    ...{ Name: 'w', Ready: '0/3', Containers: 'c', Images: 'nginx:1.25' },
  })
})

void test('workloads with replicas have a scale, with their selector as text', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  for (const [kind, body] of bodies.filter(([name]) => name !== 'DaemonSet')) {
    await api.create({ kind, body })
    const call = { kind, name: 'w', subresource: 'scale' }
    const { object: shown } = await api.get(call)
    assert.deepEqual(
      [shown['spec'], shown['status']],
      [{ replicas: 1 }, { replicas: 0, selector: 'app=web' }],
    )
    assert.deepEqual([shown.apiVersion, shown.kind], ['autoscaling/v1', 'Scale'])
    const { object } = await api.patch({ ...call, body: { spec: { replicas: 4 } } })
    assert.deepEqual(object['spec'], { replicas: 4 })
    const { object: scaled } = await api.get({ kind, name: 'w' })
    assert.equal(objectMember(scaled, 'spec')['replicas'], 4)
    assert.equal(scaled.metadata.generation, 2)
    await refusesChange(api, call, [[{ spec: { replicas: -1 } }, ['FieldValueInvalid spec.replicas']]])
  }
})

void test('a ReplicationController takes its selector and its labels from its template', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const kind = 'ReplicationController'
  const body = { metadata: { name: 'w' }, spec: { template } }
  await refusesNew(api, { kind, body }, [
    [{ spec: { template: null } }, ['FieldValueRequired spec.selector', 'FieldValueRequired spec.template']],
  ])
  const { object } = await api.create({ kind, body })
  assert.deepEqual(object.metadata.labels, labels)
  assert.deepEqual(objectMember(object, 'spec')['selector'], labels)
  assert.deepEqual(cells(api, kind, object), {
    ...{
      Name: 'w',
      Desired: 1,
      Current: 0,
      Ready: 0,
      Containers: 'c',
      Images: 'nginx:1.25',
      Selector: 'app=web',
    },
  })
})

void test('a disk that only one node can write is read-only in the template of several Pods', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const volumes = [{ name: 'd', gcePersistentDisk: { pdName: 'x' } }]
  const shared = { spec: { replicas: 2, template: { spec: { volumes } } } }
  const field = 'FieldValueInvalid spec.template.spec.volumes[0].gcePersistentDisk.readOnly'
  for (const kind of ['Deployment', 'ReplicaSet', 'DaemonSet'])
    await refusesNew(api, { kind, body: bodyOf() }, [
      [shared, [field], 'must be true for replicated pods > 1'],
    ])
})

void test('a ControllerRevision has data, which do not change, and shows its controller', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const kind = 'ControllerRevision'
  const owner = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'web', uid: 'u', controller: true }
  const body = { metadata: { name: 'r', ownerReferences: [owner] }, data: { a: 1 }, revision: 3 }
  await refusesNew(api, { kind, body }, [
    [{ data: null }, ['FieldValueRequired data'], 'data is mandatory'],
    [{ revision: -1 }, ['FieldValueInvalid revision']],
  ])
  const { object } = await api.create({ kind, body })
  assert.deepEqual(cells(api, kind, object), { Name: 'r', Controller: 'statefulset.apps/web', Revision: '3' })
  await refusesChange(api, { kind, name: 'r' }, [
    [{ data: { a: 2 } }, ['FieldValueInvalid data'], 'field is immutable'],
  ])
})

void test('a status update of a Deployment keeps its labels and changes its annotations', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  await api.create({ kind: 'Deployment', body: { ...bodyOf(), metadata: { name: 'w', labels } } })
  const metadata = { labels: { app: null, other: 'x' }, annotations: { a: 'b' } }
  const body = { metadata, status: { observedGeneration: 1 } }
  const { object } = await api.patch({ kind: 'Deployment', name: 'w', subresource: 'status', body })
  assert.deepEqual(object.metadata.labels, labels)
  assert.deepEqual(object.metadata.annotations, { a: 'b' })
  assert.deepEqual(object['status'], { observedGeneration: 1 })
  const apply = {
    ...{ kind: 'Deployment', name: 'w', subresource: 'status' },
    ...{ contentType: 'application/apply-patch+yaml', query: { fieldManager: 'm' } },
    body: { metadata: { name: 'w', labels: { other: 'x' } }, status: { replicas: 1 } },
  }
  const applied = await api.patch({
    ...apply,
    body: { apiVersion: 'apps/v1', kind: 'Deployment', ...apply.body },
  })
  assert.deepEqual(applied.object.metadata.labels, labels)
  const entry = applied.object.metadata.managedFields?.find(({ manager }) => manager === 'm')
  assert.deepEqual(entry?.['fieldsV1'], { 'f:status': { 'f:replicas': {} } })
})
