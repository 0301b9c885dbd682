import type { Clock, Timer } from '../../base/clock.ts'
import type { Authenticator } from '../auth/authenticate.ts'
import type { Credentials } from '../auth/credentials.ts'
import type { Authorizer } from '../auth/decision.ts'
import { limits } from '../config/limits.ts'
import type { Call } from './calls/call.ts'

/** The part of a call that is checked. */
export type RevocableCall = Credentials &
  Pick<Call, 'closed' | 'authenticated' | 'caller' | 'impersonation' | 'isRevoked' | 'revoke'> & {
    readonly info: Pick<Call['info'], 'action'>
  }

export type RevocationDependencies = {
  /** The calls in progress. */
  readonly calls: () => readonly RevocableCall[]
  readonly authenticator: Pick<Authenticator, 'authenticate'>
  readonly authorizer: Pick<Authorizer, 'authorize'>
  /** Changes whenever a user may have lost a permission. */
  readonly accessVersion: () => number
  readonly clock: Pick<Clock, 'every' | 'soon'>
}

/**
 * Ends the watches and other streams of callers whose credentials or permissions are no longer
 * valid. A caller was checked when its call began; after each change of the rules or of the
 * authorities, all calls in progress are checked again.
 */
export class Revocation {
  readonly #dependencies: RevocationDependencies
  readonly #timer: Timer
  #checkedVersion: number
  #isChecking = false
  /** A check is needed after the one in progress. */
  #isOutdated = false

  constructor(dependencies: RevocationDependencies) {
    this.#dependencies = dependencies
    this.#checkedVersion = dependencies.accessVersion()
    this.#timer = dependencies.clock.every(limits.accessCheckMs, () => {
      if (dependencies.accessVersion() !== this.#checkedVersion) this.check()
    })
  }

  /** Checks all calls, some per turn. A change during a check is followed by another check. */
  check(): void {
    this.#isOutdated = true
    if (!this.#isChecking) void this.#checkWhileOutdated()
  }

  close(): void {
    this.#timer.cancel()
  }

  async #checkWhileOutdated(): Promise<void> {
    this.#isChecking = true
    while (this.#isOutdated) {
      this.#isOutdated = false
      this.#checkedVersion = this.#dependencies.accessVersion()
      await this.#checkOnce()
    }
    this.#isChecking = false
  }

  async #checkOnce(): Promise<void> {
    const calls = this.#dependencies.calls()
    for (let from = 0; from < calls.length; from += CALLS_PER_TURN) {
      await Promise.all(calls.slice(from, from + CALLS_PER_TURN).map((call) => this.#checkCall(call)))
      await new Promise<void>((resolve) => this.#dependencies.clock.soon(resolve))
    }
  }

  async #checkCall(call: RevocableCall): Promise<void> {
    // A caller that is not authenticated yet is checked by the current authorities and rules.
    if (call.closed || !call.authenticated || call.isRevoked) return
    // A caller that cannot be checked now can reconnect.
    const isAllowed = await this.#isAllowed(call).catch(() => false)
    if (!isAllowed) call.revoke()
  }

  async #isAllowed(call: RevocableCall): Promise<boolean> {
    const { authenticator, authorizer } = this.#dependencies
    const caller = await authenticator.authenticate(call)
    if (caller?.name !== call.caller.name) return false
    for (const permission of call.impersonation?.permissions ?? []) {
      if ((await authorizer.authorize(caller, permission)).kind !== 'allow') return false
    }
    const user = call.impersonation?.user ?? caller
    return (await authorizer.authorize(user, call.info.action)).kind === 'allow'
  }
}

const CALLS_PER_TURN = 100
