import { unauthorized } from '../../api/errors/standard-errors.ts'
import type { UserInfo } from '../../api/metadata/object.ts'
import type { Authenticator } from '../../auth/authenticate.ts'
import { callOf } from '../calls/fastify-types.ts'
import type { App } from '../calls/fastify-types.ts'

/** Authenticates the caller before the body is read. */
export function authentication(app: App, authenticator: Authenticator): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const call = callOf(request)
    const settle = (user: UserInfo | null): void => {
      if (user === null) {
        done(unauthorized())
        return
      }
      call.caller = user
      done()
    }
    const user = authenticator.authenticate(call)
    if (user instanceof Promise) user.then(settle, done)
    else settle(user)
  })
}
