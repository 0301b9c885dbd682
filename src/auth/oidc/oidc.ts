import { createHash } from 'node:crypto'
import { decodeJwt, errors, jwtVerify } from 'jose'
import type { JWTPayload } from 'jose'
import type { Clock } from '../../../base/clock.ts'
import { tooManyRequests } from '../../api/errors/standard-errors.ts'
import { limits } from '../../config/limits.ts'
import { bearerToken } from '../bearer-token.ts'
import { notRecognized } from '../credentials.ts'
import type { AuthenticationMethod, Recognition } from '../credentials.ts'
import { ExpiringCache } from '../expiring-cache.ts'
import type { OidcKeySet, OidcKeys } from './oidc-keys.ts'
import { oidcUser } from './oidc-user.ts'
import type { OidcClaims } from './oidc-user.ts'

export type OidcOptions = {
  readonly issuer: string
  /** The audience that tokens must have. */
  readonly clientId: string
  /** Asymmetric algorithms of signatures; all others are refused. */
  readonly algorithms: readonly string[]
  readonly claims: OidcClaims
}

export type OidcDependencies = {
  readonly keys: Pick<OidcKeys, 'current' | 'newer'>
  readonly clock: Clock
}

/**
 * Authenticates identity tokens of one OpenID provider, with its published keys: the provider gets
 * no request per token. A verified token is kept for a short time.
 *
 * @source spec 5.1; OpenID Connect Core 1.0 section 3.1.3.7
 */
export function openIdConnect(options: OidcOptions, { keys, clock }: OidcDependencies): AuthenticationMethod {
  const users = new ExpiringCache<Recognition>(limits.oidcUsersMax, clock)
  const pending = new Map<string, Promise<Recognition>>()

  const recognize = async (key: string, token: string): Promise<Recognition> => {
    const verified = await verify(token, options, keys, clock.wallMs())
    if (typeof verified === 'string') return { kind: 'rejected', reason: `OpenID Connect: ${verified}` }
    const recognition = oidcUser(verified, options.claims)
    const leftMs = (verified.exp ?? 0) * 1000 - clock.wallMs()
    if (recognition.kind === 'user') users.set(key, recognition, Math.min(leftMs, limits.oidcUserMs))
    return recognition
  }

  return {
    name: 'oidc',
    recognize: ({ authorization }) => {
      const token = bearerToken(authorization)
      if (token === null || !isOfIssuer(token, options.issuer)) return notRecognized
      const key = createHash('sha256').update(token).digest('base64')
      const known = users.get(key) ?? pending.get(key)
      if (known !== undefined) return known
      if (pending.size >= limits.oidcVerificationsMax) {
        return Promise.reject(
          tooManyRequests(1, 'too many identity tokens are being verified, please try again later'),
        )
      }
      const started = recognize(key, token).finally(() => pending.delete(key))
      pending.set(key, started)
      return started
    },
  }
}

/**
 * Returns whether a token names the issuer, without verifying it. Tokens of other issuers are left
 * to other methods.
 */
function isOfIssuer(token: string, issuer: string): boolean {
  if (token.length > limits.tokenCharactersMax) return false
  try {
    return decodeJwt(token).iss === issuer
  } catch {
    return false
  }
}

/** @returns a text: why the token is not valid */
async function verify(
  token: string,
  options: OidcOptions,
  keys: Pick<OidcKeys, 'current' | 'newer'>,
  nowMs: number,
): Promise<JWTPayload | string> {
  const known = await keys.current()
  if (known === null) return 'the keys of the issuer are not known'
  const found = await verifyWith(known, token, options, nowMs)
  if (found !== 'unknown key') return found
  // The provider may have published a new key since then.
  const newer = await keys.newer(known)
  const again = newer === null || newer === known ? found : await verifyWith(newer, token, options, nowMs)
  return again === 'unknown key' ? 'no key of the issuer signed the token' : again
}

async function verifyWith(
  keys: OidcKeySet,
  token: string,
  { issuer, clientId, algorithms }: OidcOptions,
  nowMs: number,
): Promise<JWTPayload | string> {
  const rules = {
    ...{ issuer, audience: clientId, algorithms: [...algorithms], requiredClaims: ['exp'] },
    currentDate: new Date(nowMs),
    clockTolerance: CLOCK_SKEW_SECONDS,
  }
  try {
    return (await jwtVerify(token, keys.find, rules)).payload
  } catch (cause) {
    if (!(cause instanceof errors.JWKSMultipleMatchingKeys)) return problemOf(cause)
    // The token does not name its key.
    for await (const key of cause) {
      try {
        return (await jwtVerify(token, key, rules)).payload
      } catch (other) {
        const problem = problemOf(other)
        if (problem !== 'unknown key') return problem
      }
    }
    return 'unknown key'
  }
}

/** @returns one line; `unknown key`: other keys may verify the token */
function problemOf(cause: unknown): string {
  if (cause instanceof errors.JWKSNoMatchingKey) return 'unknown key'
  if (cause instanceof errors.JWSSignatureVerificationFailed) return 'unknown key'
  if (cause instanceof errors.JOSEError) return cause.message.slice(0, PROBLEM_CHARACTERS_MAX)
  return 'the token cannot be verified'
}

/** Maximum difference between the clocks of the provider and of this server. */
const CLOCK_SKEW_SECONDS = 30

const PROBLEM_CHARACTERS_MAX = 200
