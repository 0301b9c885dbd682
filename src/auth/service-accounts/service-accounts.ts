import type { Clock } from '../../../base/clock.ts'
import type { Names } from '../../api/metadata/names.ts'
import type { ObjectStore } from '../../store/object-store.ts'
import type { AuthenticationMethod } from '../credentials.ts'
import { BoundObjects } from './bound-objects.ts'
import { serviceAccountTokens } from './service-account-tokens.ts'
import type { TokenIssuer } from '../../registry/kinds/token-issuer.ts'
import { issuerDocuments } from './issuer-documents.ts'
import type { IssuerDocuments } from './issuer-documents.ts'
import { tokenIssuer } from './issue-token.ts'
import type { SigningKey, TokenKeys } from './token-keys.ts'
import { TokenVerifier } from './verify-token.ts'

export type ServiceAccountsOptions = {
  readonly store: Pick<ObjectStore, 'view'>
  readonly clock: Pick<Clock, 'wallMs'>
  readonly names: Names
  /** Returns the keys in force. */
  readonly keys: () => TokenKeys
  /** See `TokenIssuerOptions`. */
  readonly untilSigner: () => Promise<SigningKey | null>
  readonly untilCurrent: () => Promise<void>
  /** Issuers that are accepted. The first one issues new tokens. */
  readonly issuers: readonly string[]
  /** The audiences of this server. */
  readonly audiences: readonly string[]
  /** See `BoundObjectsDependencies`. */
  readonly looksUpSecretTokens: boolean
  /** URL of the set of keys. */
  readonly keySetUrl: string
  /** See `TokenIssuerOptions`. */
  readonly expirationSecondsMax: number
  readonly extendsExpiration: boolean
}

/** Service account tokens of one server. */
export type ServiceAccounts = {
  /** Accepts tokens. */
  readonly method: AuthenticationMethod
  /** The audiences of this server. */
  readonly audiences: readonly string[]
  /** Issues tokens. */
  readonly tokens: TokenIssuer
  /** For other programs that verify tokens. null: the issuer is not an HTTPS URL. */
  readonly documents: IssuerDocuments | null
}

export function serviceAccountsOf(options: ServiceAccountsOptions): ServiceAccounts {
  const { audiences, issuers } = options
  const issuer = issuers[0] ?? ''
  const verifier = new TokenVerifier(options)
  const objects = new BoundObjects(options)
  return {
    audiences,
    method: serviceAccountTokens({ ...options, verifier, objects }),
    tokens: tokenIssuer({ ...options, issuer }),
    documents: issuerDocuments({ ...options, issuer }),
  }
}
