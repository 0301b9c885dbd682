import { int32, maybe, part, quantity, struct, text } from '../../api/schema/build.ts'
import type { Field } from '../../api/schema/build.ts'
import type { ObjectSchema } from '../../api/schema/schema.ts'
import { selectorSchema } from '../common/selector.ts'
import {
  checkContainerMetric,
  checkExternalMetric,
  checkMetric,
  checkMetricName,
  checkObjectMetric,
  checkPodsMetric,
  checkResourceMetric,
  checkTarget,
} from './metric-rules.ts'
import { targetReferenceSchema } from './target-reference.ts'

/** Required. The check of the struct refuses an empty value, in upstream's words. */
const checked = { required: true, always: true } as const

const identifierSchema = struct(
  'autoscaling.v2.MetricIdentifier',
  'Name of a metric, and optionally a selector.',
  {
    name: text(1, 'Name of the metric.', checked),
    selector: maybe(2, selectorSchema, 'Selector of the series of the metric.'),
  },
  { check: checkMetricName },
)

const targetSchema = struct(
  'autoscaling.v2.MetricTarget',
  'Target of a metric: a value, an average value, or an average utilization.',
  {
    type: text(1, 'Type of the target: Utilization, Value or AverageValue.', checked),
    value: quantity(2, 'Target of the metric as a whole.', { optional: true }),
    averageValue: quantity(3, 'Target of the average value per Pod.', { optional: true }),
    averageUtilization: int32(
      4,
      'Target of the average utilization of the Pods, in percent of their requests.',
      {
        optional: true,
      },
    ),
  },
  { check: checkTarget },
)

const valueSchema = struct('autoscaling.v2.MetricValueStatus', 'Current value of a metric.', {
  value: quantity(1, 'Value of the metric as a whole.', { optional: true }),
  averageValue: quantity(2, 'Average value per Pod.', { optional: true }),
  averageUtilization: int32(3, 'Average utilization of the Pods, in percent of their requests.', {
    optional: true,
  }),
})

const target = (number: number): Field => part(number, targetSchema, 'Target of the metric.', checked)
const current = (number: number): Field => part(number, valueSchema, 'Current value.', checked)
const metric = (number: number): Field => part(number, identifierSchema, 'The metric.', checked)
const described = (number: number): Field =>
  part(number, targetReferenceSchema, 'The object that the metric describes.', checked)
const resource = text(1, 'Name of the resource, such as cpu.', checked)
const container = text(3, 'Name of the container.', checked)

const resourceWords = 'A resource that the containers of the Pods request, such as cpu.'
const containerWords = 'A resource that one container of the Pods requests.'
const podsWords = 'A metric of each Pod, whose average over the Pods counts.'
const objectWords = 'A metric of one object.'
const externalWords = 'A metric of something outside of the cluster.'

type Sources = { readonly [name: string]: ObjectSchema }

const specs: Sources = {
  object: struct(
    'autoscaling.v2.ObjectMetricSource',
    objectWords,
    { describedObject: described(1), target: target(2), metric: metric(3) },
    { check: checkObjectMetric },
  ),
  pods: struct(
    'autoscaling.v2.PodsMetricSource',
    podsWords,
    { metric: metric(1), target: target(2) },
    { check: checkPodsMetric },
  ),
  resource: struct(
    'autoscaling.v2.ResourceMetricSource',
    resourceWords,
    { name: resource, target: target(2) },
    { check: checkResourceMetric },
  ),
  containerResource: struct(
    'autoscaling.v2.ContainerResourceMetricSource',
    containerWords,
    { name: resource, target: target(2), container },
    { check: checkContainerMetric },
  ),
  external: struct(
    'autoscaling.v2.ExternalMetricSource',
    externalWords,
    { metric: metric(1), target: target(2) },
    { check: checkExternalMetric },
  ),
}

const statuses: Sources = {
  object: struct('autoscaling.v2.ObjectMetricStatus', objectWords, {
    ...{ metric: metric(1), current: current(2), describedObject: described(3) },
  }),
  pods: struct('autoscaling.v2.PodsMetricStatus', podsWords, { metric: metric(1), current: current(2) }),
  resource: struct('autoscaling.v2.ResourceMetricStatus', resourceWords, {
    ...{ name: resource, current: current(2) },
  }),
  containerResource: struct('autoscaling.v2.ContainerResourceMetricStatus', containerWords, {
    ...{ name: resource, current: current(2), container },
  }),
  external: struct('autoscaling.v2.ExternalMetricStatus', externalWords, {
    ...{ metric: metric(1), current: current(2) },
  }),
}

/** Protobuf numbers of the members of a metric, the same in each version. */
export const sourceNumbers = { object: 2, pods: 3, resource: 4, containerResource: 7, external: 5 } as const

/** Returns the members of a metric: its type and one source. */
export function metricFields(sources: Sources): { readonly [name: string]: Field } {
  const fields = Object.entries(sourceNumbers).map(([name, number]): [string, Field] => {
    const schema = sources[name] ?? struct('', '', {})
    return [name, maybe(number, schema, schema.description ?? '')]
  })
  const type = text(1, 'Type: Object, Pods, Resource, ContainerResource or External.', checked)
  return { type, ...Object.fromEntries(fields) }
}

export const metricSpecSchema = struct(
  'autoscaling.v2.MetricSpec',
  'A metric and its target; the type selects the one member that is set.',
  metricFields(specs),
  { check: checkMetric },
)

export const metricStatusSchema = struct(
  'autoscaling.v2.MetricStatus',
  'A metric and its current value.',
  metricFields(statuses),
)
