import type { UserInfo } from '../api/metadata/object.ts'
import { limits } from '../config/limits.ts'
import { coverageOf } from './rule-coverage.ts'
import type { Coverage } from './rule-coverage.ts'
import { allRules } from './rules.ts'
import type { PolicyRule, RuleSource } from './rules.ts'
import { GROUP_MASTERS } from './user.ts'
import type { GrantCheck } from '../registry/kinds/access-reviewer.ts'

/**
 * Decides whether a user may grant rules: users may not grant permissions that they do not have.
 *
 * @source upstream `pkg/registry/rbac/validation`: ConfirmNoEscalation
 */
export function grantCheck(source: RuleSource): GrantCheck {
  return {
    lacking: (user, namespace, rules) => {
      if (user.groups.includes(GROUP_MASTERS)) return null
      const owned = allRules(source, user, namespace)
      const coverage = coverageOf(owned, rules, limits.ruleComparisonStepsMax)
      switch (coverage.kind) {
        case 'covered':
          return null
        case 'lacking':
          return `${introduction(user)} not currently held:\n${listed(coverage)}`
        case 'too-much':
          return `${introduction(user)} that are too many to compare with those held: split the role`
      }
    },
  }
}

function introduction({ name, groups }: UserInfo): string {
  return `user ${JSON.stringify(name)} (groups=${list(groups)}) is attempting to grant RBAC permissions`
}

/** Joins the verbs of rules that are the same otherwise, and returns a line for each. */
function listed({ rules, isWhole }: Extract<Coverage, { readonly kind: 'lacking' }>): string {
  const verbs = new Map<string, Set<string>>()
  for (const rule of rules) {
    const what = described(rule)
    const known = verbs.get(what) ?? new Set()
    verbs.set(what, known)
    for (const verb of rule.verbs) known.add(verb)
  }
  const lines = [...verbs].map(([what, of]) => `{${what}, Verbs:${list([...of])}}`).sort()
  const more = lines.length - limits.missingRulesListedMax
  const rest = isWhole ? `and ${more} more` : 'and more'
  return [...lines.slice(0, limits.missingRulesListedMax), ...(more > 0 || !isWhole ? [rest] : [])].join('\n')
}

/** @source upstream `pkg/apis/rbac/v1/evaluation_helpers.go`: CompactString */
function described({ apiGroups, resources, nonResourceURLs, resourceNames }: PolicyRule): string {
  const parts = { APIGroups: apiGroups, Resources: resources, NonResourceURLs: nonResourceURLs }
  return Object.entries({ ...parts, ResourceNames: resourceNames })
    .flatMap(([name, values]) =>
      values === undefined || values.length === 0 ? [] : [`${name}:${list(values)}`],
    )
    .join(', ')
}

function list(values: readonly string[]): string {
  return `[${values.map((value) => JSON.stringify(value)).join(' ')}]`
}
