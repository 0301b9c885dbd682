import type { JsonObject } from '../api/json.ts'
import { numberMember, objectMember, objectsMember, textMember, withoutMembers } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import { int32, part, struct } from '../api/schema/build.ts'
import { applyDefaults } from '../api/schema/default.ts'
import type { AnyObject, ResourceDefinition, StoredVersion } from '../registry/kinds/definition.ts'
import {
  readAutoscalerAnnotations,
  withAutoscalerAnnotations,
  withoutAutoscalerAnnotations,
} from './autoscalers/autoscaler-annotations.ts'
import {
  annotatedRulesSchema,
  autoscalerSchema,
  checkBounds,
  currentReplicasAlways,
  desiredReplicas,
  maxReplicas,
  minReplicas,
  observedFields,
} from './autoscalers/autoscaler-schema.ts'
import { olderAutoscaler } from './autoscalers/older-autoscaler.ts'
import { targetReferenceV1Schema } from './autoscalers/target-reference.ts'
import { horizontalPodAutoscalerDefinition } from './horizontal-pod-autoscaler.ts'

/**
 * The first version: one member for the utilization of CPU, and annotations for all other metrics,
 * for the behavior, and for metrics and conditions in the status. Stored as `v2`.
 */
export function horizontalPodAutoscalerV1Definition(names: Names): ResourceDefinition {
  const stored = horizontalPodAutoscalerDefinition(names)
  const conversion: Required<StoredVersion>['conversion'] = {
    toStored: (object) => toStored(object, names),
    fromStored: (object) => fromStored(object, names),
  }
  return olderAutoscaler(stored, {
    ...{ version: 'v1', schema: autoscalerV1Schema, conversion },
    rules: annotatedRulesSchema,
  })
}

const specV1Schema = struct(
  'autoscaling.v1.HorizontalPodAutoscalerSpec',
  'The object that is scaled, and the target utilization of CPU.',
  {
    scaleTargetRef: part(1, targetReferenceV1Schema, 'The object that is scaled.', {
      ...{ required: true, always: true },
    }),
    ...{ minReplicas, maxReplicas },
    targetCPUUtilizationPercentage: int32(
      4,
      'Target of the average utilization of CPU, in percent of the requests.',
      {
        optional: true,
      },
    ),
  },
  { check: checkBounds },
)

const statusV1Schema = struct(
  'autoscaling.v1.HorizontalPodAutoscalerStatus',
  'Observed state of an autoscaler.',
  {
    ...observedFields,
    ...{ currentReplicas: currentReplicasAlways, desiredReplicas },
    currentCPUUtilizationPercentage: int32(5, 'Average utilization of CPU, in percent of the requests.', {
      optional: true,
    }),
  },
)

const autoscalerV1Schema = struct(
  'autoscaling.v1.HorizontalPodAutoscaler',
  'Scales an object by the utilization of CPU.',
  {
    spec: part(2, specV1Schema, 'Desired behavior.'),
    status: part(3, statusV1Schema, 'Observed state; set by the controller.'),
  },
)

/** @source upstream `pkg/apis/autoscaling/v1/conversion.go` */
function toStored(object: AnyObject, names: Names): AnyObject {
  const annotated = readAutoscalerAnnotations(object, names)
  const { targetCPUUtilizationPercentage: target, ...spec } = objectMember(object, 'spec')
  const { currentCPUUtilizationPercentage: current, ...status } = objectMember(object, 'status')
  const ofTarget =
    target === undefined ? [] : [cpuMetric('target', { type: 'Utilization', averageUtilization: target })]
  const ofCurrent = current === undefined ? [] : [cpuMetric('current', { averageUtilization: current })]
  const metrics = [...annotated.metrics, ...ofTarget]
  const { currentMetrics, conditions } = annotated
  // The annotation has all metrics, the member only that of CPU.
  const observed = currentMetrics.length > 0 ? currentMetrics : ofCurrent
  const { currentReplicas, ...others } = status
  const converted: AnyObject = {
    ...withoutAutoscalerAnnotations(object, names),
    spec: {
      ...spec,
      ...(metrics.length === 0 ? {} : { metrics }),
      ...(annotated.behavior === null ? {} : { behavior: annotated.behavior }),
    },
    status: {
      ...others,
      ...(currentReplicas === undefined || currentReplicas === 0 ? {} : { currentReplicas }),
      ...(observed.length === 0 ? {} : { currentMetrics: observed }),
      ...(conditions.length === 0 ? {} : { conditions }),
    },
  }
  return { ...converted, ...applyDefaults(autoscalerSchema, converted) }
}

function fromStored(object: AnyObject, names: Names): AnyObject {
  const [spec, status] = [objectMember(object, 'spec'), objectMember(object, 'status')]
  const [metrics, currentMetrics] = [objectsMember(spec, 'metrics'), objectsMember(status, 'currentMetrics')]
  // The first CPU metric becomes the member if it has a utilization. The annotation of the status
  // keeps all metrics.
  const first = metrics.find(isCpu)
  const target = first === undefined ? null : utilizationOf(first, 'target')
  const current = utilizationOf(currentMetrics.findLast(isCpu) ?? {}, 'current')
  const shown: AnyObject = {
    ...withoutAutoscalerAnnotations(object, names),
    spec: {
      ...withoutMembers(spec, 'metrics', 'behavior'),
      ...(target === null ? {} : { targetCPUUtilizationPercentage: target }),
    },
    status: {
      ...withoutMembers(status, 'currentMetrics', 'conditions'),
      ...(current === null ? {} : { currentCPUUtilizationPercentage: current }),
    },
  }
  const annotated = {
    metrics: target === null ? metrics : metrics.filter((metric) => metric !== first),
    behavior: Object.hasOwn(spec, 'behavior') ? objectMember(spec, 'behavior') : null,
    currentMetrics,
    conditions: objectsMember(status, 'conditions'),
  }
  const whole = { ...shown, ...applyDefaults(autoscalerV1Schema, shown) }
  return withAutoscalerAnnotations(whole, annotated, names)
}

function cpuMetric(amountsIn: 'target' | 'current', amounts: JsonObject): JsonObject {
  return { type: 'Resource', resource: { name: 'cpu', [amountsIn]: amounts } }
}

function isCpu(metric: JsonObject): boolean {
  return (
    textMember(metric, 'type') === 'Resource' &&
    textMember(objectMember(metric, 'resource'), 'name') === 'cpu'
  )
}

function utilizationOf(metric: JsonObject, amountsIn: 'target' | 'current'): number | null {
  return numberMember(objectMember(objectMember(metric, 'resource'), amountsIn), 'averageUtilization')
}
