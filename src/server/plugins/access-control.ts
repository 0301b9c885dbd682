import type { IncomingHttpHeaders } from 'node:http'
import { ApiError } from '../../api/errors/api-error.ts'
import { refusalText } from '../../api/errors/refusal-text.ts'
import { forbidden, serviceUnavailable, unauthorized } from '../../api/errors/standard-errors.ts'
import type { Action } from '../../api/action.ts'
import type { Names } from '../../api/metadata/names.ts'
import type { UserInfo } from '../../api/metadata/object.ts'
import type { Authenticator } from '../../auth/authenticate.ts'
import { bearerToken } from '../../auth/bearer-token.ts'
import type { Authorizer, Decision } from '../../auth/decision.ts'
import { impersonationOf } from '../../auth/impersonation.ts'
import type { Impersonation } from '../../auth/impersonation.ts'
import type { Clock } from '../../../base/clock.ts'
import type { AuthenticationMetrics } from '../metrics/authentication-metrics.ts'
import type { Call } from '../calls/call.ts'
import { callOf } from '../calls/fastify-types.ts'
import type { App } from '../calls/fastify-types.ts'
import type { RawRequest } from '../http/raw-http.ts'
import { isOwnOrigin } from '../http/websocket-handshake.ts'
import { hasBody } from './bodies.ts'

/*
 * The four checks of the caller before the body is read, in this order: the identity, the identity
 * it acts as, the site that a browser sends the request for, and the permission.
 */

/** Authenticates the caller before the body is read. */
export function authentication(
  app: App,
  authenticator: Authenticator,
  { metrics, clock }: { readonly metrics: AuthenticationMetrics; readonly clock: Pick<Clock, 'monotonicMs'> },
): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const call = callOf(request)
    const settle = (user: UserInfo | null, seconds: number): void => {
      metrics.count(user === null ? 'failure' : 'success', seconds)
      if (user === null) {
        done(unauthorized())
        return
      }
      metrics.countUser(user.name)
      call.caller = user
      done()
    }
    const user = authenticator.authenticate(call)
    if (!(user instanceof Promise)) {
      settle(user, 0)
      return
    }
    const startedMs = clock.monotonicMs()
    const seconds = (): number => (clock.monotonicMs() - startedMs) / 1000
    user.then(
      (settled) => settle(settled, seconds()),
      (cause: Error) => {
        const isRefusal = cause instanceof ApiError && cause.code === 'Unauthorized'
        metrics.count(isRefusal ? 'failure' : 'error', seconds())
        done(cause)
      },
    )
  })
}

/**
 * Replaces the user of a request by the one that the `Impersonate` headers name, if the caller has
 * the permission to impersonate every part of it.
 *
 * @source spec 5.4
 */
export function impersonation(app: App, authorizer: Authorizer, names: Names): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const call = callOf(request)
    const requested = hasHeaders(request.raw.headers) ? impersonationOf(request.raw.rawHeaders, names) : null
    if (requested === null) done()
    else takeOver(call, authorizer, requested).then(() => done(), done)
  })
}

/** @throws ApiError `Forbidden`, or that of the authorizer */
async function takeOver(call: Call, authorizer: Authorizer, requested: Impersonation): Promise<void> {
  for (const action of requested.permissions) {
    const decision = await authorizer.authorize(call.user, action)
    if (decision.kind === 'allow') continue
    call.audit?.authorized(decision)
    throw refusedAction(call.user.name, action, decision.reason)
  }
  call.impersonate(requested)
}

function hasHeaders(headers: Readonly<Record<string, unknown>>): boolean {
  for (const name in headers) if (name.startsWith('impersonate-')) return true
  return false
}

/**
 * Rejects writes that a page of another origin makes a browser send: the browser adds its user's
 * client certificate, whatever the page. A bearer token, which no browser adds by itself, proves
 * intent; without one, a body without a type is rejected from any page. Other programs usually send
 * neither of the headers that show a browser.
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
  // A page can send a body without a type anywhere, without a preflight request; a script of this
  // origin can set one.
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

/**
 * `Sec-Fetch-Site` decides, which a browser sets itself; an older browser sends at least `Origin`.
 */
function isSameOrigin(headers: IncomingHttpHeaders): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin' || site === 'none'
  const authority = headers[':authority']
  return isOwnOrigin(headers.origin, typeof authority === 'string' ? authority : headers.host)
}

/**
 * Rejects what no authorization mode allows, and everything except health, metrics and status while
 * the rules may be out of date.
 */
export function authorization(
  app: App,
  { authorizer, isAccessStale }: { readonly authorizer: Authorizer; readonly isAccessStale: () => boolean },
): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const call = callOf(request)
    const { action } = call.info
    if (!showsHealth(action) && isAccessStale()) {
      done(serviceUnavailable(STALE))
      return
    }
    const settle = (decision: Decision): void => {
      call.audit?.authorized(decision)
      if (decision.kind === 'allow') done()
      else done(refusedAction(call.user.name, action, decision.reason))
    }
    const decision = authorizer.authorize(call.user, action)
    if (decision instanceof Promise) decision.then(settle, done)
    else settle(decision)
  })
}

const STALE =
  'this member has reached no quorum for so long that the permissions it knows may be out of date: use another member'

/** Whether an operator needs the response to see that a member lost contact to the quorum. */
function showsHealth(action: Action): boolean {
  return action.kind === 'path' && HEALTH_PATH.test(action.path)
}

const HEALTH_PATH = /^\/(healthz|livez|readyz|metrics|cluster\/v1\/status)(\/|$)/

/** Returns the 403 for an action that no authorizer allows to a user. @param reason may be empty */
function refusedAction(userName: string, action: Action, reason: string): ApiError {
  const text = refusalText(userName, action)
  const why = reason === '' ? text : `${text}: ${reason}`
  if (action.kind === 'path') return forbidden({ group: '', resource: '' }, '', why)
  return forbidden({ group: action.group, resource: action.resource }, action.name, why)
}
