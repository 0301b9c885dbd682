import type { PolicyRule } from './rules.ts'

/** The rules that a user lacks, or that there are too many to compare. */
export type Coverage =
  | { readonly kind: 'covered' }
  | { readonly kind: 'lacking'; readonly rules: readonly PolicyRule[] }
  | { readonly kind: 'too-much' }

/**
 * Compares rules with those of a user, so that users cannot grant more than they have. A rule
 * is covered by one rule of the user, or part by part: one verb of one resource of one group of one
 * name each.
 *
 * @param stepsMax comparisons of a rule with a part, after which the answer is `too-much`
 * @source component-helpers `auth/rbac/validation/policy_comparator.go`
 */
export function coverageOf(
  owned: readonly PolicyRule[],
  wanted: readonly PolicyRule[],
  stepsMax: number,
): Coverage {
  let steps = 0
  const isOwned = (part: PolicyRule): boolean => {
    steps += owned.length + 1
    return owned.some((rule) => covers(rule, part))
  }
  const lacking: PolicyRule[] = []
  for (const rule of wanted) {
    if (isOwned(rule)) continue
    for (const part of partsOf(rule)) {
      if (steps > stepsMax) return { kind: 'too-much' }
      if (!isOwned(part)) lacking.push(part)
    }
  }
  return lacking.length === 0 ? { kind: 'covered' } : { kind: 'lacking', rules: lacking }
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

function covers(owned: PolicyRule, part: PolicyRule): boolean {
  if (!hasAll(owned.verbs, part.verbs)) return false
  const { apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = part
  if (!nonResourceURLs.every((url) => coversUrl(owned.nonResourceURLs ?? [], url))) return false
  if (!hasAll(owned.apiGroups ?? [], apiGroups)) return false
  if (!resources.every((resource) => coversResource(owned.resources ?? [], resource))) return false
  const names = owned.resourceNames ?? []
  if (names.length === 0) return true
  // No names in the part means all names, and the owner has only some.
  return resourceNames.length > 0 && resourceNames.every((name) => names.includes(name))
}

function hasAll(owned: readonly string[], wanted: readonly string[]): boolean {
  return owned.includes('*') || wanted.every((one) => owned.includes(one))
}

function coversResource(owned: readonly string[], wanted: string): boolean {
  if (owned.includes('*') || owned.includes(wanted)) return true
  const slash = wanted.indexOf('/')
  return slash !== -1 && owned.includes(`*/${wanted.slice(slash + 1)}`)
}

function coversUrl(owned: readonly string[], wanted: string): boolean {
  for (const pattern of owned) {
    if (pattern === '*' || pattern === wanted) return true
    if (!pattern.endsWith('*')) continue
    const isPrefix = wanted.startsWith(pattern.slice(0, -1))
    if (isPrefix) return true
  }
  return false
}
