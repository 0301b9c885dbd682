import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { ApiError } from '../../api/errors/api-error.ts'
import { badRequest, unauthorized } from '../../api/errors/standard-errors.ts'

/** The contents of a WebSocket request. */
export type WebSocketOffer = {
  /** From a subprotocol, for clients that cannot set headers; null: none. */
  readonly token: string | null
  /** The first other subprotocol, which a watch accepts whatever it is; null: none. */
  readonly protocol: string | null
}

/**
 * @source RFC 6455 section 4.2.1; the rest is checked when a watch is about to begin, or by the
 * backend of a tunnel
 */
export function asksForWebSocket(headers: IncomingHttpHeaders): boolean {
  return tokensOf(headers.connection).includes('upgrade') && tokensOf(headers.upgrade).includes('websocket')
}

/**
 * Parses the subprotocols. A browser sends its bearer token as a subprotocol,
 * `base64url.bearer.authorization.<domain>.<token>`, with at least one other, as the server must
 * name one in its response and must not repeat a token.
 *
 * @throws ApiError `Unauthorized` when the token cannot be read, is one of several, or is the only
 * subprotocol: the caller must not become another user
 * @source apiserver `pkg/authentication/request/websocket`
 */
export function webSocketOffer(headers: IncomingHttpHeaders, domain: string): WebSocketOffer {
  const prefix = `base64url.bearer.authorization.${domain}.`
  const offered = (headers['sec-websocket-protocol'] ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
  const tokens = offered.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length))
  const [protocol = null] = offered.filter((name) => !name.startsWith(prefix))
  const [encoded, another] = tokens
  if (encoded === undefined) return { token: null, protocol }
  const token = /^[\w-]+$/.test(encoded) ? Buffer.from(encoded, 'base64url').toString('utf8') : ''
  if (another !== undefined || protocol === null || !/^[\x21-\x7e]+$/.test(token)) throw unauthorized()
  return { token, protocol }
}

/**
 * @param hasToken the caller authenticated with something that no browser sends by itself
 * @returns `Sec-WebSocket-Accept`
 * @throws ApiError `BadRequest`, `Forbidden`
 * @source RFC 6455 section 4.2
 */
export function acceptWebSocket(method: string, headers: IncomingHttpHeaders, hasToken: boolean): string {
  if (method !== 'GET') throw badRequest('a WebSocket needs a GET request')
  const version = headers['sec-websocket-version']
  if (version !== '13')
    throw badRequest(`Sec-WebSocket-Version: ${version ?? 'missing'}: only 13 is supported`)
  const key = headers['sec-websocket-key'] ?? ''
  if (!/^[A-Za-z0-9+/]{22}==$/.test(key)) throw badRequest('Sec-WebSocket-Key: it must be 16 bytes in base64')
  if (!hasToken && !isOwnOrigin(headers.origin, headers.host)) {
    throw new ApiError(
      'Forbidden',
      'a page of another origin cannot use the client certificate of its user: it must send a bearer token',
    )
  }
  return createHash('sha1').update(`${key}${guid}`).digest('base64')
}

/**
 * Whether a request comes from a page of this server, or from no page. Any page may open a
 * WebSocket to any server, and the browser uses the client certificate of its user. Programs other
 * than browsers send no origin, or this server's.
 */
export function isOwnOrigin(origin: string | undefined, host: string | undefined): boolean {
  if (origin === undefined) return true
  const at = origin.indexOf('://')
  return at !== -1 && origin.slice(at + 3).toLowerCase() === host?.toLowerCase()
}

/** Returns the values of a comma-separated header, in lower case. */
function tokensOf(header: string | undefined): readonly string[] {
  return (header ?? '').split(',').map((token) => token.trim().toLowerCase())
}

/** @source RFC 6455 section 1.3 */
const guid = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
