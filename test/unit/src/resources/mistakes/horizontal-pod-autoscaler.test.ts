/*
 * Goal: common mistakes in a HorizontalPodAutoscaler have upstream's status, reason, causes and
 * words.
 * Method: one change of a valid object for each row, through the shipped verbs.
 */
import type { JsonObject } from '../../../../../src/api/json.ts'
import { refuseNew, refuseUpdates } from './mistakes.ts'
import type { Mistake } from './mistakes.ts'
import { metadataMistakes } from './template-mistakes.ts'

const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }
const body = { metadata: { name: 'web' }, spec: { scaleTargetRef, minReplicas: 2, maxReplicas: 4 } }
const valid = { kind: 'HorizontalPodAutoscaler', group: 'autoscaling', body }
const first = 'spec.metrics[0]'

const inMetric = (title: string, metric: JsonObject, ...causes: string[]): Mistake => [
  title,
  { spec: { metrics: [metric] } },
  ...causes,
]
const inResource = (title: string, resource: JsonObject, ...causes: string[]): Mistake =>
  inMetric(title, { type: 'Resource', resource: { name: 'cpu', ...resource } }, ...causes)
const target = (title: string, value: JsonObject, ...causes: string[]): Mistake =>
  inResource(title, { target: value }, ...causes)
const inRules = (title: string, rules: JsonObject, cause: string): Mistake => [
  title,
  { spec: { behavior: { scaleDown: rules } } },
  cause,
]
const policy = (title: string, members: JsonObject, cause: string): Mistake =>
  inRules(title, { policies: [{ type: 'Pods', value: 1, periodSeconds: 60, ...members }] }, cause)
const rules = 'spec.behavior.scaleDown'

const bounds: readonly Mistake[] = [
  [
    'a maximum of replicas below the minimum',
    { spec: { maxReplicas: 1 } },
    'FieldValueInvalid spec.maxReplicas: Invalid value: 1: must be greater than or equal to `minReplicas`',
  ],
  [
    'a minimum of 0 replicas',
    { spec: { minReplicas: 0 } },
    'FieldValueInvalid spec.minReplicas: Invalid value: 0: must be greater than or equal to 1',
  ],
]

refuseNew(valid, [
  ...metadataMistakes,
  ...bounds,
  [
    'no maximum of replicas',
    { spec: { maxReplicas: null } },
    'FieldValueInvalid spec.maxReplicas: Invalid value: 0: must be greater than 0',
    'FieldValueInvalid spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`',
  ],
  [
    'a target without a kind',
    { spec: { scaleTargetRef: { kind: null } } },
    'FieldValueRequired spec.scaleTargetRef.kind: Required value',
  ],
  [
    'a target without a name',
    { spec: { scaleTargetRef: { name: null } } },
    'FieldValueRequired spec.scaleTargetRef.name: Required value',
  ],
  [
    'a path as the name of the target',
    { spec: { scaleTargetRef: { name: 'apps/web' } } },
    'FieldValueInvalid spec.scaleTargetRef.name: Invalid value: "apps/web": may not contain \'/\'',
  ],
  inMetric(
    'a resource as the type of a metric',
    { type: 'CPU' },
    `FieldValueNotSupported ${first}.type: Unsupported value: "CPU": ` +
      'supported values: "ContainerResource", "External", "Object", "Pods", "Resource"',
  ),
  inMetric(
    'a metric without its source',
    { type: 'Resource' },
    `FieldValueRequired ${first}.resource: Required value: ` +
      'must populate information for the given metric source',
  ),
  inResource(
    'a resource without a name',
    { name: '', target: { type: 'Utilization', averageUtilization: 50 } },
    `FieldValueRequired ${first}.resource.name: Required value: must specify a resource name`,
  ),
  target(
    'an unknown type of a target',
    { type: 'Percent', averageUtilization: 50 },
    `FieldValueInvalid ${first}.resource.target.type: Invalid value: "Percent": ` +
      'must be either Utilization, Value, or AverageValue',
  ),
  target(
    'a utilization of 0',
    { type: 'Utilization', averageUtilization: 0 },
    `FieldValueInvalid ${first}.resource.target.averageUtilization: Invalid value: 0: must be greater than 0`,
  ),
  target(
    'a target without a value',
    { type: 'Utilization' },
    `FieldValueRequired ${first}.resource.target.averageUtilization: Required value: ` +
      'must set either a target raw value or a target utilization',
  ),
  target(
    'a target with two values',
    { type: 'Utilization', averageUtilization: 50, averageValue: '1' },
    `FieldValueForbidden ${first}.resource.target.averageValue: Forbidden: ` +
      'may not set both a target raw value and a target utilization',
  ),
  inMetric(
    'a metric of Pods without a name',
    { type: 'Pods', pods: { metric: { name: '' }, target: { type: 'AverageValue', averageValue: '1' } } },
    `FieldValueRequired ${first}.pods.metric.name: Required value: must specify a metric name`,
  ),
  inMetric(
    'a metric of Pods without a value',
    { type: 'Pods', pods: { metric: { name: 'calls' }, target: { type: 'AverageValue' } } },
    `FieldValueRequired ${first}.pods.target.averageValue: Required value: ` +
      'must specify a positive target averageValue',
  ),
  inMetric(
    'an external metric without a value',
    { type: 'External', external: { metric: { name: 'calls' }, target: { type: 'Value' } } },
    `FieldValueRequired ${first}.external.target.averageValue: Required value: ` +
      'must set either a target value for metric or a per-pod target',
  ),
  inRules(
    'a negative window',
    { stabilizationWindowSeconds: -1 },
    `FieldValueInvalid ${rules}.stabilizationWindowSeconds: Invalid value: -1: ` +
      'must be greater than or equal to zero',
  ),
  inRules(
    'a window of more than an hour',
    { stabilizationWindowSeconds: 4000 },
    `FieldValueInvalid ${rules}.stabilizationWindowSeconds: Invalid value: 4000: ` +
      'must be less than or equal to 3600',
  ),
  policy(
    'a policy that changes nothing',
    { value: 0 },
    `FieldValueInvalid ${rules}.policies[0].value: Invalid value: 0: must be greater than zero`,
  ),
  policy(
    'a policy without a period',
    { periodSeconds: 0 },
    `FieldValueInvalid ${rules}.policies[0].periodSeconds: Invalid value: 0: must be greater than zero`,
  ),
  policy(
    'a period of more than half an hour',
    { periodSeconds: 1801 },
    `FieldValueInvalid ${rules}.policies[0].periodSeconds: Invalid value: 1801: ` +
      'must be less than or equal to 1800',
  ),
])

refuseUpdates(valid, bounds)
