import { textMember, textsMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import type { PodScopes } from './pod-usage.ts'

/** Scopes of quotas, in the order of upstream's messages. */
export const QUOTA_SCOPES: readonly string[] = [
  ...['BestEffort', 'CrossNamespacePodAffinity', 'NotBestEffort', 'NotTerminating', 'PriorityClass'],
  'Terminating',
]

/** A requirement on one scope of a Pod. */
export type ScopeRequirement = {
  readonly scope: string
  readonly operator: string
  readonly values: readonly string[]
}

/** @param given a `ScopedResourceSelectorRequirement` */
export function scopeRequirementOf(given: JsonObject): ScopeRequirement {
  return {
    scope: textMember(given, 'scopeName'),
    operator: textMember(given, 'operator'),
    values: textsMember(given, 'values'),
  }
}

/** Whether a Pod meets a requirement. */
export function appliesTo({ scope, operator, values }: ScopeRequirement, pod: PodScopes): boolean {
  switch (scope) {
    case 'Terminating':
      return pod.terminating
    case 'NotTerminating':
      return !pod.terminating
    case 'BestEffort':
      return pod.bestEffort
    case 'NotBestEffort':
      return !pod.bestEffort
    case 'CrossNamespacePodAffinity':
      return pod.crossNamespaceAffinity
    case 'PriorityClass':
      return matches(pod.priorityClass, operator, values)
    default:
      return false
  }
}

/** Matches like a label selector on a label that is absent if the value is empty. */
function matches(value: string, operator: string, values: readonly string[]): boolean {
  switch (operator) {
    case 'Exists':
      return value !== ''
    case 'DoesNotExist':
      return value === ''
    case 'In':
      return value !== '' && values.includes(value)
    case 'NotIn':
      return value === '' || !values.includes(value)
    default:
      return false
  }
}
