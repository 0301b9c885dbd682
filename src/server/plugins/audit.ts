import { internal } from '../../api/errors/standard-errors.ts'
import { callOf } from '../fastify-types.ts'
import type { App } from '../fastify-types.ts'
import { AuditedCall } from '../audited-call.ts'
import type { AuditParts } from '../audited-call.ts'

/**
 * Follows every call for the audit log, those that turn out to be nobody's too. Goes between the call's beginning and
 * authentication; `auditKnownCallers` goes behind that.
 */
export function auditCalls(app: App, parts: AuditParts): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const call = callOf(request)
    const audit = new AuditedCall(call, parts)
    call.audit = audit
    call.reply.on('close', () => audit.end())
    done()
  })
}

/** Nothing is done for a caller before it stands in the log, where the policy and the mode want it there. */
export function auditKnownCallers(app: App): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const call = callOf(request)
    if (call.audit === null) {
      done()
      return
    }
    call.audit.begin((may) => {
      if (may) done()
      else done(internal('failed to store audit event'))
    })
  })
}
