import type { Clock } from '../../base/clock.ts'
import type { Authenticated, Authenticator } from '../auth/authenticate.ts'
import type { Call } from './calls/call.ts'

const callsPerTurn = 100

/**
 * Authenticates the callers again after a change of the authorities, some per turn; revokes the
 * calls whose caller is not authenticated any more, or as another user.
 */
export function revokeUnrecognized(
  calls: readonly Call[],
  authenticator: Authenticator,
  clock: Pick<Clock, 'soon'>,
): void {
  for (const call of calls.slice(0, callsPerTurn)) revokeIfUnrecognized(call, authenticator)
  const rest = calls.slice(callsPerTurn)
  if (rest.length > 0) clock.soon(() => revokeUnrecognized(rest, authenticator, clock))
}

function revokeIfUnrecognized(call: Call, authenticator: Authenticator): void {
  // A caller not authenticated yet is checked by the new authorities.
  if (call.closed || !call.authenticated) return
  const judge = (user: Authenticated): void => {
    if (user?.name !== call.caller.name) call.revoke()
  }
  const found = authenticator.authenticate(call)
  // A caller that cannot be checked now can reconnect.
  if (found instanceof Promise) found.then(judge, () => call.revoke())
  else judge(found)
}
