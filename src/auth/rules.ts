import type { UserInfo } from '../api/metadata/object.ts'
import type { Action, PathAction, ResourceAction } from '../api/action.ts'
import type { PolicyRule } from '../registry/kinds/policy-rules.ts'

export type { PolicyRule } from '../registry/kinds/policy-rules.ts'

/** The rules of a role that a user has. */
export type Grant = {
  /** The same list as long as the role is the same, so that others can cache by it. */
  readonly rules: readonly PolicyRule[]
  /** Why the user has them, for the audit log; unset: not recorded. */
  readonly grantedBy?: string
}

export type Subject =
  | { readonly kind: 'User'; readonly name: string }
  | { readonly kind: 'Group'; readonly name: string }
  | { readonly kind: 'ServiceAccount'; readonly namespace: string; readonly name: string }

/** A source of rules, such as built-in or stored roles. Must be synchronous. */
export interface RuleSource {
  /** Changes whenever a result may differ from before. */
  readonly version: number
  /** Returns the roles that cluster-wide bindings give this user. */
  clusterGrants(user: UserInfo): readonly Grant[]
  /** Returns the roles that bindings of one namespace add. */
  namespaceGrants(user: UserInfo, namespace: string): readonly Grant[]
}

/** Returns all rules of a user in a namespace and outside of namespaces. */
export function allRules(source: RuleSource, user: UserInfo, namespace: string): readonly PolicyRule[] {
  const grants = [...source.clusterGrants(user), ...source.namespaceGrants(user, namespace)]
  return grants.flatMap(({ rules }) => rules)
}

/** Joins sources: a user has the rules of all. */
export function anyOf(sources: readonly RuleSource[]): RuleSource {
  return {
    get version() {
      return sources.reduce((sum, { version }) => sum + version, 0)
    },
    clusterGrants: (user) => sources.flatMap((source) => source.clusterGrants(user)),
    namespaceGrants: (user, namespace) =>
      sources.flatMap((source) => source.namespaceGrants(user, namespace)),
  }
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
  return subjectNamesOf(user).includes(subjectName(subject))
}

/** Returns one text per subject; a service account is the user that its tokens authenticate. */
export function subjectName(subject: Subject): string {
  switch (subject.kind) {
    case 'User':
      return `user ${subject.name}`
    case 'Group':
      return `group ${subject.name}`
    case 'ServiceAccount':
      return `user system:serviceaccount:${subject.namespace}:${subject.name}`
  }
}

/** Returns the names of all subjects that match a user. */
export function subjectNamesOf(user: UserInfo): readonly string[] {
  return [`user ${user.name}`, ...user.groups.map((group) => `group ${group}`)]
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
  return matchesPath(rule.nonResourceURLs ?? [], action.path)
}

/**
 * Returns whether a path, or a pattern that is to be granted, equals one of the patterns, or has
 * the prefix of one that ends in `*`.
 */
export function matchesPath(patterns: readonly string[], path: string): boolean {
  for (const pattern of patterns) {
    if (pattern === path) return true
    if (pattern.endsWith('*') && path.startsWith(pattern.slice(0, -1))) return true
  }
  return false
}

function has(list: readonly string[], wanted: string): boolean {
  return list.includes('*') || list.includes(wanted)
}
