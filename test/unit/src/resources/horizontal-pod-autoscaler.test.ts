/*
 * Goal: the four versions of HorizontalPodAutoscaler show one object, follow the rules of upstream
 * 1.24, and lose nothing: the first version has in annotations what it has no members for.
 * Method: the shipped verbs on the state machine in memory; each rule broken once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { objectMember } from '../../../../src/api/json.ts'
import type { JsonObject } from '../../../../src/api/json.ts'
import { Fixture } from '../registry/fixture.ts'
import { cells, refusesChange, refusesNew } from './common/broken-rules.ts'

const V1 = 'autoscaling/v1/HorizontalPodAutoscaler'
const V2 = 'autoscaling/v2/HorizontalPodAutoscaler'
const V2BETA1 = 'autoscaling/v2beta1/HorizontalPodAutoscaler'
const V2BETA2 = 'autoscaling/v2beta2/HorizontalPodAutoscaler'

const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }
const cpu = (target: JsonObject): JsonObject => ({ type: 'Resource', resource: { name: 'cpu', target } })
const utilization = (percent: number): JsonObject => cpu({ type: 'Utilization', averageUtilization: percent })
const pods = (value: string): JsonObject => ({
  type: 'Pods',
  pods: { metric: { name: 'requests' }, target: { type: 'AverageValue', averageValue: value } },
})

function bodyOf(spec: JsonObject, annotations: JsonObject = {}): JsonObject {
  return { metadata: { name: 'a', annotations }, spec: { scaleTargetRef, maxReplicas: 5, ...spec } }
}

async function open(t: { after: (run: () => Promise<void>) => void }): Promise<Fixture> {
  const api = await Fixture.open({ domain: 'k8s.io' })
  t.after(() => api.close())
  return api
}

const key = (name: string): string => `autoscaling.alpha.kubernetes.io/${name}`

void test('an autoscaler without metrics scales by CPU at 80 percent, in every version', async (t) => {
  const api = await open(t)
  for (const kind of [V1, V2, V2BETA1, V2BETA2]) {
    const { object } = await api.create({ kind, body: bodyOf({}) })
    const first = await api.get({ kind: V1, name: 'a' })
    const wanted = { scaleTargetRef, minReplicas: 1, maxReplicas: 5 }
    assert.deepEqual(first.object['spec'], { ...wanted, targetCPUUtilizationPercentage: 80 })
    assert.deepEqual(first.object['status'], { currentReplicas: 0, desiredReplicas: 0 })
    const second = await api.get({ kind: V2, name: 'a' })
    assert.deepEqual(second.object['spec'], { ...wanted, metrics: [utilization(80)] })
    assert.deepEqual(second.object['status'], { desiredReplicas: 0, currentMetrics: null })
    const beta = await api.get({ kind: V2BETA2, name: 'a' })
    assert.deepEqual(beta.object['spec'], second.object['spec'])
    assert.deepEqual(beta.object['status'], {
      ...{ currentReplicas: 0, desiredReplicas: 0, currentMetrics: null, conditions: null },
    })
    const older = await api.get({ kind: V2BETA1, name: 'a' })
    const byCpu = { type: 'Resource', resource: { name: 'cpu', targetAverageUtilization: 80 } }
    assert.deepEqual(older.object['spec'], { ...wanted, metrics: [byCpu] })
    assert.deepEqual(older.object['status'], beta.object['status'])
    assert.deepEqual((await api.get({ kind, name: 'a' })).object, object)
    await api.delete({ kind, name: 'a' })
  }
})

void test('the first version shows other metrics and the behavior as annotations, and takes them', async (t) => {
  const api = await open(t)
  const behavior = { scaleDown: { stabilizationWindowSeconds: 60 } }
  const external = {
    type: 'External',
    external: {
      metric: { name: 'queue', selector: { matchLabels: { q: 'a' } } },
      target: { type: 'Value', value: '30' },
    },
  }
  const object = {
    type: 'Object',
    object: {
      describedObject: { kind: 'Service', name: 's' },
      metric: { name: 'hits' },
      target: { type: 'AverageValue', averageValue: '2k' },
    },
  }
  const metrics = [pods('10'), external, object, utilization(70)]
  await api.create({ kind: V2, body: bodyOf({ metrics, behavior }, { own: 'yes' }) })
  const { object: first } = await api.get({ kind: V1, name: 'a' })
  assert.equal(objectMember(first, 'spec')['targetCPUUtilizationPercentage'], 70)
  const {
    [key('metrics')]: shown = '',
    [key('behavior')]: rules = '',
    ...rest
  } = first.metadata.annotations ?? {}
  assert.deepEqual(rest, { own: 'yes' })
  assert.deepEqual(JSON.parse(shown), [
    { type: 'Pods', pods: { metricName: 'requests', targetAverageValue: '10' } },
    {
      type: 'External',
      external: { metricName: 'queue', metricSelector: { matchLabels: { q: 'a' } }, targetValue: '30' },
    },
    {
      type: 'Object',
      object: {
        ...{ target: { kind: 'Service', name: 's' }, metricName: 'hits' },
        ...{ targetValue: '0', averageValue: '2k' },
      },
    },
  ])
  const policies = [{ Type: 'Percent', Value: 100, PeriodSeconds: 15 }]
  assert.deepEqual((JSON.parse(rules) as JsonObject)['ScaleDown'], {
    ...{ SelectPolicy: 'Max', Policies: policies, StabilizationWindowSeconds: 60 },
  })
  const before = (await api.get({ kind: V2, name: 'a' })).object
  await api.update({
    kind: V1,
    name: 'a',
    body: { ...first, spec: { ...objectMember(first, 'spec'), maxReplicas: 9 } },
  })
  const after = (await api.get({ kind: V2, name: 'a' })).object
  assert.deepEqual(after['spec'], { ...objectMember(before, 'spec'), maxReplicas: 9 })
  assert.deepEqual(after.metadata.annotations, { own: 'yes' })
})

void test('a write of the spec in the first version keeps the status that its annotations show', async (t) => {
  const api = await open(t)
  await api.create({ kind: V2, body: bodyOf({}) })
  const current = { averageValue: '120m', averageUtilization: 60 }
  const conditions = [
    { type: 'AbleToScale', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z', reason: 'Ready' },
  ]
  const status = {
    ...{ observedGeneration: 1, currentReplicas: 2, desiredReplicas: 3, conditions },
    currentMetrics: [{ type: 'Resource', resource: { name: 'cpu', current } }],
  }
  await api.patch({ kind: V2, name: 'a', subresource: 'status', body: { status } })
  const { object: first } = await api.get({ kind: V1, name: 'a' })
  assert.equal(objectMember(first, 'status')['currentCPUUtilizationPercentage'], 60)
  assert.deepEqual(JSON.parse(first.metadata.annotations?.[key('conditions')] ?? ''), conditions)
  // A client that drops the annotations from the spec's update does not change the status.
  await api.update({ kind: V1, name: 'a', body: bodyOf({ targetCPUUtilizationPercentage: 50 }) })
  const { object } = await api.get({ kind: V2, name: 'a' })
  assert.deepEqual(object['status'], status)
  assert.deepEqual(objectMember(object, 'spec')['metrics'], [utilization(50)])
})

void test('v2beta1 has metrics in the older shape, and keeps the behavior in an annotation', async (t) => {
  const api = await open(t)
  const behavior = { scaleDown: { stabilizationWindowSeconds: 60 } }
  await api.create({ kind: V2, body: bodyOf({ metrics: [pods('10')], behavior }) })
  const stored = (await api.get({ kind: V2, name: 'a' })).object
  const { object: older } = await api.get({ kind: V2BETA1, name: 'a' })
  const metric = { type: 'Pods', pods: { metricName: 'requests', targetAverageValue: '10' } }
  const spec = { scaleTargetRef, minReplicas: 1, maxReplicas: 5, metrics: [metric] }
  assert.deepEqual(older['spec'], spec)
  assert.deepEqual(Object.keys(older.metadata.annotations ?? {}), [key('behavior')])
  assert.deepEqual(cells(api, V2BETA1, older), cells(api, V2, stored))
  await api.update({ kind: V2BETA1, name: 'a', body: { ...older, spec: { ...spec, maxReplicas: 9 } } })
  const after = (await api.get({ kind: V2, name: 'a' })).object
  assert.deepEqual(after['spec'], { ...objectMember(stored, 'spec'), maxReplicas: 9 })

  const conditions = [
    { type: 'AbleToScale', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z', reason: 'Ready' },
  ]
  const currentMetrics = [
    { type: 'Pods', pods: { metricName: 'requests', currentAverageValue: '7' } },
    { type: 'Resource', resource: { name: 'cpu', currentAverageUtilization: 60, currentAverageValue: '0' } },
  ]
  const status = { currentReplicas: 2, desiredReplicas: 3, currentMetrics, conditions }
  await api.patch({ kind: V2BETA1, name: 'a', subresource: 'status', body: { status } })
  assert.deepEqual((await api.get({ kind: V2BETA1, name: 'a' })).object['status'], status)
  assert.deepEqual((await api.get({ kind: V2, name: 'a' })).object['status'], {
    ...{ currentReplicas: 2, desiredReplicas: 3, conditions },
    currentMetrics: [
      { type: 'Pods', pods: { metric: { name: 'requests' }, current: { averageValue: '7' } } },
      {
        type: 'Resource',
        resource: { name: 'cpu', current: { averageValue: '0', averageUtilization: 60 } },
      },
    ],
  })
})

void test('a broken rule of v2beta1 is reported once, at the place in the stored version', async (t) => {
  const api = await open(t)
  const at = 'spec.metrics[0]'
  const bad = (metric: JsonObject): JsonObject => ({ spec: { metrics: [metric] } })
  await refusesNew(api, { kind: V2BETA1, body: bodyOf({}) }, [
    [{ spec: { minReplicas: 0 } }, ['FieldValueInvalid spec.minReplicas']],
    [{ spec: { scaleTargetRef: { kind: null } } }, ['FieldValueRequired spec.scaleTargetRef.kind']],
    [
      bad({ type: 'Pods', pods: { metricName: '', targetAverageValue: '1' } }),
      [`FieldValueRequired ${at}.pods.metric.name`],
      'must specify a metric name',
    ],
    [
      bad({ type: 'Resource', resource: { name: 'cpu' } }),
      [`FieldValueRequired ${at}.resource.target.averageUtilization`],
    ],
  ])
  await api.create({ kind: V2BETA1, body: bodyOf({}) })
  await refusesChange(api, { kind: V2BETA1, name: 'a', subresource: 'status' }, [
    [{ status: { currentReplicas: -1 } }, ['FieldValueInvalid status.currentReplicas']],
  ])
})

void test('malformed annotations of metrics and behavior are dropped, in the first version and in the stored one', async (t) => {
  const api = await open(t)
  for (const text of ['{', '[1]', '{"type":"Pods"}', '['.repeat(1000)]) {
    const annotations = { [key('metrics')]: text, [key('behavior')]: text, own: 'yes' }
    for (const kind of [V1, V2]) {
      const { object } = await api.create({ kind, body: bodyOf({}, annotations) })
      assert.deepEqual(object.metadata.annotations, { own: 'yes' }, text)
      await api.delete({ kind, name: 'a' })
    }
  }
})

void test('a watch of the first version shows the annotations of each change', async (t) => {
  const api = await open(t)
  const events = await api.watch({ kind: V1 })
  await api.create({ kind: V2, body: bodyOf({ metrics: [pods('10')] }) })
  await api.patch({ kind: V2, name: 'a', body: { spec: { metrics: [pods('20')] } } })
  const seen = (await events.now()).map(({ type, object }) => {
    const text = object.metadata.annotations?.[key('metrics')] ?? ''
    return `${type} ${text.replace(/.*targetAverageValue":"/, '')}`
  })
  assert.deepEqual(seen, ['ADDED 10"}}]', 'MODIFIED 20"}}]'])
})

void test('bounds, metrics and behavior follow the rules of upstream', async (t) => {
  const api = await open(t)
  const at = 'spec.metrics[0]'
  const bad = (metric: JsonObject): JsonObject => ({ spec: { metrics: [metric] } })
  await refusesNew(api, { kind: V2, body: bodyOf({}) }, [
    [
      { spec: { maxReplicas: 0 } },
      ['FieldValueInvalid spec.maxReplicas', 'FieldValueInvalid spec.maxReplicas'],
      'must be greater than 0',
    ],
    [
      { spec: { minReplicas: 0 } },
      ['FieldValueInvalid spec.minReplicas'],
      'must be greater than or equal to 1',
    ],
    [
      { spec: { minReplicas: 6 } },
      ['FieldValueInvalid spec.maxReplicas'],
      'must be greater than or equal to `minReplicas`',
    ],
    [{ spec: { scaleTargetRef: { kind: null } } }, ['FieldValueRequired spec.scaleTargetRef.kind']],
    [
      { spec: { scaleTargetRef: { name: '..' } } },
      ['FieldValueInvalid spec.scaleTargetRef.name'],
      "may not be '..'",
    ],
    [
      bad({ type: '' }),
      [`FieldValueRequired ${at}.type`, `FieldValueNotSupported ${at}.type`],
      'must specify a metric source type',
    ],
    [
      bad({ type: 'Pods' }),
      [`FieldValueRequired ${at}.pods`],
      'must populate information for the given metric source',
    ],
    [
      bad({ ...utilization(1), ...pods('1'), type: 'Pods' }),
      [`FieldValueForbidden ${at}.resource`],
      'must populate the given metric source only',
    ],
    [
      bad(pods('0')),
      [
        `FieldValueInvalid ${at}.pods.target.averageValue`,
        `FieldValueRequired ${at}.pods.target.averageValue`,
      ],
      'must specify a positive target averageValue',
    ],
    [
      bad(utilization(0)),
      [`FieldValueInvalid ${at}.resource.target.averageUtilization`],
      'must be greater than 0',
    ],
    [
      bad(cpu({ type: 'Utilization' })),
      [`FieldValueRequired ${at}.resource.target.averageUtilization`],
      'must set either a target raw value or a target utilization',
    ],
    [
      bad(cpu({ type: 'Some', averageValue: '1' })),
      [`FieldValueInvalid ${at}.resource.target.type`],
      'must be either Utilization, Value, or AverageValue',
    ],
    [
      bad({
        type: 'ContainerResource',
        containerResource: {
          name: 'cpu',
          container: 'c',
          target: { type: 'Utilization', averageUtilization: 1 },
        },
      }),
      [`FieldValueRequired ${at}.containerResource`],
    ],
    [
      { spec: { behavior: { scaleUp: { policies: [{ type: 'Some', value: 0, periodSeconds: 1801 }] } } } },
      [
        'FieldValueNotSupported spec.behavior.scaleUp.policies[0].type',
        'FieldValueInvalid spec.behavior.scaleUp.policies[0].value',
        'FieldValueInvalid spec.behavior.scaleUp.policies[0].periodSeconds',
      ],
      'must be less than or equal to 1800',
    ],
    [
      { spec: { behavior: { scaleDown: { selectPolicy: 'Some', stabilizationWindowSeconds: 3601 } } } },
      [
        'FieldValueInvalid spec.behavior.scaleDown.stabilizationWindowSeconds',
        'FieldValueNotSupported spec.behavior.scaleDown.selectPolicy',
      ],
      'must be less than or equal to 3600',
    ],
  ])
  await refusesNew(api, { kind: V1, body: bodyOf({}) }, [
    [
      { spec: { targetCPUUtilizationPercentage: 0 } },
      [`FieldValueInvalid ${at}.resource.target.averageUtilization`],
    ],
    [
      {
        metadata: {
          annotations: {
            [key('metrics')]: JSON.stringify([
              { type: 'Pods', pods: { metricName: '', targetAverageValue: '1' } },
            ]),
          },
        },
      },
      [`FieldValueRequired ${at}.pods.metric.name`],
      'must specify a metric name',
    ],
  ])
  await api.create({ kind: V2, body: bodyOf({}) })
  await refusesChange(api, { kind: V2, name: 'a', subresource: 'status' }, [
    [{ status: { currentReplicas: -1 } }, ['FieldValueInvalid status.currentReplicas']],
  ])
})

void test('the table shows the first two metrics with their targets, and the number of the others', async (t) => {
  const api = await open(t)
  const metrics = [utilization(70), pods('10'), pods('11')]
  const { object } = await api.create({ kind: V2, body: bodyOf({ metrics }) })
  const status = {
    currentReplicas: 2,
    currentMetrics: [{ type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 30 } } }],
  }
  const shown = { Name: 'a', Reference: 'Deployment/web', MinPods: '1', MaxPods: 5 }
  assert.deepEqual(cells(api, V2, { ...object, status }), {
    ...{ ...shown, Replicas: 2, Targets: '30%/70%, <unknown>/10 + 1 more...' },
  })
  const first = await api.get({ kind: V1, name: 'a' })
  assert.equal(cells(api, V1, first.object)['Targets'], '<unknown>/10, <unknown>/11 + 1 more...')
})
