import type { Names } from '../../api/metadata/names.ts'
import type { Authorizer } from '../../auth/decision.ts'
import { impersonationOf } from '../../auth/impersonation.ts'
import type { Impersonation } from '../../auth/impersonation.ts'
import type { Call } from '../calls/call.ts'
import { callOf } from '../calls/fastify-types.ts'
import type { App } from '../calls/fastify-types.ts'
import { refusedAction } from './refused-action.ts'

/**
 * Replaces the user of a request by the one that the `Impersonate` headers name, where the caller
 * may impersonate all of it.
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

/** @throws ApiError `Forbidden` */
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
