import type { Clock } from '../../base/clock.ts'
import type { Authenticated, Authenticator } from '../auth/authenticate.ts'
import type { Call } from './call.ts'

const callsPerTurn = 100

/**
 * Asks again who the callers are, after the authorities changed, some a turn; revokes the calls of those who would
 * not be let in any more, or not as the same user.
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
  // Who is not known yet is asked by what counts from now on.
  if (call.closed || !call.authenticated) return
  const judge = (user: Authenticated): void => {
    if (user?.name !== call.user.name) call.revoke()
  }
  const found = authenticator.authenticate(call)
  // Who cannot be asked about now can come again.
  if (found instanceof Promise) found.then(judge, () => call.revoke())
  else judge(found)
}
