import { internal } from '../../api/errors/standard-errors.ts'
import { callOf } from '../calls/fastify-types.ts'
import type { App } from '../calls/fastify-types.ts'
import { AuditedCall } from '../calls/audited-call.ts'
import type { AuditDependencies } from '../calls/audited-call.ts'

/**
 * Follows every call for the audit log, including those whose authentication fails. Registered
 * between the beginning of the call and authentication; `auditKnownCallers` is registered after
 * authentication.
 */
export function auditCalls(app: App, dependencies: AuditDependencies): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const call = callOf(request)
    const audit = new AuditedCall(call, dependencies)
    call.audit = audit
    call.reply.on('close', () => audit.end())
    done()
  })
}

/** Delays a call until its first event is written, where the policy and the mode require it. */
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
