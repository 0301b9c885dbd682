import type { UserInfo } from '../api/metadata/object.ts'
import { allowed, noOpinion } from './decision.ts'
import type { Authorizer, Decision } from './decision.ts'
import { limits } from '../config/limits.ts'
import { RuleIndex } from './rule-index.ts'
import type { GrantedRule, RuleSource } from './rules.ts'

/**
 * Roles and bindings: what a rule allows is allowed; there is no opinion on anything else.
 *
 * The rules of a user are cached per user object, as long as that object and the version of the
 * rules live; authentication returns the same object repeatedly.
 *
 * @source spec 5.7; apiserver plugin `auth/authorizer/rbac`
 */
export function rbac(source: RuleSource): Authorizer {
  const kept = new WeakMap<UserInfo, UserIndexes>()

  const indexesOf = (user: UserInfo): UserIndexes => {
    const known = kept.get(user)
    if (known?.version === source.version) return known
    const cluster = new RuleIndex(source.clusterRules(user))
    const indexes: UserIndexes = { version: source.version, cluster, namespaces: new Map() }
    kept.set(user, indexes)
    return indexes
  }

  const inNamespace = (user: UserInfo, namespace: string, { namespaces }: UserIndexes): RuleIndex => {
    const known = namespaces.get(namespace)
    if (known !== undefined) return known
    const index = new RuleIndex(source.namespaceRules(user, namespace))
    if (namespaces.size >= limits.namespacesPerUserMax) namespaces.clear()
    namespaces.set(namespace, index)
    return index
  }

  return {
    name: 'RBAC',
    authorize: (user, action) => {
      const indexes = indexesOf(user)
      const found = indexes.cluster.find(action)
      if (found !== null) return allowedBy(found)
      if (action.kind === 'path' || action.namespace === '') return noOpinion
      const local = inNamespace(user, action.namespace, indexes).find(action)
      return local === null ? noOpinion : allowedBy(local)
    },
    rulesOf: (user, namespace) => ({
      rules: [...source.clusterRules(user), ...source.namespaceRules(user, namespace)],
      unlisted: [],
    }),
  }
}

type UserIndexes = {
  readonly version: number
  readonly cluster: RuleIndex
  readonly namespaces: Map<string, RuleIndex>
}

function allowedBy({ grantedBy }: GrantedRule): Decision {
  return grantedBy === undefined ? allowed : { kind: 'allow', reason: grantedBy }
}
