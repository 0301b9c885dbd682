import type { Action } from '../api/action.ts'
import type { UserInfo } from '../api/metadata/object.ts'
import { allowed, noOpinion } from './decision.ts'
import type { Authorizer, Decision } from './decision.ts'
import { limits } from '../config/limits.ts'
import { RuleIndex } from './rule-index.ts'
import { allRules } from './rules.ts'
import type { Grant, PolicyRule, RuleSource } from './rules.ts'

/**
 * Roles and bindings: what a rule allows is allowed; there is no opinion on anything else.
 *
 * The roles of a user are cached per user object, as long as that object and the version of the
 * rules live; authentication returns the same object repeatedly. The index of a role's rules is
 * cached per role, not per user. Otherwise each change of any role would rebuild the indexes of all
 * users, so that a user that may write roles could slow down the requests of all others.
 *
 * @source spec 5.7; apiserver plugin `auth/authorizer/rbac`
 */
export function rbac(source: RuleSource): Authorizer {
  const kept = new WeakMap<UserInfo, UserGrants>()
  const indexes = new WeakMap<readonly PolicyRule[], RuleIndex>()

  const grantsOf = (user: UserInfo): UserGrants => {
    const known = kept.get(user)
    if (known?.version === source.version) return known
    const cluster = source.clusterGrants(user)
    const grants: UserGrants = { version: source.version, cluster, namespaces: new Map() }
    kept.set(user, grants)
    return grants
  }

  const inNamespace = (user: UserInfo, namespace: string, { namespaces }: UserGrants): readonly Grant[] => {
    const known = namespaces.get(namespace)
    if (known !== undefined) return known
    const grants = source.namespaceGrants(user, namespace)
    if (namespaces.size >= limits.namespacesPerUserMax) namespaces.clear()
    namespaces.set(namespace, grants)
    return grants
  }

  const indexOf = (rules: readonly PolicyRule[]): RuleIndex => {
    const known = indexes.get(rules)
    if (known !== undefined) return known
    const index = new RuleIndex(rules)
    indexes.set(rules, index)
    return index
  }

  const grantFor = (grants: readonly Grant[], action: Action): Grant | null => {
    for (const grant of grants) if (indexOf(grant.rules).allows(action)) return grant
    return null
  }

  return {
    name: 'RBAC',
    authorize: (user, action) => {
      const grants = grantsOf(user)
      const found = grantFor(grants.cluster, action)
      if (found !== null) return allowedBy(found)
      if (action.kind === 'path' || action.namespace === '') return noOpinion
      const local = grantFor(inNamespace(user, action.namespace, grants), action)
      return local === null ? noOpinion : allowedBy(local)
    },
    rulesOf: (user, namespace) => ({ rules: allRules(source, user, namespace), unlisted: [] }),
  }
}

type UserGrants = {
  readonly version: number
  readonly cluster: readonly Grant[]
  readonly namespaces: Map<string, readonly Grant[]>
}

function allowedBy({ grantedBy }: Grant): Decision {
  return grantedBy === undefined ? allowed : { kind: 'allow', reason: grantedBy }
}
