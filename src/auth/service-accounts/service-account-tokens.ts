import type { Clock } from '../../../base/clock.ts'
import { serviceUnavailable } from '../../api/errors/standard-errors.ts'
import type { Names } from '../../api/metadata/names.ts'
import type { UserInfo } from '../../api/metadata/object.ts'
import { limits } from '../../config/limits.ts'
import { StoreError } from '../../store/store-errors.ts'
import { bearerToken } from '../bearer-token.ts'
import { notRecognized } from '../credentials.ts'
import type { AuthenticationMethod, Credentials, Recognition } from '../credentials.ts'
import { authenticatedUser, serviceAccountGroups, serviceAccountName } from '../user.ts'
import type { BoundObjects } from './bound-objects.ts'
import type { BoundClaims, TokenClaims } from './claims.ts'
import type { TokenVerdict, TokenVerifier, VerifiedToken } from './verify-token.ts'

export type ServiceAccountTokensDependencies = {
  readonly verifier: TokenVerifier
  readonly objects: BoundObjects
  readonly clock: Pick<Clock, 'wallMs'>
  readonly names: Names
  /** The audiences of this server. */
  readonly audiences: readonly string[]
}

/**
 * Authenticates by service account token. The signature is verified once, and cached per token and
 * per connection; the time, the audiences and the objects of the token are checked on each request.
 *
 * @source spec 5 "Service account token"
 */
export function serviceAccountTokens(dependencies: ServiceAccountTokensDependencies): AuthenticationMethod {
  const tokens = new ServiceAccountTokens(dependencies)
  return {
    name: 'service-account-token',
    knowsAudiences: true,
    recognize: (credentials) => tokens.recognize(credentials),
  }
}

/** The last token of a connection. */
type Kept = { readonly authorization: string; readonly token: VerifiedToken }

class ServiceAccountTokens {
  readonly #dependencies: ServiceAccountTokensDependencies
  readonly #kept = new WeakMap<object, Kept>()
  readonly #users = new WeakMap<VerifiedToken, UserInfo>()

  constructor(dependencies: ServiceAccountTokensDependencies) {
    this.#dependencies = dependencies
  }

  recognize(credentials: Credentials): Recognition | Promise<Recognition> {
    const { authorization, connection } = credentials
    if (authorization === undefined) return notRecognized
    const kept = connection === null ? undefined : this.#kept.get(connection)
    const { verifier } = this.#dependencies
    if (kept?.authorization === authorization && verifier.isCurrent(kept.token)) {
      return this.#check(kept.token, credentials)
    }
    const token = bearerToken(authorization)
    if (token === null) return notRecognized
    try {
      const verdict = verifier.verify(token)
      if (!(verdict instanceof Promise)) return this.#decide(verdict, credentials)
      return verdict.then((settled) => this.#decide(settled, credentials))
    } catch (cause) {
      return failed(cause)
    }
  }

  #decide(verdict: TokenVerdict, credentials: Credentials): Recognition | Promise<Recognition> {
    switch (verdict.kind) {
      case 'foreign':
        return notRecognized
      case 'rejected':
        return { kind: 'rejected', reason: `the service account token is invalid: ${verdict.reason}` }
      case 'verified': {
        const { authorization, connection } = credentials
        const { token } = verdict
        if (connection !== null && authorization !== undefined)
          this.#kept.set(connection, { authorization, token })
        return this.#check(token, credentials)
      }
    }
  }

  #check(token: VerifiedToken, { audiences: requested }: Credentials): Recognition | Promise<Recognition> {
    const { objects, clock, audiences: own } = this.#dependencies
    const { claims } = token
    const accepted = requested ?? own
    const offered = claims.kind === 'secret' ? own : claims.audiences
    const audiences = accepted.filter((audience) => offered.includes(audience))
    if (audiences.length === 0) return rejected('it is for another audience')
    const untimely = claims.kind === 'bound' ? timeRefusal(claims, clock.wallMs()) : null
    if (untimely !== null) return rejected(untimely)
    try {
      const revoked = objects.revocation(token)
      return revoked === null ? { kind: 'user', user: this.#userOf(token), audiences } : rejected(revoked)
    } catch (cause) {
      return failed(cause)
    }
  }

  /** The same object each time, so that others can cache by it. */
  #userOf(token: VerifiedToken): UserInfo {
    let user = this.#users.get(token)
    if (user === undefined) {
      user = userOf(token.claims, this.#dependencies.names)
      this.#users.set(token, user)
    }
    return user
  }
}

function timeRefusal({ notBeforeMs, expiresMs }: BoundClaims, nowMs: number): string | null {
  const { tokenClockSkewMs: skewMs } = limits
  if (nowMs > expiresMs + skewMs) return 'it has expired'
  return nowMs < notBeforeMs - skewMs ? 'it is not valid yet' : null
}

function rejected(reason: string): Recognition {
  return { kind: 'rejected', reason: `the service account token is invalid: ${reason}` }
}

/** A token that cannot be checked now may be valid: the caller should try again. */
async function failed(cause: unknown): Promise<Recognition> {
  if (!(cause instanceof StoreError)) throw cause
  const message = `service account tokens cannot be checked: ${cause.message}`
  throw serviceUnavailable(message, { retryAfterSeconds: 1 })
}

function userOf(claims: TokenClaims, names: Names): UserInfo {
  const { namespace, account } = claims
  return authenticatedUser({
    name: serviceAccountName(namespace, account.name),
    uid: account.uid,
    groups: serviceAccountGroups(namespace),
    extra: claims.kind === 'bound' ? extraOf(claims, names) : {},
  })
}

function extraOf({ pod }: BoundClaims, names: Names): UserInfo['extra'] {
  if (pod === null) return {}
  const key = (name: string): string => names.labelUnder('authentication', name)
  return { [key('pod-name')]: [pod.name], [key('pod-uid')]: [pod.uid] }
}
