import type { UserInfo } from '../api/metadata/object.ts'

/** Users and groups with a meaning of their own. Their names do not depend on the cluster's domain. */
export const ANONYMOUS_USER = 'system:anonymous'
export const GROUP_AUTHENTICATED = 'system:authenticated'
export const GROUP_UNAUTHENTICATED = 'system:unauthenticated'
export const GROUP_MASTERS = 'system:masters'
export const GROUP_MONITORING = 'system:monitoring'
/** A process that shows a token with which it may become a member; which one is in its `extra`. */
export const GROUP_JOINING = 'system:joining'
export const JOIN_TOKEN_EXTRA = 'join-token'

/** Who asks, once some method vouched for the name: everyone who is not anonymous is in one common group. */
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
