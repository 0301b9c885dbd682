/** An object that a token names. */
export type TokenObject = { readonly name: string; readonly uid: string }

/** A request for a token of a service account, validated. */
export type TokenOrder = {
  readonly namespace: string
  readonly account: TokenObject
  /** The Pod that the token is bound to. null: none */
  readonly pod: TokenObject | null
  /** The Secret that the token is bound to. null: none */
  readonly secret: TokenObject | null
  /** At least one. */
  readonly audiences: readonly string[]
  /** At least 600. */
  readonly expirationSeconds: number
}

export type IssuedToken = {
  readonly token: string
  /** Wall-clock ms since 1970. */
  readonly issuedMs: number
  /** The lifetime that the holder should rely on: the requested one, or the longest allowed. */
  readonly expirationSeconds: number
}

/** Issues tokens of service accounts. Implemented by `src/auth`. */
export interface TokenIssuer {
  /** The audiences of this server, for requests without audiences. */
  readonly audiences: readonly string[]
  /**
   * @throws ApiError `ServiceUnavailable` until there is a signing key; `BadRequest` if the token
   * would be too long
   */
  issue(order: TokenOrder): Promise<IssuedToken>
  /**
   * Returns a token that is valid as long as the Secret has it.
   * @throws ApiError `ServiceUnavailable` until there is a signing key
   */
  issueForSecret(of: SecretToken): Promise<string>
  /** Returns whether the key with this `kid` is accepted for tokens now. @throws StoreError */
  isKeyInForce(id: string): Promise<boolean>
}

export type SecretToken = {
  readonly namespace: string
  readonly account: TokenObject
  /** The Secret that will have the token. */
  readonly secretName: string
}
