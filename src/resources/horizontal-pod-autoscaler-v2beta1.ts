import { memberOf, objectMember, objectsMember, withoutMembers } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import { listOf, part, struct } from '../api/schema/build.ts'
import { applyDefaults } from '../api/schema/default.ts'
import type { AnyObject, ResourceDefinition } from '../registry/kinds/definition.ts'
import {
  readAutoscalerAnnotations,
  withAutoscalerAnnotations,
  withoutAutoscalerAnnotations,
} from './autoscalers/autoscaler-annotations.ts'
import {
  autoscalerSchema,
  maxReplicas,
  minReplicas,
  olderStatusFields,
  specRulesSchema,
} from './autoscalers/autoscaler-schema.ts'
import { legacyMetricSpecSchema, legacyMetricStatusSchema } from './autoscalers/legacy-metric-schema.ts'
import {
  legacySpecOf,
  legacyStatusOf,
  metricOfLegacySpec,
  metricOfLegacyStatus,
} from './autoscalers/legacy-metrics.ts'
import { olderAutoscaler } from './autoscalers/older-autoscaler.ts'
import { targetReferenceV2beta1Schema } from './autoscalers/target-reference.ts'
import { horizontalPodAutoscalerDefinition } from './horizontal-pod-autoscaler.ts'

/**
 * The first version with several metrics, in their older shape. It has an annotation for the
 * behavior. Stored as `v2`.
 */
export function horizontalPodAutoscalerV2beta1Definition(names: Names): ResourceDefinition {
  const stored = horizontalPodAutoscalerDefinition(names)
  const { group, version, kind } = stored
  const older = olderAutoscaler(stored, {
    ...{ version: 'v2beta1', schema: autoscalerV2beta1Schema, rules: specRulesSchema },
    conversion: {
      toStored: (object) => toStored(object, names),
      fromStored: (object) => fromStored(object, names),
    },
  })
  return Object.freeze({
    ...older,
    deprecated: { since: '1.22', removed: '1.25', replacement: { group, version, kind } },
  } satisfies ResourceDefinition)
}

const words = 'Scales an object by metrics, such as those of its Pods.'

const specV2beta1Schema = struct('autoscaling.v2beta1.HorizontalPodAutoscalerSpec', words, {
  scaleTargetRef: part(1, targetReferenceV2beta1Schema, 'The object that is scaled.', {
    ...{ required: true, always: true },
  }),
  ...{ minReplicas, maxReplicas },
  metrics: listOf(4, legacyMetricSpecSchema, 'Metrics; the one that requires the most Pods applies.'),
})

const statusV2beta1Schema = struct(
  'autoscaling.v2beta1.HorizontalPodAutoscalerStatus',
  'Observed state of an autoscaler.',
  olderStatusFields(legacyMetricStatusSchema),
)

const autoscalerV2beta1Schema = struct('autoscaling.v2beta1.HorizontalPodAutoscaler', words, {
  spec: part(2, specV2beta1Schema, 'Desired behavior.'),
  status: part(3, statusV2beta1Schema, 'Observed state; set by the controller.'),
})

/** @source upstream `pkg/apis/autoscaling/v2beta1/conversion.go` */
function toStored(object: AnyObject, names: Names): AnyObject {
  const { behavior } = readAutoscalerAnnotations(object, names)
  const [spec, status] = [objectMember(object, 'spec'), objectMember(object, 'status')]
  const unset = ['currentReplicas', 'conditions'].filter((name) => isZero(status, name))
  const converted: AnyObject = {
    ...withoutAutoscalerAnnotations(object, names),
    spec: {
      ...withMetrics(spec, 'metrics', metricOfLegacySpec),
      ...(behavior === null ? {} : { behavior }),
    },
    status: withoutMembers(withMetrics(status, 'currentMetrics', metricOfLegacyStatus), ...unset),
  }
  return { ...converted, ...applyDefaults(autoscalerSchema, converted) }
}

function fromStored(object: AnyObject, names: Names): AnyObject {
  const [spec, status] = [objectMember(object, 'spec'), objectMember(object, 'status')]
  const shown: AnyObject = {
    ...withoutAutoscalerAnnotations(object, names),
    spec: withMetrics(withoutMembers(spec, 'behavior'), 'metrics', legacySpecOf),
    status: withMetrics(status, 'currentMetrics', legacyStatusOf),
  }
  const annotated = {
    behavior: Object.hasOwn(spec, 'behavior') ? objectMember(spec, 'behavior') : null,
    ...{ metrics: [], currentMetrics: [], conditions: [] },
  }
  const whole = { ...shown, ...applyDefaults(autoscalerV2beta1Schema, shown) }
  return withAutoscalerAnnotations(whole, annotated, names)
}

function withMetrics(of: JsonObject, name: string, convert: (metric: JsonObject) => JsonObject): JsonObject {
  const metrics = objectsMember(of, name)
  return metrics.length === 0 ? of : { ...of, [name]: metrics.map(convert) }
}

function isZero(status: JsonObject, name: string): boolean {
  const value = memberOf(status, name)
  return value === 0 || value === null
}
