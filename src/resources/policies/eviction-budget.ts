import { ApiError } from '../../api/errors/api-error.ts'
import { forbidden } from '../../api/errors/standard-errors.ts'
import {
  isJsonObject,
  memberOf,
  numberMember,
  objectMember,
  objectsMember,
  textMember,
} from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import { isConditionTrue, setCondition } from '../../api/metadata/conditions.ts'
import { selectorOfObject } from '../../api/selectors/label-selector.ts'
import type { AnyObject } from '../../registry/kinds/definition.ts'
import type { JointChange, JointContext } from '../../registry/kinds/joint-change.ts'

const budgets = { group: 'policy', plural: 'poddisruptionbudgets' } as const

/**
 * Returns the change of the disruption budget that the eviction of a Pod is charged to.
 *
 * @throws ApiError the budget does not allow it now, or several budgets select the Pod
 * @source upstream `pkg/registry/core/pod/storage/eviction.go`
 */
export async function chargeBudget({ object: pod, filter, time }: JointContext): Promise<JointChange> {
  if (needsNoBudget(pod)) return { kind: 'none' }
  const matching = await filter(budgets, (budget) => selects(budget, pod))
  const [budget] = matching
  if (budget === undefined) return { kind: 'none' }
  if (matching.length > 1) {
    const words =
      'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.'
    throw new ApiError('InternalError', words)
  }
  // A Pod that is not ready does not count as healthy. If enough others do, its eviction costs
  // nothing as long as it is not ready.
  if (!isReady(pod) && hasEnough(statusOf(budget))) return { kind: 'only-this-version' }
  const status = charged(budget, pod.metadata.name ?? '', time)
  return { kind: 'put', ...budgets, object: { ...budget, status } }
}

/**
 * Whether a Pod is ending, has ended, or has not started: its eviction disrupts nothing. No budget
 * selects a Pod without labels, as upstream, not even one with an empty selector.
 */
function needsNoBudget(pod: AnyObject): boolean {
  if (Object.keys(pod.metadata.labels ?? {}).length === 0) return true
  const isEnding = typeof pod.metadata.deletionTimestamp === 'string'
  return isEnding || ['Succeeded', 'Failed', 'Pending'].includes(textMember(statusOf(pod), 'phase'))
}

function selects(budget: AnyObject, pod: AnyObject): boolean {
  const selector = memberOf(objectMember(budget, 'spec'), 'selector')
  return isJsonObject(selector) && selectorOfObject(selector).matches(pod.metadata.labels ?? null)
}

function isReady(pod: AnyObject): boolean {
  return isConditionTrue(objectsMember(statusOf(pod), 'conditions'), 'Ready')
}

function statusOf(object: AnyObject): JsonObject {
  return objectMember(object, 'status')
}

function hasEnough(status: JsonObject): boolean {
  const desired = numberMember(status, 'desiredHealthy') ?? 0
  return desired > 0 && (numberMember(status, 'currentHealthy') ?? 0) >= desired
}

/** Limit on the evictions that the disruption controller has not confirmed yet. */
const DISRUPTED_PODS_MAX = 2000
/** Retry delay while the controller has not observed the current spec. */
const OBSERVED_AFTER_SECONDS = 10

/**
 * Returns the status with one fewer allowed disruption.
 *
 * @throws ApiError no disruption is allowed now, the controller has not observed the current spec,
 * or it has too many evictions to confirm
 */
function charged(budget: AnyObject, podName: string, time: string): JsonObject {
  const status = statusOf(budget)
  const { name = '', generation = 0 } = budget.metadata
  const observedGeneration = numberMember(status, 'observedGeneration') ?? 0
  if (observedGeneration < Number(generation)) {
    const words = `The disruption budget ${name} is still being processed by the server.`
    throw violated(words, OBSERVED_AFTER_SECONDS)
  }
  const disruptedPods = objectMember(status, 'disruptedPods')
  if (Object.keys(disruptedPods).length > DISRUPTED_PODS_MAX) {
    const words = 'DisruptedPods map too big - too many evictions not confirmed by PDB controller'
    throw forbidden({ group: budgets.group, resource: budgets.plural }, name, words)
  }
  const allowed = numberMember(status, 'disruptionsAllowed') ?? 0
  if (allowed <= 0) {
    const [wanted, now] = ['desiredHealthy', 'currentHealthy'].map(
      (count) => numberMember(status, count) ?? 0,
    )
    throw violated(`The disruption budget ${name} needs ${wanted} healthy pods and has ${now} currently`)
  }
  const left = {
    ...status,
    disruptionsAllowed: allowed - 1,
    disruptedPods: { ...disruptedPods, [podName]: time },
  }
  return allowed > 1 ? left : { ...left, conditions: exhausted(status, observedGeneration, time) }
}

function exhausted(status: JsonObject, observedGeneration: number, time: string): readonly JsonObject[] {
  const type = 'DisruptionAllowed'
  const condition = { type, status: 'False', reason: 'InsufficientPods', message: '' } as const
  return setCondition(objectsMember(status, 'conditions'), condition, time).map((one) =>
    textMember(one, 'type') === type ? { ...one, observedGeneration } : one,
  )
}

function violated(message: string, retryAfterSeconds?: number): ApiError {
  const words = "Cannot evict pod as it would violate the pod's disruption budget."
  return new ApiError('TooManyRequests', words, {
    causes: [{ reason: 'DisruptionBudget', message, field: '' }],
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  })
}
