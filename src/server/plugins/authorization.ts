import type { Action } from '../../api/action.ts'
import { serviceUnavailable } from '../../api/errors/standard-errors.ts'
import type { Authorizer, Decision } from '../../auth/decision.ts'
import { callOf } from '../calls/fastify-types.ts'
import type { App } from '../calls/fastify-types.ts'
import { refusedAction } from './refused-action.ts'

/** Rejects what no authorization mode allows, and everything while the rules may be out of date. */
export function authorization(
  app: App,
  { authorizer, isAccessStale }: { readonly authorizer: Authorizer; readonly isAccessStale: () => boolean },
): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const call = callOf(request)
    const { action } = call.info
    if (isAccessStale() && !showsHealth(action)) {
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

/** Whether an operator needs the answer to see that a member lost the quorum. */
function showsHealth(action: Action): boolean {
  return action.kind === 'path' && HEALTH_PATH.test(action.path)
}

const HEALTH_PATH = /^\/(healthz|livez|readyz|metrics|cluster\/v1\/status)(\/|$)/
