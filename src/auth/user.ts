import type { UserInfo } from '../api/metadata/object.ts'

/** Users and groups with a special meaning. Their names do not depend on the cluster's domain. */
export const ANONYMOUS_USER = 'system:anonymous'
export const GROUP_AUTHENTICATED = 'system:authenticated'
export const GROUP_UNAUTHENTICATED = 'system:unauthenticated'
export const GROUP_MASTERS = 'system:masters'
export const GROUP_SERVICE_ACCOUNTS = 'system:serviceaccounts'
/** All holders of bootstrap tokens. */
export const GROUP_BOOTSTRAPPERS = 'system:bootstrappers'
/** All nodes. */
export const GROUP_NODES = 'system:nodes'
export const GROUP_MONITORING = 'system:monitoring'
/** The holder of a join token. `extra` has the ID of the token. */
export const GROUP_JOINING = 'system:joining'
export const JOIN_TOKEN_EXTRA = 'join-token'

/** Returns an authenticated user: every user but the anonymous one is in a common group. */
export function authenticatedUser(of: {
  readonly name: string
  readonly uid?: string
  readonly groups: readonly string[]
  readonly extra?: UserInfo['extra']
}): UserInfo {
  const groups = of.groups.includes(GROUP_AUTHENTICATED) ? of.groups : [...of.groups, GROUP_AUTHENTICATED]
  return Object.freeze({
    name: of.name,
    uid: of.uid ?? '',
    groups: Object.freeze([...groups]),
    extra: Object.freeze({ ...of.extra }),
  })
}

const NODE_PREFIX = 'system:node:'

/** Returns the name of the node whose agent has this user; null: another user. */
export function nodeOf({ name, groups }: Pick<UserInfo, 'name' | 'groups'>): string | null {
  if (!groups.includes(GROUP_NODES) || !name.startsWith(NODE_PREFIX)) return null
  return name.length === NODE_PREFIX.length ? null : name.slice(NODE_PREFIX.length)
}

const ACCOUNT_PREFIX = 'system:serviceaccount:'

/** Returns the service account that a user name belongs to, or null. */
export function serviceAccountOf(user: string): { readonly namespace: string; readonly name: string } | null {
  if (!user.startsWith(ACCOUNT_PREFIX)) return null
  const [namespace = '', name = '', rest] = user.slice(ACCOUNT_PREFIX.length).split(':')
  return namespace === '' || name === '' || rest !== undefined ? null : { namespace, name }
}

/** Returns the user name of a service account. */
export function serviceAccountName(namespace: string, name: string): string {
  return `${ACCOUNT_PREFIX}${namespace}:${name}`
}

/** Returns the groups of the service accounts of a namespace. */
export function serviceAccountGroups(namespace: string): readonly string[] {
  return [GROUP_SERVICE_ACCOUNTS, `${GROUP_SERVICE_ACCOUNTS}:${namespace}`]
}
