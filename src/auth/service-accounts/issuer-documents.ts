import type { JsonObject } from '../../api/json.ts'
import type { TokenKeys } from './token-keys.ts'

/** The documents by which other programs verify tokens of this cluster. */
export interface IssuerDocuments {
  /** The provider configuration of OpenID Connect Discovery. */
  configuration(): JsonObject
  /** Returns the keys in force as a JSON Web Key Set. */
  keySet(): JsonObject
}

export type IssuerDocumentsOptions = {
  readonly issuer: string
  /** URL of the key set. */
  readonly keySetUrl: string
  /** Returns the keys in force. */
  readonly keys: () => TokenKeys
}

/** The path of the key set. */
export const KEY_SET_PATH = '/openid/v1/jwks'

/**
 * Returns the documents of an issuer.
 *
 * @returns null: the issuer is not a URL that a program could read the documents of
 * @source core `pkg/serviceaccount/openidmetadata.go`; OpenID Connect Discovery 1.0, section 3
 */
export function issuerDocuments({ issuer, keySetUrl, keys }: IssuerDocumentsOptions): IssuerDocuments | null {
  if (!isIssuerUrl(issuer)) return null
  return {
    configuration: () => ({
      issuer,
      jwks_uri: keySetUrl,
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: algorithmsOf(keys()),
    }),
    keySet: () => ({ keys: keys().verification.map(webKey) }),
  }
}

function algorithmsOf({ verification }: TokenKeys): string[] {
  return [...new Set(verification.map(({ algorithm }) => algorithm))].toSorted()
}

function isIssuerUrl(issuer: string): boolean {
  if (!URL.canParse(issuer)) return false
  const { protocol, search, hash } = new URL(issuer)
  return protocol === 'https:' && search === '' && hash === ''
}

function webKey({ id, algorithm, publicKey }: TokenKeys['verification'][number]): JsonObject {
  const { kty = '', crv, x, y, n, e } = publicKey.export({ format: 'jwk' })
  const common = { use: 'sig', kty, kid: id, alg: algorithm }
  if (algorithm === 'ES256') return { ...common, crv: crv ?? '', x: x ?? '', y: y ?? '' }
  return { ...common, n: n ?? '', e: e ?? '' }
}
