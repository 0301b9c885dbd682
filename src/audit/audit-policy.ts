import type { Action, ResourceAction } from '../api/action.ts'
import type { UserInfo } from '../api/metadata/object.ts'

/** How much of a request is recorded, from nothing to everything. */
export const AUDIT_LEVELS = ['None', 'Metadata', 'Request', 'RequestResponse'] as const
export type AuditLevel = (typeof AUDIT_LEVELS)[number]

/**
 * The stages of a request that are recorded. `ResponseStarted` is for watches, for connections to
 * other servers, and for requests that fail authentication; `Panic` replaces `ResponseComplete` if
 * the server fails.
 */
export const AUDIT_STAGES = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic'] as const
export type AuditStage = (typeof AUDIT_STAGES)[number]

/** The first matching rule decides; without one, nothing is recorded. */
export type AuditPolicy = { readonly rules: readonly AuditRule[] }

/** An empty set or list matches anything. */
export type AuditRule = {
  readonly level: AuditLevel
  readonly users: ReadonlySet<string>
  readonly userGroups: ReadonlySet<string>
  readonly verbs: ReadonlySet<string>
  /**
   * A rule with resources or namespaces matches only resource requests; a rule with paths only
   * other requests.
   */
  readonly resources: readonly AuditedResources[]
  /** The empty text matches requests outside of namespaces. */
  readonly namespaces: ReadonlySet<string>
  readonly nonResourceURLs: readonly string[]
  /** Those of the rule and those of the policy. */
  readonly omitStages: ReadonlySet<AuditStage>
  readonly omitManagedFields: boolean
}

export type AuditedResources = {
  /** Empty: the core group. */
  readonly group: string
  /** `pods`, `pods/log`, `pods/*`, `*`; a star before `/status`. Empty: all of the group. */
  readonly resources: readonly string[]
  /** Empty: any. */
  readonly resourceNames: ReadonlySet<string>
}

export type AuditDecision = Pick<AuditRule, 'level' | 'omitStages' | 'omitManagedFields'>

const nothing: AuditDecision = Object.freeze({
  level: 'None',
  omitStages: new Set<AuditStage>(),
  omitManagedFields: false,
})

/**
 * Returns how much of a request is recorded.
 *
 * @param user null: not authenticated; rules with users or groups do not match
 * @source apiserver `pkg/audit/policy/checker.go`
 */
export function auditDecision(policy: AuditPolicy, user: UserInfo | null, action: Action): AuditDecision {
  for (const rule of policy.rules) {
    if (matchesUser(rule, user) && isAmong(rule.verbs, action.verb) && matchesAction(rule, action))
      return rule
  }
  return nothing
}

/** Returns whether `level` records all that `other` records. */
export function isAtLeast(level: AuditLevel, other: AuditLevel): boolean {
  return AUDIT_LEVELS.indexOf(level) >= AUDIT_LEVELS.indexOf(other)
}

function matchesUser({ users, userGroups }: AuditRule, user: UserInfo | null): boolean {
  if (user === null) return users.size === 0 && userGroups.size === 0
  if (!isAmong(users, user.name)) return false
  return userGroups.size === 0 || user.groups.some((group) => userGroups.has(group))
}

function matchesAction(rule: AuditRule, action: Action): boolean {
  if (rule.namespaces.size > 0 || rule.resources.length > 0) {
    if (action.kind === 'path' || !isAmong(rule.namespaces, action.namespace)) return false
    return rule.resources.length === 0 || rule.resources.some((one) => coversResource(one, action))
  }
  if (rule.nonResourceURLs.length === 0) return true
  return action.kind === 'path' && rule.nonResourceURLs.some((pattern) => coversPath(pattern, action.path))
}

function coversResource(
  { group, resources, resourceNames }: AuditedResources,
  action: ResourceAction,
): boolean {
  if (group !== action.group) return false
  if (resources.length === 0) return true
  if (!isAmong(resourceNames, action.name)) return false
  const { resource, subresource } = action
  const whole = subresource === '' ? resource : `${resource}/${subresource}`
  return resources.some((pattern) => {
    if (pattern === '*' || pattern === whole) return true
    if (pattern === `${resource}/*`) return true
    return subresource !== '' && pattern === `*/${subresource}`
  })
}

function coversPath(pattern: string, path: string): boolean {
  return pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : path === pattern
}

function isAmong(set: ReadonlySet<string>, text: string): boolean {
  return set.size === 0 || set.has(text)
}
