import type { Authorizer, Decision } from '../../auth/decision.ts'
import { callOf } from '../calls/fastify-types.ts'
import type { App } from '../calls/fastify-types.ts'
import { refusedAction } from './refused-action.ts'

/** Rejects what no authorization mode allows. */
export function authorization(app: App, authorizer: Authorizer): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const call = callOf(request)
    const settle = (decision: Decision): void => {
      call.audit?.authorized(decision)
      if (decision.kind === 'allow') done()
      else done(refusedAction(call.user.name, call.info.action, decision.reason))
    }
    const decision = authorizer.authorize(call.user, call.info.action)
    if (decision instanceof Promise) decision.then(settle, done)
    else settle(decision)
  })
}
