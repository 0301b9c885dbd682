import { limits } from '../config/limits.ts'
import { matchesPath } from './rules.ts'
import type { PolicyRule } from './rules.ts'

/** Which rules a user lacks. `too-much`: there are too many rules to compare. */
export type Coverage =
  | { readonly kind: 'covered' }
  /**
   * The rules that the user lacks. `isWhole` is false if the search ended at
   * `limits.missingRulesCountedMax`, so that there may be more.
   */
  | { readonly kind: 'lacking'; readonly rules: readonly PolicyRule[]; readonly isWhole: boolean }
  | { readonly kind: 'too-much' }

/**
 * Compares rules with those of a user, so that users cannot grant more than they have. A rule is
 * covered by one rule of the user, or part by part: one verb of one resource of one group of one
 * name each.
 *
 * @param stepsMax values of rules that are looked up, after which the result is `too-much`
 * @source component-helpers `auth/rbac/validation/policy_comparator.go`
 */
export function coverageOf(
  owned: readonly PolicyRule[],
  wanted: readonly PolicyRule[],
  stepsMax: number,
): Coverage {
  if (wanted.length === 0) return { kind: 'covered' }
  let left = stepsMax - owned.reduce((sum, rule) => sum + valuesIn(rule), 0)
  if (left < 0) return { kind: 'too-much' }
  const owners = owned.map(ownerOf)
  const pathPatterns = owned.reduce((sum, { nonResourceURLs = [] }) => sum + nonResourceURLs.length, 0)
  const isOwned = (rule: PolicyRule): boolean => {
    left -= valuesIn(rule) * (owners.length + 1) + (rule.nonResourceURLs ?? []).length * pathPatterns
    return left >= 0 && owners.some((owner) => covers(owner, rule))
  }
  const lacking: PolicyRule[] = []
  for (const rule of wanted) {
    if (isOwned(rule)) continue
    for (const part of partsOf(rule)) {
      if (!isOwned(part)) lacking.push(part)
      if (left < 0) return { kind: 'too-much' }
      if (lacking.length === limits.missingRulesCountedMax) {
        return { kind: 'lacking', rules: lacking, isWhole: false }
      }
    }
  }
  if (left < 0) return { kind: 'too-much' }
  return lacking.length === 0 ? { kind: 'covered' } : { kind: 'lacking', rules: lacking, isWhole: true }
}

/** A rule of the user, with sets in place of its lists. */
type Owner = {
  readonly verbs: ReadonlySet<string>
  readonly apiGroups: ReadonlySet<string>
  readonly resources: ReadonlySet<string>
  /** Empty: any. */
  readonly resourceNames: ReadonlySet<string>
  readonly nonResourceURLs: readonly string[]
}

function ownerOf(rule: PolicyRule): Owner {
  return {
    verbs: new Set(rule.verbs),
    apiGroups: new Set(rule.apiGroups),
    resources: new Set(rule.resources),
    resourceNames: new Set(rule.resourceNames),
    nonResourceURLs: rule.nonResourceURLs ?? [],
  }
}

function valuesIn({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): number {
  const lists = [verbs, apiGroups, resources, resourceNames, nonResourceURLs]
  return lists.reduce((sum, list) => sum + (list?.length ?? 0), 1)
}

function* partsOf(rule: PolicyRule): Generator<PolicyRule, void> {
  const { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule
  const names = resourceNames.length === 0 ? [[]] : resourceNames.map((name) => [name])
  for (const verb of verbs) {
    for (const url of nonResourceURLs) yield { verbs: [verb], nonResourceURLs: [url] }
    for (const group of apiGroups) {
      for (const resource of resources) {
        for (const name of names) {
          yield { verbs: [verb], apiGroups: [group], resources: [resource], resourceNames: name }
        }
      }
    }
  }
}

function covers(owner: Owner, part: PolicyRule): boolean {
  const { apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = part
  if (!hasAll(owner.verbs, part.verbs) || !hasAll(owner.apiGroups, apiGroups)) return false
  if (!resources.every((resource) => coversResource(owner.resources, resource))) return false
  if (!nonResourceURLs.every((url) => matchesPath(owner.nonResourceURLs, url))) return false
  if (owner.resourceNames.size === 0) return true
  // No names in the part means all names, and the owner has only some.
  return resourceNames.length > 0 && resourceNames.every((name) => owner.resourceNames.has(name))
}

function hasAll(owned: ReadonlySet<string>, wanted: readonly string[]): boolean {
  return owned.has('*') || wanted.every((one) => owned.has(one))
}

function coversResource(owned: ReadonlySet<string>, wanted: string): boolean {
  if (owned.has('*') || owned.has(wanted)) return true
  const slash = wanted.indexOf('/')
  return slash !== -1 && owned.has(`*/${wanted.slice(slash + 1)}`)
}
