import type { ResourceAction } from '../api/action.ts'
import { badRequest } from '../api/errors/standard-errors.ts'
import type { Names } from '../api/metadata/names.ts'
import type { UserInfo } from '../api/metadata/object.ts'
import { limits } from '../config/limits.ts'
import { headerText } from './header-text.ts'
import {
  ANONYMOUS_USER,
  GROUP_AUTHENTICATED,
  GROUP_UNAUTHENTICATED,
  serviceAccountGroups,
  serviceAccountOf,
} from './user.ts'

export type Impersonation = {
  /** The user that the request is made for. */
  readonly user: UserInfo
  /** The caller needs all of these permissions: one for each name that it impersonates. */
  readonly permissions: readonly ResourceAction[]
}

/**
 * Reads the `Impersonate` headers of a request.
 *
 * @param rawHeaders names and values in turn, as sent: a group may be repeated
 * @returns null: there are none
 * @throws ApiError `BadRequest` when they do not name a user, are too many, or one of them is
 * unknown, repeated without being a list, or not UTF-8
 * @source spec 5.4; apiserver `pkg/endpoints/filters/impersonation.go`
 */
export function impersonationOf(rawHeaders: readonly string[], names: Names): Impersonation | null {
  const requested = readHeaders(rawHeaders)
  if (requested === null) return null
  const { user, uid, groups, extra } = requested
  if (user === '') throw badRequest('Impersonate headers need Impersonate-User: add it, or omit the others')
  const account = serviceAccountOf(user)
  const permission = permissionIn(names)
  const permissions = [
    account === null
      ? permission('', 'users', user)
      : { ...permission('', 'serviceaccounts', account.name), namespace: account.namespace },
    ...groups.map((group) => permission('', 'groups', group)),
    ...[...extra].flatMap(([key, values]) =>
      values.map((value) => ({ ...permission('authentication', 'userextras', value), subresource: key })),
    ),
    ...(uid === '' ? [] : [permission('authentication', 'uids', uid)]),
  ]
  if (permissions.length > limits.impersonatedNamesMax) {
    throw badRequest(
      `the Impersonate headers name ${permissions.length} users, groups and extras, more than ${limits.impersonatedNamesMax}`,
    )
  }
  const own = groups.length > 0 || account === null ? groups : serviceAccountGroups(account.namespace)
  return {
    user: Object.freeze({
      name: user,
      uid,
      groups: Object.freeze(withCommonGroup(user, own)),
      extra: Object.freeze(Object.fromEntries(extra)),
    }),
    permissions,
  }
}

type RequestedIdentity = {
  readonly user: string
  readonly uid: string
  readonly groups: readonly string[]
  readonly extra: ReadonlyMap<string, readonly string[]>
}

function readHeaders(rawHeaders: readonly string[]): RequestedIdentity | null {
  let found = false
  let user = ''
  let uid = ''
  const groups: string[] = []
  const extra = new Map<string, string[]>()
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] as string).toLowerCase()
    if (!name.startsWith('impersonate-')) continue
    found = true
    const value = headerText(rawHeaders[at + 1] as string)
    if (value === null) throw badRequest(`${name} is not UTF-8`)
    if (name === 'impersonate-user') user = once(name, user, value)
    else if (name === 'impersonate-uid') uid = once(name, uid, value)
    else if (name === 'impersonate-group') groups.push(value)
    else if (name.startsWith(EXTRA) && name.length > EXTRA.length) {
      const key = decoded(name.slice(EXTRA.length))
      const values = extra.get(key)
      if (values === undefined) extra.set(key, [value])
      else values.push(value)
    } else throw badRequest(`${name} is not a header of impersonation: omit it`)
  }
  return found ? { user, uid, groups, extra } : null
}

const EXTRA = 'impersonate-extra-'

/** A second value would be ignored silently: which one the client meant is unknown. */
function once(name: string, known: string, value: string): string {
  if (known !== '') throw badRequest(`${name} is sent more than once`)
  return value
}

/** Decodes a key. One that is not percent-encoded UTF-8 stays as it is, as upstream. */
function decoded(key: string): string {
  try {
    return decodeURIComponent(key)
  } catch {
    return key
  }
}

function permissionIn(names: Names): (stem: string, resource: string, name: string) => ResourceAction {
  return (stem, resource, name) => ({
    kind: 'resource',
    verb: 'impersonate',
    group: stem === '' ? '' : names.group(stem),
    version: 'v1',
    ...{ resource, subresource: '', namespace: '', name },
  })
}

/** Adds the group of all users with, or without, credentials, unless one of them is requested. */
function withCommonGroup(user: string, groups: readonly string[]): readonly string[] {
  const common = [GROUP_AUTHENTICATED, GROUP_UNAUTHENTICATED]
  if (groups.some((group) => common.includes(group))) return groups
  return [...groups, user === ANONYMOUS_USER ? GROUP_UNAUTHENTICATED : GROUP_AUTHENTICATED]
}
