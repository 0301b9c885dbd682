import { ApiError } from '../../api/errors/api-error.ts'
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
      call.user = user
      done(impersonates(request.raw.headers) ? impersonation() : undefined)
    }
    const user = authenticator.authenticate(call)
    if (user instanceof Promise) user.then(settle, done)
    else settle(user)
  })
}

/**
 * Impersonation needs a permission that cannot be granted yet; to continue as the caller itself
 * would be worse than a rejection.
 */
function impersonation(): ApiError {
  return new ApiError(
    'Forbidden',
    'impersonation is not supported by this server: omit the Impersonate headers',
  )
}

function impersonates(headers: Readonly<Record<string, unknown>>): boolean {
  for (const name in headers) if (name.startsWith('impersonate-')) return true
  return false
}
