import type { Clock } from '../../base/clock.ts'
import type { UserInfo } from '../api/metadata/object.ts'
import { limits } from '../config/limits.ts'
import { ConnectionVerdicts } from './connection-verdicts.ts'
import { notRecognized } from './credentials.ts'
import type { AuthenticationMethod, Recognition } from './credentials.ts'
import { ExpiringCache } from './expiring-cache.ts'
import { headerText } from './header-text.ts'
import type { TrustStore } from './trust-store.ts'
import { authenticatedUser } from './user.ts'

/** Options of `frontProxy`. Header names may be in any case. */
export type FrontProxyOptions = {
  /** Common names of the certificates of proxies; empty: any. */
  readonly allowedNames: readonly string[]
  /** The first header with a value has the name of the user. */
  readonly userHeaders: readonly string[]
  /** All values are groups. */
  readonly groupHeaders: readonly string[]
  /** The rest of the name of such a header is a key of `extra`, in percent-encoding. */
  readonly extraPrefixes: readonly string[]
}

/**
 * Authenticates by the headers of a trusted proxy. The proxy has to present a certificate of an
 * authority of its own, which is not trusted for clients. Each request may name another user: only
 * the verdict on the certificate is kept per connection.
 *
 * @source spec 5.3; apiserver `pkg/authentication/request/headerrequest`
 */
export function frontProxy(
  options: FrontProxyOptions,
  { clock, trust }: { readonly clock: Clock; readonly trust: TrustStore },
): AuthenticationMethod {
  const names = lowerCase(options)
  const verdicts = new ConnectionVerdicts(clock, trust, 'front-proxy')
  // The same user is the same object, so that its permissions are looked up once.
  const users = new ExpiringCache<UserInfo>(limits.frontProxyUsersMax, clock)
  return {
    name: 'front-proxy',
    recognize: (credentials) => {
      const identity = identityIn(credentials.rawHeaders ?? [], names)
      if (identity === null) return notRecognized
      const verdict = verdicts.of(credentials)
      if (verdict.kind === 'none') return notRecognized
      if (verdict.kind === 'refused') {
        return { kind: 'rejected', reason: `the certificate of the proxy is not trusted: ${verdict.reason}` }
      }
      const { commonName } = verdict.leaf.subject
      if (names.allowedNames.length > 0 && !names.allowedNames.includes(commonName)) {
        return { kind: 'rejected', reason: 'the common name of the proxy is not among the allowed ones' }
      }
      if (identity === 'not UTF-8') return notUtf8
      const key = JSON.stringify(identity)
      const user = users.get(key) ?? authenticatedUser(identity)
      users.set(key, user, limits.frontProxyUserMs)
      return { kind: 'user', user }
    },
  }
}

const notUtf8: Recognition = Object.freeze({
  kind: 'rejected',
  reason: 'a header of the proxy that is part of the identity is not UTF-8',
})

function lowerCase({ allowedNames, userHeaders, groupHeaders, extraPrefixes }: FrontProxyOptions) {
  const lower = (names: readonly string[]): readonly string[] => names.map((name) => name.toLowerCase())
  return {
    allowedNames,
    userHeaders: lower(userHeaders),
    groupHeaders: lower(groupHeaders),
    extraPrefixes: lower(extraPrefixes),
  }
}

type Identity = {
  readonly name: string
  readonly groups: readonly string[]
  readonly extra: UserInfo['extra']
}

/** @returns null: no header names a user */
function identityIn(
  rawHeaders: readonly string[],
  options: FrontProxyOptions,
): Identity | 'not UTF-8' | null {
  const { userHeaders, groupHeaders, extraPrefixes } = options
  const users = new Map<string, string>()
  const groups: string[] = []
  const extra = new Map<string, string[]>()
  let isUtf8 = true
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const header = (rawHeaders[at] as string).toLowerCase()
    const [isUser, isGroup] = [userHeaders.includes(header), groupHeaders.includes(header)]
    const prefixes = extraPrefixes.filter((prefix) => header.startsWith(prefix))
    if (!isUser && !isGroup && prefixes.length === 0) continue
    const value = headerText(rawHeaders[at + 1] as string)
    if (value === null) {
      isUtf8 = false
      continue
    }
    if (value !== '' && isUser && !users.has(header)) users.set(header, value)
    if (value !== '' && isGroup) groups.push(value)
    for (const prefix of prefixes) append(extra, decoded(header.slice(prefix.length)), value)
  }
  const chosen = userHeaders.find((header) => users.has(header))
  const name = chosen === undefined ? undefined : users.get(chosen)
  if (!isUtf8) return 'not UTF-8'
  return name === undefined ? null : { name, groups, extra: Object.fromEntries(extra) }
}

function append(lists: Map<string, string[]>, key: string, value: string): void {
  const known = lists.get(key)
  if (known === undefined) lists.set(key, [value])
  else known.push(value)
}

/** Decodes a key. One that is not percent-encoded UTF-8 stays as it is, as upstream. */
function decoded(key: string): string {
  try {
    return decodeURIComponent(key)
  } catch {
    return key
  }
}
