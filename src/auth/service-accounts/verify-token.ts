import { createHash } from 'node:crypto'
import { compactVerify, decodeJwt, decodeProtectedHeader, errors } from 'jose'
import { tooManyRequests } from '../../api/errors/standard-errors.ts'
import { isJsonObject } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'
import { limits } from '../../config/limits.ts'
import { readClaims } from './claims.ts'
import type { TokenClaims } from './claims.ts'
import { findKey } from './token-keys.ts'
import type { TokenKeys, VerificationKey } from './token-keys.ts'

export type TokenVerifierDependencies = {
  /** Returns the keys in force. */
  readonly keys: () => TokenKeys
  readonly names: Names
  /** Issuers of the tokens of this cluster. */
  readonly issuers: readonly string[]
}

/** A token with a valid signature. Its time, its audiences and its objects are not checked. */
export type VerifiedToken = {
  readonly claims: TokenClaims
  readonly key: VerificationKey
  /** SHA-256 of the token. */
  readonly digest: Buffer
}

export type TokenVerdict =
  /** No token of these issuers: other methods may know it. */
  | { readonly kind: 'foreign' }
  | { readonly kind: 'rejected'; readonly reason: string }
  | { readonly kind: 'verified'; readonly token: VerifiedToken }

/**
 * Verifies the signatures of service account tokens, off the event loop. The key decides the
 * algorithm, so a token cannot choose a weaker one. Valid tokens are cached, by their SHA-256, as
 * long as their key is in force; invalid ones are not.
 *
 * @source spec 5; core `pkg/serviceaccount/jwt.go`; RFC 7515, 7519, 8725
 */
export class TokenVerifier {
  readonly #dependencies: TokenVerifierDependencies
  /** The least recently used token is first. */
  readonly #verified = new Map<string, VerifiedToken>()
  readonly #pending = new Map<string, Promise<TokenVerdict>>()

  constructor(dependencies: TokenVerifierDependencies) {
    this.#dependencies = dependencies
  }

  /** Whether the key that verified a token is still in force. */
  isCurrent({ key }: VerifiedToken): boolean {
    return findKey(this.#dependencies.keys(), key.id) !== null
  }

  /** @throws ApiError `TooManyRequests` while too many tokens are being verified */
  verify(token: string): TokenVerdict | Promise<TokenVerdict> {
    if (token.length > limits.tokenCharactersMax) return foreign
    const digest = createHash('sha256').update(token).digest()
    const id = digest.toString('base64')
    const known = this.#cached(id)
    if (known !== null) return { kind: 'verified', token: known }
    const pending = this.#pending.get(id)
    if (pending !== undefined) return pending
    const candidates = this.#candidates(token)
    if ('kind' in candidates) return candidates
    if (this.#pending.size >= limits.tokenVerificationsMax) throw tooManyRequests(1)
    const verifying = this.#verifyNow(token, digest, candidates).finally(() => this.#pending.delete(id))
    this.#pending.set(id, verifying)
    return verifying
  }

  #cached(id: string): VerifiedToken | null {
    const known = this.#verified.get(id)
    if (known === undefined) return null
    this.#verified.delete(id)
    if (!this.isCurrent(known)) return null
    this.#verified.set(id, known)
    return known
  }

  /** Returns the keys that may have signed the token; nothing of it is trusted yet. */
  #candidates(token: string): readonly VerificationKey[] | TokenVerdict {
    const parts = unverifiedParts(token)
    if (parts === null) return foreign
    const { header, issuer } = parts
    const { issuers, names } = this.#dependencies
    if (!issuers.includes(issuer) && issuer !== names.secretTokenIssuer) return foreign
    const keys = this.#dependencies.keys()
    const { alg: algorithm, kid } = header
    if (header.crit !== undefined) return rejected('it has critical extensions')
    if (kid === undefined) {
      const matching = keys.verification.filter((key) => key.algorithm === algorithm)
      return matching.length === 0 ? rejected('no key has its algorithm') : matching
    }
    const key = typeof kid === 'string' ? findKey(keys, kid) : null
    if (key === null) return rejected('its key is unknown')
    return key.algorithm === algorithm ? [key] : rejected('its algorithm is not that of its key')
  }

  async #verifyNow(
    token: string,
    digest: Buffer,
    candidates: readonly VerificationKey[],
  ): Promise<TokenVerdict> {
    for (const key of candidates) {
      const payload = await verifiedPayload(token, key)
      if (payload === null) continue
      const claims = isJsonObject(payload) ? readClaims(payload, this.#dependencies.names) : null
      if (claims === null) return rejected('its claims are incomplete')
      const verified = Object.freeze({ claims, key, digest })
      this.#keep(digest.toString('base64'), verified)
      return { kind: 'verified', token: verified }
    }
    return rejected('its signature is invalid')
  }

  #keep(id: string, token: VerifiedToken): void {
    const [oldest] = this.#verified.keys()
    if (oldest !== undefined && this.#verified.size >= limits.verifiedTokensMax) this.#verified.delete(oldest)
    this.#verified.set(id, token)
  }
}

const foreign: TokenVerdict = Object.freeze({ kind: 'foreign' })

function rejected(reason: string): TokenVerdict {
  return { kind: 'rejected', reason }
}

type UnverifiedParts = {
  readonly header: { readonly alg?: unknown; readonly kid?: unknown; readonly crit?: unknown }
  readonly issuer: string
}

/** Returns the header and the issuer of a JWT. @returns null: it is not a JWT with an issuer */
function unverifiedParts(token: string): UnverifiedParts | null {
  try {
    const { iss } = decodeJwt(token)
    return typeof iss === 'string' ? { header: decodeProtectedHeader(token), issuer: iss } : null
  } catch (cause) {
    if (cause instanceof errors.JOSEError || cause instanceof TypeError) return null
    throw cause
  }
}

/** @returns null: the key did not sign the token, or the payload is not JSON */
async function verifiedPayload(token: string, key: VerificationKey): Promise<unknown> {
  try {
    const { payload } = await compactVerify(token, key.publicKey, { algorithms: [key.algorithm] })
    return JSON.parse(Buffer.from(payload).toString('utf8'))
  } catch (cause) {
    if (cause instanceof errors.JOSEError || cause instanceof SyntaxError) return null
    throw cause
  }
}
