import type { IncomingMessage } from 'node:http'
import { connectionOf, sourceIpsOf } from '../http/peer.ts'
import type { RawRequest } from '../http/raw-http.ts'
import type { ReplyHeaders } from '../responses/wire.ts'

/** The headers of an upgrade that are passed on to node agents, except the subprotocols. */
const UPGRADE_HEADERS: ReadonlySet<string> = new Set([
  ...['upgrade', 'x-stream-protocol-version', 'user-agent'],
  ...['sec-websocket-key', 'sec-websocket-version', 'sec-websocket-extensions'],
])

/**
 * Returns the headers for a backend that is to change the protocol, without credentials.
 *
 * @param domain of the subprotocol that carries a bearer token
 */
export function upgradeHeaders(raw: RawRequest, domain: string): readonly string[] {
  const headers = ['connection', 'Upgrade', 'content-length', '0']
  for (const [name, value] of headersOf(raw)) {
    if (UPGRADE_HEADERS.has(name)) headers.push(name, value)
  }
  return [...headers, ...subprotocols(raw, domain)]
}

/**
 * Returns the header with the offered subprotocols, without the one that is the bearer token of the
 * caller.
 */
export function subprotocols(raw: RawRequest, domain: string): readonly string[] {
  const offered = String(raw.headers['sec-websocket-protocol'] ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && !name.startsWith(`base64url.bearer.authorization.${domain}.`))
  return offered.length === 0 ? [] : ['sec-websocket-protocol', offered.join(', ')]
}

/**
 * Yields the names, in lower case, and the values of all headers as sent, without pseudo headers.
 */
export function* headersOf(raw: RawRequest): Generator<readonly [string, string]> {
  const { rawHeaders } = raw
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? '').toLowerCase()
    if (!name.startsWith(':')) yield [name, rawHeaders[at + 1] ?? '']
  }
}

/** The methods that a proxy passes on. */
export const PROXIED_METHODS: readonly string[] = [
  ...['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
]

/** Headers about one connection. @source RFC 9110 section 7.6.1 */
const HOP_BY_HOP: readonly string[] = [
  ...['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
  ...['proxy-authenticate', 'proxy-authorization', 'http2-settings'],
]

/** Headers that are for this server, that it sets itself, or that are credentials. */
const NOT_PASSED_ON: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  ...['host', 'content-length', 'expect', 'authorization', 'cookie', 'audit-id', 'sec-websocket-protocol'],
  ...[
    'x-forwarded-for',
    'x-forwarded-host',
    'x-forwarded-proto',
    'x-forwarded-uri',
    'x-real-ip',
    'forwarded',
  ],
])

export type ProxiedHeaders = {
  /** The domain of the subprotocol that carries a bearer token. */
  readonly domain: string
  /** Prefixes, in lower case, of the headers in which an authenticating proxy names users. */
  readonly userHeaders: readonly string[]
  readonly isUpgrade: boolean
}

/** Returns the headers for the target of a proxy, without credentials of the caller. */
export function proxiedHeaders(
  raw: RawRequest,
  { domain, userHeaders, isUpgrade }: ProxiedHeaders,
): readonly string[] {
  const named = tokensOf(raw.headers.connection)
  const headers: string[] = []
  for (const [name, value] of headersOf(raw)) {
    if (NOT_PASSED_ON.has(name) || named.includes(name) || name.startsWith('impersonate-')) continue
    if (userHeaders.some((beginning) => name.startsWith(beginning))) continue
    headers.push(name, value)
  }
  const address = sourceIpsOf(raw).at(-1)
  const host = raw.headers.host ?? raw.headers[':authority']
  const [path = '/'] = (raw.url ?? '/').split('?', 1)
  if (address !== undefined) headers.push('x-forwarded-for', address)
  if (typeof host === 'string') headers.push('x-forwarded-host', host)
  headers.push('x-forwarded-uri', path, 'x-forwarded-proto', connectionOf(raw) === null ? 'http' : 'https')
  if (!isUpgrade) return headers
  const upgrade = String(raw.headers.upgrade ?? '')
  return [...headers, 'connection', 'Upgrade', 'upgrade', upgrade, ...subprotocols(raw, domain)]
}

/**
 * Headers of a response that are not returned. The client would apply the headers about origins and
 * cookies to this server instead of the target. A cookie would not reach the target again, because
 * cookies are not passed on. `Audit-Id` is this server's own.
 */
const NOT_RETURNED: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  ...['set-cookie', 'strict-transport-security', 'alt-svc', 'clear-site-data', 'audit-id'],
])

/** Returns the headers of a response for the caller. */
export function returnedHeaders(response: IncomingMessage): ReplyHeaders {
  const named = tokensOf(response.headers.connection)
  const headers: ReplyHeaders = {}
  for (const [name, value] of Object.entries(response.headers)) {
    if (value === undefined || NOT_RETURNED.has(name) || named.includes(name)) continue
    if (!name.startsWith('access-control-')) headers[name] = value
  }
  return headers
}

function tokensOf(header: string | undefined): readonly string[] {
  return (header ?? '').split(',').map((token) => token.trim().toLowerCase())
}
