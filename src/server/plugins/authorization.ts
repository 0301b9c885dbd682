import { forbidden } from '../../api/errors/standard-errors.ts'
import type { ApiError } from '../../api/errors/api-error.ts'
import { refusalText } from '../../api/errors/refusal-text.ts'
import type { Authorizer, Decision } from '../../auth/decision.ts'
import type { Call } from '../calls/call.ts'
import { callOf } from '../calls/fastify-types.ts'
import type { App } from '../calls/fastify-types.ts'

/** Rejects what no authorization mode allows. */
export function authorization(app: App, authorizer: Authorizer): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const call = callOf(request)
    const settle = (decision: Decision): void => {
      call.audit?.authorized(decision)
      if (decision.kind === 'allow') done()
      else done(refusal(call, decision.reason))
    }
    const decision = authorizer.authorize(call.user, call.info.action)
    if (decision instanceof Promise) decision.then(settle, done)
    else settle(decision)
  })
}

function refusal(call: Call, reason: string): ApiError {
  const { action } = call.info
  const text = refusalText(call.user.name, action)
  const why = reason === '' ? text : `${text}: ${reason}`
  if (action.kind === 'path') return forbidden({ group: '', resource: '' }, '', why)
  return forbidden({ group: action.group, resource: action.resource }, action.name, why)
}
