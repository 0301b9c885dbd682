import { CompactSign } from 'jose'
import type { Clock } from '../../../base/clock.ts'
import type { ApiError } from '../../api/errors/api-error.ts'
import { badRequest, serviceUnavailable } from '../../api/errors/standard-errors.ts'
import type { JsonObject } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'
import { limits } from '../../config/limits.ts'
import type { IssuedToken, TokenIssuer, TokenOrder } from '../../registry/kinds/token-issuer.ts'
import { boundPayload, secretPayload } from './claims.ts'
import { findKey } from './token-keys.ts'
import type { SigningKey, TokenKeys } from './token-keys.ts'

export type TokenIssuerOptions = {
  /** Returns the keys in force. */
  readonly keys: () => TokenKeys
  /** Waits for the first key that all members share. @returns null: it did not come */
  readonly untilSigner: () => Promise<SigningKey | null>
  /** See `SharedKeySource`. */
  readonly untilCurrent: () => Promise<void>
  readonly clock: Pick<Clock, 'wallMs'>
  readonly names: Names
  readonly issuer: string
  /** The audiences of this server. */
  readonly audiences: readonly string[]
  /** Longest lifetime of a token. 0: that of the API, 2^32 s. */
  readonly expirationSecondsMax: number
  /** Whether the tokens that admission adds to Pods live for a year. */
  readonly extendsExpiration: boolean
}

/**
 * Issues bound tokens, of which a lifetime beyond the maximum is shortened, and tokens for Secrets.
 *
 * @source core `pkg/registry/core/serviceaccount/storage/token.go`
 */
export function tokenIssuer(options: TokenIssuerOptions): TokenIssuer {
  const { keys, untilSigner, untilCurrent, clock, names, issuer, audiences } = options
  return {
    audiences,
    isKeyInForce: async (id) => {
      await untilCurrent()
      return findKey(keys(), id) !== null
    },
    issueForSecret: async (of) => {
      const key = keys().signingForSecrets
      if (key === null) throw noKeyYet()
      return signedToken(secretPayload({ kind: 'secret', ...of }, names), key)
    },
    issue: async (order) => {
      const signing = keys().signing ?? (await untilSigner())
      if (signing === null) throw noKeyYet()
      const issuedMs = clock.wallMs()
      const { expirationSeconds, validSeconds } = lifetimeOf(order, options)
      const { namespace, account, pod, secret } = order
      const payload = boundPayload(
        {
          ...{ kind: 'bound', namespace, account, pod, secret, audiences: order.audiences },
          ...{ issuedMs, notBeforeMs: issuedMs, expiresMs: issuedMs + validSeconds * 1000 },
          warnAfterMs: validSeconds === expirationSeconds ? null : issuedMs + expirationSeconds * 1000,
        },
        issuer,
        names,
      )
      return { token: await signedToken(payload, signing), issuedMs, expirationSeconds } satisfies IssuedToken
    },
  }
}

function noKeyYet(): ApiError {
  const message = 'this member does not have the shared signing key yet: try again, or another member'
  return serviceUnavailable(message, { retryAfterSeconds: 1 })
}

/** The lifetime of tokens that admission requests for Pods, and of those tokens when extended. */
const podTokenSeconds = 3607
const extendedSeconds = 365 * 24 * 60 * 60

function lifetimeOf(
  { pod, audiences, expirationSeconds: requested }: TokenOrder,
  { expirationSecondsMax, extendsExpiration, audiences: own }: TokenIssuerOptions,
): { readonly expirationSeconds: number; readonly validSeconds: number } {
  const max = expirationSecondsMax === 0 ? Infinity : expirationSecondsMax
  const expirationSeconds = Math.min(requested, max)
  const isForThisServer = audiences.every((audience) => own.includes(audience))
  const isOfPod = extendsExpiration && pod !== null && expirationSeconds === podTokenSeconds
  const validSeconds = isOfPod && isForThisServer ? Math.min(extendedSeconds, max) : expirationSeconds
  return { expirationSeconds, validSeconds }
}

/** Signs on the thread pool: the event loop is not blocked. @throws ApiError `BadRequest` */
async function signedToken(payload: JsonObject, { verification, privateKey }: SigningKey): Promise<string> {
  const { id: kid, algorithm: alg } = verification
  const bytes = Buffer.from(JSON.stringify(payload))
  // In base64, with a header and the longest signature.
  if ((bytes.byteLength * 4) / 3 + 1024 > limits.tokenCharactersMax) {
    const max = limits.tokenCharactersMax
    throw badRequest(`the token would have more than ${max} characters: request fewer or shorter audiences`)
  }
  return new CompactSign(bytes).setProtectedHeader({ alg, kid }).sign(privateKey)
}
