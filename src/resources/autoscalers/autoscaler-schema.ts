import type { Findings } from '../../api/errors/findings.ts'
import { invalid, notSupported, required } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { memberOf, numberMember, objectsMember, textMember } from '../../api/json.ts'
import { int32, int64, listOf, maybe, part, struct, text, time } from '../../api/schema/build.ts'
import type { Field } from '../../api/schema/build.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt } from '../../api/schema/path.ts'
import type { ObjectSchema } from '../../api/schema/schema.ts'
import { metricSpecSchema, metricStatusSchema } from './metric-schema.ts'
import { targetReferenceSchema } from './target-reference.ts'

const policySchema = struct(
  'autoscaling.v2.HPAScalingPolicy',
  'A limit on the change of the number of Pods within a period.',
  {
    type: text(1, 'What the value counts: Pods or Percent.', { required: true, always: true }),
    value: int32(2, 'The largest change that is allowed.', { required: true, always: true }),
    periodSeconds: int32(3, 'Length of the period, at most 1800 seconds.', { required: true, always: true }),
  },
  { check: checkPolicy },
)

const rulesSchema = struct(
  'autoscaling.v2.HPAScalingRules',
  'How fast the number of Pods changes in one direction.',
  {
    selectPolicy: text(1, 'Policy to use: Max or Min for the larger or smaller change, or Disabled.', {
      optional: true,
    }),
    policies: listOf(2, policySchema, 'Limits on the change.', { listType: 'atomic' }),
    stabilizationWindowSeconds: int32(3, 'For how many seconds earlier recommendations count too.', {
      optional: true,
    }),
  },
  { check: checkRules },
)

export const behaviorSchema = struct(
  'autoscaling.v2.HorizontalPodAutoscalerBehavior',
  'How fast the number of Pods grows and shrinks.',
  {
    scaleUp: maybe(1, rulesSchema, 'Rules for more Pods.'),
    scaleDown: maybe(2, rulesSchema, 'Rules for fewer Pods.'),
  },
)

export const conditionFields: { readonly [name: string]: Field } = {
  type: text(1, 'Type of the condition, such as AbleToScale.', { required: true }),
  status: text(2, 'Status of the condition: True, False or Unknown.', { required: true }),
  lastTransitionTime: time(3, 'Time of the last change of the status.'),
  reason: text(4, 'Machine-readable reason, in CamelCase.'),
  message: text(5, 'Human-readable message.'),
}

export const autoscalerConditionSchema = struct(
  'autoscaling.v2.HorizontalPodAutoscalerCondition',
  'One aspect of the observed state.',
  conditionFields,
)

export const minReplicas = int32(2, 'The lowest number of Pods.', { optional: true, default: 1 })
export const maxReplicas = int32(3, 'The highest number of Pods.', { required: true, always: true })

const specSchema = struct(
  'autoscaling.v2.HorizontalPodAutoscalerSpec',
  'The object that is scaled, and the metrics that determine its scale.',
  {
    scaleTargetRef: part(1, targetReferenceSchema, 'The object that is scaled.', {
      ...{ required: true, always: true },
    }),
    ...{ minReplicas, maxReplicas },
    metrics: listOf(4, metricSpecSchema, 'Metrics; the one that requires the most Pods applies.', {
      listType: 'atomic',
    }),
    behavior: maybe(5, behaviorSchema, 'How fast the number of Pods changes.'),
  },
  { check: checkBounds },
)

export const observedFields = {
  observedGeneration: int64(1, 'Generation that the controller acted on last.', { optional: true }),
  lastScaleTime: time(2, 'Time of the last change of the number of Pods.', { optional: true }),
} as const
export const currentReplicasAlways = int32(3, 'Number of Pods.', {
  ...{ required: true, always: true, minimum: 0 },
})
export const desiredReplicas = int32(4, 'Number of Pods that the metrics require.', {
  ...{ required: true, always: true, minimum: 0 },
})

const statusSchema = struct(
  'autoscaling.v2.HorizontalPodAutoscalerStatus',
  'Observed state of an autoscaler.',
  {
    ...observedFields,
    currentReplicas: int32(3, 'Number of Pods.', { minimum: 0 }),
    desiredReplicas,
    currentMetrics: listOf(5, metricStatusSchema, 'Current values of the metrics.', {
      ...{ always: true, listType: 'atomic' },
    }),
    conditions: listOf(6, autoscalerConditionSchema, 'Conditions of the autoscaler.', {
      ...{ patchMergeKey: 'type', patchStrategy: 'merge', listType: 'map', listMapKeys: ['type'] },
    }),
  },
)

/** Returns the members of a status before version 2: its counts and lists are always present. */
export function olderStatusFields(metrics: ObjectSchema): { readonly [name: string]: Field } {
  return {
    ...observedFields,
    ...{ currentReplicas: currentReplicasAlways, desiredReplicas },
    currentMetrics: listOf(5, metrics, 'Current values of the metrics.', { always: true }),
    conditions: listOf(6, autoscalerConditionSchema, 'Conditions of the autoscaler.', { always: true }),
  }
}

const statusV2beta2Schema = struct(
  'autoscaling.v2beta2.HorizontalPodAutoscalerStatus',
  'Observed state of an autoscaler.',
  olderStatusFields(metricStatusSchema),
)

const spec = part(2, specSchema, 'Desired behavior.')
const words = 'Scales an object by metrics, such as those of its Pods.'

export const autoscalerSchema = struct('autoscaling.v2.HorizontalPodAutoscaler', words, {
  spec,
  status: part(3, statusSchema, 'Observed state; set by the controller.'),
})

export const autoscalerV2beta2Schema = struct('autoscaling.v2beta2.HorizontalPodAutoscaler', words, {
  spec,
  status: part(3, statusV2beta2Schema, 'Observed state; set by the controller.'),
})

/** The rules for the spec of an older version, once it is converted. */
export const specRulesSchema = struct('', words, { spec })

/** The rules for those members of a spec that the first version has in annotations. */
export const annotatedRulesSchema = struct('', words, {
  spec: part(
    2,
    struct('', words, {
      metrics: listOf(4, metricSpecSchema, 'Metrics.'),
      behavior: maybe(5, behaviorSchema, 'How fast the number of Pods changes.'),
    }),
    'Desired behavior.',
  ),
})

/** @source upstream `pkg/apis/autoscaling/validation`, validateHorizontalPodAutoscalerSpec */
export function checkBounds(spec: JsonObject, at: Path | null, found: Findings): void {
  const [low, high] = [numberMember(spec, 'minReplicas'), numberMember(spec, 'maxReplicas') ?? 0]
  if (low !== null && low < 1)
    found.add(invalid(fieldAt(at, 'minReplicas'), low, 'must be greater than or equal to 1'))
  if (high < 1) found.add(invalid(fieldAt(at, 'maxReplicas'), high, 'must be greater than 0'))
  if (low !== null && high < low) {
    const words = 'must be greater than or equal to `minReplicas`'
    found.add(invalid(fieldAt(at, 'maxReplicas'), high, words))
  }
}

const WINDOW_MAX = 3600
const PERIOD_MAX = 1800

/** @source upstream `pkg/apis/autoscaling/validation`, validateScalingRules */
function checkRules(rules: JsonObject, at: Path | null, found: Findings): void {
  const window = numberMember(rules, 'stabilizationWindowSeconds') ?? 0
  const place = fieldAt(at, 'stabilizationWindowSeconds')
  if (window < 0) found.add(invalid(place, window, 'must be greater than or equal to zero'))
  if (window > WINDOW_MAX) found.add(invalid(place, window, `must be less than or equal to ${WINDOW_MAX}`))
  const selected = memberOf(rules, 'selectPolicy')
  const known = ['Disabled', 'Max', 'Min']
  if (typeof selected === 'string' && !known.includes(selected))
    found.add(notSupported(fieldAt(at, 'selectPolicy'), selected, known))
  if (objectsMember(rules, 'policies').length === 0)
    found.add(required(fieldAt(at, 'policies'), 'must specify at least one Policy'))
}

/** @source upstream `pkg/apis/autoscaling/validation`, validateScalingPolicy */
function checkPolicy(policy: JsonObject, at: Path | null, found: Findings): void {
  const type = textMember(policy, 'type')
  const known = ['Percent', 'Pods']
  if (!known.includes(type)) found.add(notSupported(fieldAt(at, 'type'), type, known))
  for (const name of ['value', 'periodSeconds']) {
    const amount = numberMember(policy, name) ?? 0
    if (amount <= 0) found.add(invalid(fieldAt(at, name), amount, 'must be greater than zero'))
  }
  const period = numberMember(policy, 'periodSeconds') ?? 0
  if (period > PERIOD_MAX)
    found.add(invalid(fieldAt(at, 'periodSeconds'), period, `must be less than or equal to ${PERIOD_MAX}`))
}
