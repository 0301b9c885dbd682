import { int32, int64, intOrString, listOf, mapOf, maybe, part, struct } from '../../api/schema/build.ts'
import { conditionSchema } from '../common/condition.ts'
import { selectorSchema } from '../common/selector.ts'

const podDisruptionBudgetSpecSchema = struct(
  'policy.v1.PodDisruptionBudgetSpec',
  'How many Pods may be disrupted at a time.',
  {
    minAvailable: intOrString(1, 'How many Pods must stay available: a number or a percentage.', {
      optional: true,
    }),
    selector: maybe(
      2,
      { ...selectorSchema, patchStrategy: 'replace' },
      'Selector of the Pods; an empty one selects all of the namespace.',
    ),
    maxUnavailable: intOrString(3, 'How many Pods may be unavailable: a number or a percentage.', {
      optional: true,
    }),
  },
)

const podDisruptionBudgetStatusSchema = struct(
  'policy.v1.PodDisruptionBudgetStatus',
  'Observed state of a budget.',
  {
    observedGeneration: int64(1, 'Generation that the controller acted on last.'),
    disruptedPods: mapOf(
      2,
      { type: 'string', format: 'date-time' },
      'Pods whose eviction was accepted and that are not gone yet, with the time.',
    ),
    disruptionsAllowed: int32(3, 'How many Pods may be evicted now.', {
      required: true,
      always: true,
      minimum: 0,
    }),
    currentHealthy: int32(4, 'Number of healthy Pods.', { required: true, always: true, minimum: 0 }),
    desiredHealthy: int32(5, 'Number of Pods that must be healthy.', {
      required: true,
      always: true,
      minimum: 0,
    }),
    expectedPods: int32(6, 'Number of Pods that the budget counts.', {
      required: true,
      always: true,
      minimum: 0,
    }),
    conditions: listOf(7, conditionSchema, 'Conditions of the budget.', {
      patchMergeKey: 'type',
      patchStrategy: 'merge',
      listType: 'map',
      listMapKeys: ['type'],
    }),
  },
)

export const disruptionBudgetSchema = struct(
  'policy.v1.PodDisruptionBudget',
  'A limit on how many Pods are disrupted at a time.',
  {
    spec: part(2, podDisruptionBudgetSpecSchema, 'How many Pods may be disrupted.'),
    status: part(3, podDisruptionBudgetStatusSchema, 'Observed state; set by the controller.'),
  },
)
