import type { UserInfo } from '../api/metadata/object.ts'
import type { Action } from '../api/action.ts'
import { allowed, noOpinion } from './decision.ts'
import type { Authorizer } from './decision.ts'
import { ruleAllows } from './rules.ts'
import type { PolicyRule, RuleSource } from './rules.ts'

/**
 * Roles and bindings: what a rule allows is allowed; there is no opinion on anything else.
 *
 * The cluster-wide rules of a user are cached per user object, as long as that object and the
 * version of the rules live; authentication returns the same object repeatedly.
 *
 * @source spec 5.7; apiserver plugin `auth/authorizer/rbac`
 */
export function rbac(source: RuleSource): Authorizer {
  const kept = new WeakMap<UserInfo, { readonly version: number; readonly rules: readonly PolicyRule[] }>()

  const clusterRules = (user: UserInfo): readonly PolicyRule[] => {
    const known = kept.get(user)
    if (known !== undefined && known.version === source.version) return known.rules
    const { version } = source
    const rules = source.clusterRules(user)
    kept.set(user, { version, rules })
    return rules
  }

  return {
    name: 'RBAC',
    authorize: (user, action) => {
      if (someAllows(clusterRules(user), action)) return allowed
      if (action.kind === 'resource' && action.namespace !== '') {
        if (someAllows(source.namespaceRules(user, action.namespace), action)) return allowed
      }
      return noOpinion
    },
    rulesOf: (user, namespace) => ({
      rules: [...clusterRules(user), ...source.namespaceRules(user, namespace)],
      untold: [],
    }),
  }
}

function someAllows(rules: readonly PolicyRule[], action: Action): boolean {
  for (const rule of rules) if (ruleAllows(rule, action)) return true
  return false
}
