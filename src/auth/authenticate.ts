import type { UserInfo } from '../api/metadata/object.ts'
import { anonymous } from './anonymous.ts'
import { bearerToken } from './bearer-token.ts'
import type { AuthenticationMethod, Credentials, Recognition } from './credentials.ts'

/** The user, or null: the credentials are invalid, or missing where they are required (401). */
export type Authenticated = UserInfo | null

export type AuthenticatorOptions = {
  /** In order; the first that recognizes the caller decides. */
  readonly methods: readonly AuthenticationMethod[]
  readonly allowAnonymous: boolean
}

/**
 * Authenticates the caller. A method that finds its kind of credentials invalid does not end the
 * search, but then only another method can authenticate the caller: there is no fallback to
 * anonymous (spec 5). Nothing is cached here: only the method knows what may be cached, and until
 * when.
 */
export class Authenticator {
  readonly #options: AuthenticatorOptions

  constructor(options: AuthenticatorOptions) {
    this.#options = options
  }

  authenticate(credentials: Credentials): Authenticated | Promise<Authenticated> {
    return this.#search(credentials, 0, false)
  }

  #search(credentials: Credentials, from: number, rejected: boolean): Authenticated | Promise<Authenticated> {
    const { methods, allowAnonymous } = this.#options
    let wrong = rejected
    for (let at = from; at < methods.length; at++) {
      const found = (methods[at] as AuthenticationMethod).recognize(credentials)
      if (found instanceof Promise) return this.#searchOn(credentials, found, at, wrong)
      if (found.kind === 'user') return found.user
      if (found.kind === 'rejected') wrong = true
    }
    // A request with an unknown token is not anonymous (spec 5).
    if (wrong || !allowAnonymous || bearerToken(credentials.authorization) !== null) return null
    return anonymous
  }

  async #searchOn(
    credentials: Credentials,
    pending: Promise<Recognition>,
    at: number,
    rejected: boolean,
  ): Promise<Authenticated> {
    const found = await pending
    if (found.kind === 'user') return found.user
    return this.#search(credentials, at + 1, rejected || found.kind === 'rejected')
  }
}
