import type { IncomingHttpHeaders } from 'node:http'
import { ApiError } from '../../api/errors/api-error.ts'
import { bearerToken } from '../../auth/bearer-token.ts'
import { callOf } from '../calls/fastify-types.ts'
import type { App } from '../calls/fastify-types.ts'
import { isOwnOrigin } from '../http/websocket-handshake.ts'
import { hasBody } from './bodies.ts'
import type { RawRequest } from '../http/raw-http.ts'

/**
 * Rejects writes that a page of another origin makes a browser send: the browser adds its user's
 * client certificate, whatever the page. An `Authorization` header, which no browser adds to a
 * simple request, proves intent. Programs send none of the headers that are checked here.
 *
 * @source W3C Fetch Metadata Request Headers; WHATWG Fetch, "CORS-safelisted request-header"
 */
export function crossSiteWrites(app: App): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const { raw } = request
    const isWrite = !READS.has(raw.method ?? '')
    if (isWrite && isOfBrowser(raw.headers) && bearerToken(callOf(request).authorization) === null) {
      done(refusalOf(raw))
    } else {
      done()
    }
  })
}

function refusalOf(raw: RawRequest): ApiError | undefined {
  const { headers } = raw
  if (!isSameOrigin(headers)) return new ApiError('Forbidden', elsewhere)
  const isUntyped = hasBody(raw) && (headers['content-type'] ?? '').trim() === ''
  return isUntyped ? new ApiError('UnsupportedMediaType', untyped) : undefined
}

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

const elsewhere =
  'a page of another origin cannot write with the client certificate of its user: it must send a bearer token'
const untyped = 'a browser must send a Content-Type such as application/json'

function isOfBrowser(headers: IncomingHttpHeaders): boolean {
  return headers['sec-fetch-site'] !== undefined || headers.origin !== undefined
}

/** The browser's own finding decides; an older browser names at least the origin. */
function isSameOrigin(headers: IncomingHttpHeaders): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin' || site === 'none'
  const authority = headers[':authority']
  return isOwnOrigin(headers.origin, typeof authority === 'string' ? authority : headers.host)
}
