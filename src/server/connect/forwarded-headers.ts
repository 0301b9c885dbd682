import type { RawRequest } from '../http/raw-http.ts'

/** The headers of an upgrade that node agents need. No others are passed on to them. */
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

/** The subprotocols without the one that is the bearer token of the caller. */
export function subprotocols(raw: RawRequest, domain: string): readonly string[] {
  const offered = String(raw.headers['sec-websocket-protocol'] ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && !name.startsWith(`base64url.bearer.authorization.${domain}.`))
  return offered.length === 0 ? [] : ['sec-websocket-protocol', offered.join(', ')]
}

/** Names, in lower case, and values of all headers, as sent; pseudo headers are omitted. */
export function* headersOf(raw: RawRequest): Generator<readonly [string, string]> {
  const { rawHeaders } = raw
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? '').toLowerCase()
    if (!name.startsWith(':')) yield [name, rawHeaders[at + 1] ?? '']
  }
}
