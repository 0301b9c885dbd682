import { int32, maybe, part, quantity, struct, text } from '../../api/schema/build.ts'
import type { Field } from '../../api/schema/build.ts'
import { selectorSchema } from '../common/selector.ts'
import { metricFields } from './metric-schema.ts'
import { targetReferenceV2beta1Schema } from './target-reference.ts'

/**
 * The shape of metrics before version 2: targets and values are members of the metric. `v2beta1`
 * has it, and annotations of `v1` contain it. Rules are checked on the converted metric.
 */
const checked = { required: true, always: true } as const
const optional = { optional: true } as const

const metricName = (number: number): Field => text(number, 'Name of the metric.', checked)
const selector = (number: number): Field =>
  maybe(number, selectorSchema, 'Selector of the series of the metric.')
const resource = text(1, 'Name of the resource, such as cpu.', checked)
const container = text(4, 'Name of the container.', checked)
const described = part(1, targetReferenceV2beta1Schema, 'The object that the metric describes.', checked)
const average = 'Average value per Pod.'
const utilization = 'Average utilization of the Pods, in percent of their requests.'
const whole = 'Value of the metric as a whole.'

export const legacyMetricSpecSchema = struct(
  'autoscaling.v2beta1.MetricSpec',
  'A metric and its target.',
  metricFields({
    object: struct('autoscaling.v2beta1.ObjectMetricSource', 'A metric of one object.', {
      ...{ target: described, metricName: metricName(2) },
      targetValue: quantity(3, whole, checked),
      selector: selector(4),
      averageValue: quantity(5, average, optional),
    }),
    pods: struct('autoscaling.v2beta1.PodsMetricSource', 'A metric of each Pod.', {
      metricName: metricName(1),
      targetAverageValue: quantity(2, average, checked),
      selector: selector(3),
    }),
    resource: struct('autoscaling.v2beta1.ResourceMetricSource', 'A resource of the Pods.', {
      name: resource,
      targetAverageUtilization: int32(2, utilization, optional),
      targetAverageValue: quantity(3, average, optional),
    }),
    containerResource: struct(
      'autoscaling.v2beta1.ContainerResourceMetricSource',
      'A resource of a container.',
      {
        ...{ name: resource, container },
        targetAverageUtilization: int32(2, utilization, optional),
        targetAverageValue: quantity(3, average, optional),
      },
    ),
    external: struct('autoscaling.v2beta1.ExternalMetricSource', 'A metric from outside of the cluster.', {
      metricName: metricName(1),
      metricSelector: selector(2),
      targetValue: quantity(3, whole, optional),
      targetAverageValue: quantity(4, average, optional),
    }),
  }),
)

export const legacyMetricStatusSchema = struct(
  'autoscaling.v2beta1.MetricStatus',
  'A metric and its current value.',
  metricFields({
    object: struct('autoscaling.v2beta1.ObjectMetricStatus', 'A metric of one object.', {
      ...{ target: described, metricName: metricName(2) },
      currentValue: quantity(3, whole, checked),
      selector: selector(4),
      averageValue: quantity(5, average, optional),
    }),
    pods: struct('autoscaling.v2beta1.PodsMetricStatus', 'A metric of each Pod.', {
      metricName: metricName(1),
      currentAverageValue: quantity(2, average, checked),
      selector: selector(3),
    }),
    resource: struct('autoscaling.v2beta1.ResourceMetricStatus', 'A resource of the Pods.', {
      name: resource,
      currentAverageUtilization: int32(2, utilization, optional),
      currentAverageValue: quantity(3, average, checked),
    }),
    containerResource: struct(
      'autoscaling.v2beta1.ContainerResourceMetricStatus',
      'A resource of a container.',
      {
        ...{ name: resource, container },
        currentAverageUtilization: int32(2, utilization, optional),
        currentAverageValue: quantity(3, average, checked),
      },
    ),
    external: struct('autoscaling.v2beta1.ExternalMetricStatus', 'A metric from outside of the cluster.', {
      metricName: metricName(1),
      metricSelector: selector(2),
      currentValue: quantity(3, whole, checked),
      currentAverageValue: quantity(4, average, optional),
    }),
  }),
)
