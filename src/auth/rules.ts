import type { UserInfo } from '../api/metadata/object.ts'
import type { Action, PathAction, ResourceAction } from '../api/action.ts'

/**
 * One permission of a role. All lists must match; an empty list matches nothing, except for names.
 */
export type PolicyRule = {
  readonly verbs: readonly string[]
  readonly apiGroups?: readonly string[]
  /** `pods`, `pods/log`, `*` for all with subresources, or an asterisk, a slash, a subresource. */
  readonly resources?: readonly string[]
  /** Empty: any. Otherwise requests without a name do not match. */
  readonly resourceNames?: readonly string[]
  /** Paths that are not resources; a final `*` matches any rest. */
  readonly nonResourceURLs?: readonly string[]
}

export type Subject =
  | { readonly kind: 'User'; readonly name: string }
  | { readonly kind: 'Group'; readonly name: string }
  | { readonly kind: 'ServiceAccount'; readonly namespace: string; readonly name: string }

/** A source of rules, such as built-in or stored roles. Must be synchronous. */
export interface RuleSource {
  /** Changes whenever a result may differ from before. */
  readonly version: number
  /** Returns the rules that cluster-wide bindings give this user. */
  clusterRules(user: UserInfo): readonly PolicyRule[]
  /** Returns the rules that bindings of one namespace add. */
  namespaceRules(user: UserInfo, namespace: string): readonly PolicyRule[]
}

/**
 * @source apiserver plugin `auth/authorizer/rbac` RuleAllows; API helpers
 * `rbac/v1/evaluation_helpers.go`
 */
export function ruleAllows(rule: PolicyRule, action: Action): boolean {
  if (!has(rule.verbs, action.verb)) return false
  return action.kind === 'path' ? coversPath(rule, action) : coversResource(rule, action)
}

export function subjectIs(subject: Subject, user: UserInfo): boolean {
  switch (subject.kind) {
    case 'User':
      return user.name === subject.name
    case 'Group':
      return user.groups.includes(subject.name)
    case 'ServiceAccount':
      return user.name === `system:serviceaccount:${subject.namespace}:${subject.name}`
  }
}

function coversResource(rule: PolicyRule, action: ResourceAction): boolean {
  const { apiGroups, resources, resourceNames } = rule
  if (apiGroups === undefined || !has(apiGroups, action.group)) return false
  if (resources === undefined || !coversKind(resources, action)) return false
  return resourceNames === undefined || resourceNames.length === 0 || resourceNames.includes(action.name)
}

function coversKind(resources: readonly string[], action: ResourceAction): boolean {
  if (action.subresource === '') return has(resources, action.resource)
  for (const resource of resources) {
    if (resource === '*') return true
    if (resource === `${action.resource}/${action.subresource}`) return true
    if (resource === `*/${action.subresource}`) return true
  }
  return false
}

function coversPath(rule: PolicyRule, action: PathAction): boolean {
  for (const pattern of rule.nonResourceURLs ?? []) {
    if (pattern === '*' || pattern === action.path) return true
    if (pattern.endsWith('*') && action.path.startsWith(pattern.slice(0, -1))) return true
  }
  return false
}

function has(list: readonly string[], wanted: string): boolean {
  return list.includes('*') || list.includes(wanted)
}
