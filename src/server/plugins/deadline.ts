import { badRequest } from '../../api/errors/standard-errors.ts'
import { callOf } from '../calls/fastify-types.ts'
import type { App } from '../calls/fastify-types.ts'
import { parseDuration } from '../http/duration.ts'
import { firstOf } from '../http/query.ts'

/** Shortens the time limit of a call to its `timeout` parameter; no caller can extend it. */
export function deadline(app: App): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const call = callOf(request)
    const { query, action } = call.info
    const text = query.size === 0 ? null : firstOf(query, 'timeout')
    if (text !== null && text !== '' && action.verb !== 'watch') {
      const wantedMs = parseDuration(text)
      if (wantedMs === null || wantedMs < 0) {
        done(badRequest('invalid timeout specified in the request URL'))
        return
      }
      // Zero means "no preference", as upstream has it.
      if (wantedMs > 0) call.deadlineMs = Math.min(call.deadlineMs, call.startedMs + wantedMs)
    }
    done()
  })
}
