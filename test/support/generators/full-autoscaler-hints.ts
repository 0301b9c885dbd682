import type { Json, JsonObject } from '../../../src/api/json.ts'
import type { Hint, Hints } from './hint.ts'

/**
 * Like `full-object-hints.ts`, for autoscalers: metrics of each type that a spec may have, with
 * targets.
 */

const one =
  (value: Json): Hint =>
  () =>
    value

const metric: JsonObject = { name: 'requests', selector: { matchLabels: { app: 'web' } } }
const described: JsonObject = { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', name: 'front' }
const average: JsonObject = { type: 'AverageValue', averageValue: '3' }

const metrics: Json = [
  { type: 'Object', object: { describedObject: described, metric, target: { type: 'Value', value: '7k' } } },
  { type: 'Pods', pods: { metric, target: average } },
  { type: 'External', external: { metric, target: average } },
  { type: 'Resource', resource: { name: 'memory', target: average } },
  {
    type: 'Resource',
    resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 70 } },
  },
]

const current: JsonObject = { averageValue: '3', averageUtilization: 60 }
const currentMetrics: Json = [
  { type: 'Object', object: { describedObject: described, metric, current: { value: '6k' } } },
  { type: 'Pods', pods: { metric, current: { averageValue: '2' } } },
  { type: 'External', external: { metric, current: { value: '5', averageValue: '2' } } },
  { type: 'Resource', resource: { name: 'cpu', current } },
  { type: 'ContainerResource', containerResource: { name: 'cpu', container: 'web', current } },
]

const selected = { selector: { matchLabels: { app: 'web' } } } as const
const olderMetrics: Json = [
  {
    type: 'Object',
    object: { target: described, metricName: 'hits', targetValue: '7k', ...selected },
  },
  { type: 'Object', object: { target: described, metricName: 'hits', targetValue: '0', averageValue: '3' } },
  { type: 'Pods', pods: { metricName: 'hits', targetAverageValue: '3', ...selected } },
  {
    type: 'External',
    external: { metricName: 'hits', targetValue: '3', metricSelector: selected.selector },
  },
  { type: 'External', external: { metricName: 'hits', targetAverageValue: '3' } },
  { type: 'Resource', resource: { name: 'memory', targetAverageValue: '3' } },
  { type: 'Resource', resource: { name: 'cpu', targetAverageUtilization: 70 } },
]

const olderCurrentMetrics: Json = [
  {
    type: 'Object',
    object: { target: described, metricName: 'hits', currentValue: '6k', ...selected, averageValue: '2' },
  },
  { type: 'Pods', pods: { metricName: 'hits', currentAverageValue: '2', ...selected } },
  {
    type: 'External',
    external: {
      ...{ metricName: 'hits', currentValue: '5', currentAverageValue: '2' },
      metricSelector: selected.selector,
    },
  },
  {
    type: 'Resource',
    resource: { name: 'cpu', currentAverageUtilization: 60, currentAverageValue: '3' },
  },
  {
    type: 'ContainerResource',
    containerResource: {
      ...{ name: 'cpu', container: 'web', currentAverageUtilization: 60, currentAverageValue: '3' },
    },
  },
]

export const autoscalerHints: Hints = {
  'autoscaling.v1.HorizontalPodAutoscalerSpec.minReplicas': one(2),
  'autoscaling.v1.HorizontalPodAutoscalerSpec.maxReplicas': one(20),
  'autoscaling.v2.HorizontalPodAutoscalerSpec.minReplicas': one(2),
  'autoscaling.v2.HorizontalPodAutoscalerSpec.maxReplicas': one(20),
  'autoscaling.v2.HorizontalPodAutoscalerSpec.metrics': one(metrics),
  'autoscaling.v2.HorizontalPodAutoscalerStatus.currentMetrics': one(currentMetrics),
  'autoscaling.v2beta2.HorizontalPodAutoscalerStatus.currentMetrics': one(currentMetrics),
  'autoscaling.v2beta1.HorizontalPodAutoscalerSpec.minReplicas': one(2),
  'autoscaling.v2beta1.HorizontalPodAutoscalerSpec.maxReplicas': one(20),
  'autoscaling.v2beta1.HorizontalPodAutoscalerSpec.metrics': one(olderMetrics),
  'autoscaling.v2beta1.HorizontalPodAutoscalerStatus.currentMetrics': one(olderCurrentMetrics),
  'autoscaling.v2.HPAScalingPolicy.type': one('Percent'),
  'autoscaling.v2.HPAScalingRules.selectPolicy': one('Min'),
}
