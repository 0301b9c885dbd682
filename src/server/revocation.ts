import type { Clock, Timer } from '../../base/clock.ts'
import type { Authenticator } from '../auth/authenticate.ts'
import type { Credentials } from '../auth/credentials.ts'
import type { Authorizer } from '../auth/decision.ts'
import { serviceAccountOf } from '../auth/user.ts'
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
 * authorities, all calls in progress are checked again, and those of service accounts periodically.
 */
export class Revocation {
  readonly #dependencies: RevocationDependencies
  readonly #timers: readonly Timer[]
  #checkedVersion: number
  /** The check in progress; null: none. */
  #checking: Promise<void> | null = null
  /** A check of all calls is needed after the one in progress. */
  #isOutdated = false

  constructor(dependencies: RevocationDependencies) {
    this.#dependencies = dependencies
    this.#checkedVersion = dependencies.accessVersion()
    const { clock } = dependencies
    this.#timers = [
      clock.every(limits.accessCheckMs, () => {
        if (dependencies.accessVersion() !== this.#checkedVersion) this.check()
      }),
      clock.every(limits.accountCheckMs, () => this.#checkAccounts()),
    ]
  }

  /** Checks all calls, some per turn. A change during a check is followed by another check. */
  check(): void {
    this.#isOutdated = true
    if (this.#checking === null) this.#checking = this.#checkWhileOutdated()
  }

  close(): void {
    for (const timer of this.#timers) timer.cancel()
  }

  /**
   * Checks the calls of service accounts, whose tokens become invalid without a change of rules
   * when an object that they name is deleted.
   */
  #checkAccounts(): void {
    const calls = this.#dependencies.calls().filter(isOfAccount)
    if (calls.length === 0 || this.#checking !== null) return
    this.#checking = this.#checkEach(calls).then(() => this.#checkWhileOutdated())
  }

  async #checkWhileOutdated(): Promise<void> {
    while (this.#isOutdated) {
      this.#isOutdated = false
      this.#checkedVersion = this.#dependencies.accessVersion()
      await this.#checkEach(this.#dependencies.calls())
    }
    this.#checking = null
  }

  async #checkEach(calls: readonly RevocableCall[]): Promise<void> {
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

function isOfAccount(call: RevocableCall): boolean {
  return call.authenticated && serviceAccountOf(call.caller.name) !== null
}

const CALLS_PER_TURN = 100
