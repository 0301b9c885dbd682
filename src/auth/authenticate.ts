import type { Clock } from '../../raft/base/clock.ts'
import type { UserInfo } from '../api/object.ts'
import { anonymous } from './anonymous.ts'
import { bearerToken } from './bearer-token.ts'
import type { AuthenticationMethod, Credentials, Recognition } from './credentials.ts'

/** The user, or null: the caller showed something wrong, or nothing where something is needed (401). */
export type Authenticated = UserInfo | null

export type AuthenticatorOptions = {
  /** In order; the first that recognizes the caller wins. */
  readonly methods: readonly AuthenticationMethod[]
  readonly allowAnonymous: boolean
  readonly clock: Clock
  /** How long a connection's last decision stands for the same credentials, in ms. 0: not at all. */
  readonly memoMs: number
}

/**
 * Tells who asks. A method that finds its kind of credentials wrong does not end the search, but then only
 * another method can save the caller: there is no falling back to anonymous (spec 5).
 */
export class Authenticator {
  readonly #options: AuthenticatorOptions
  /**
   * The last success of each connection. Bounded by the number of connections, forgotten with them. A header
   * equal to the one that was just accepted on the same connection needs no second look.
   */
  readonly #memo = new WeakMap<object, Memo>()

  constructor(options: AuthenticatorOptions) {
    this.#options = options
  }

  authenticate(credentials: Credentials): Authenticated | Promise<Authenticated> {
    const { connection, authorization } = credentials
    if (connection !== null) {
      const memo = this.#memo.get(connection)
      if (
        memo !== undefined &&
        memo.authorization === authorization &&
        this.#options.clock.monotonicMs() < memo.untilMs
      ) {
        return memo.user
      }
    }
    return this.#search(credentials, 0, false)
  }

  #search(credentials: Credentials, from: number, rejected: boolean): Authenticated | Promise<Authenticated> {
    const { methods, allowAnonymous } = this.#options
    let wrong = rejected
    for (let at = from; at < methods.length; at++) {
      const found = (methods[at] as AuthenticationMethod).recognize(credentials)
      if (found instanceof Promise) return this.#searchOn(credentials, found, at, wrong)
      if (found.kind === 'user') return this.#remember(credentials, found.user)
      if (found.kind === 'rejected') wrong = true
    }
    // A token that nobody knows is no anonymous request (spec 5).
    if (wrong || !allowAnonymous || bearerToken(credentials.authorization) !== null) return null
    return this.#remember(credentials, anonymous)
  }

  async #searchOn(
    credentials: Credentials,
    pending: Promise<Recognition>,
    at: number,
    rejected: boolean,
  ): Promise<Authenticated> {
    const found = await pending
    if (found.kind === 'user') return this.#remember(credentials, found.user)
    return this.#search(credentials, at + 1, rejected || found.kind === 'rejected')
  }

  #remember(credentials: Credentials, user: UserInfo): UserInfo {
    const { connection, authorization } = credentials
    const { clock, memoMs } = this.#options
    if (connection !== null && memoMs > 0) {
      this.#memo.set(connection, { authorization, user, untilMs: clock.monotonicMs() + memoMs })
    }
    return user
  }
}

type Memo = {
  readonly authorization: string | undefined
  readonly user: UserInfo
  readonly untilMs: number
}
