import type { X509Certificate } from 'node:crypto'
import type { UserInfo } from '../api/metadata/object.ts'

/** The credentials of a request. */
export interface Credentials {
  /** The `Authorization` header, as sent. */
  readonly authorization: string | undefined
  /** One object per connection, to cache decisions with. null: not a real connection. */
  readonly connection: object | null
  /** Names and values of all headers in turn, as sent. Unset: there are no headers. */
  readonly rawHeaders?: readonly string[]
  /** Audiences of which a token needs one. Unset: those of this server. */
  readonly audiences?: readonly string[]
  /** Returns the certificates of the caller, its own first; empty: none. They are not verified. */
  certificates(): readonly X509Certificate[]
}

/** The result of one method. */
export type Recognition =
  | {
      readonly kind: 'user'
      readonly user: UserInfo
      /**
       * The requested audiences that the token is valid for. Unset: the credentials are for this
       * server.
       */
      readonly audiences?: readonly string[]
    }
  /** No credentials for this method. */
  | { readonly kind: 'none' }
  /** Credentials for this method, but invalid. */
  | { readonly kind: 'rejected'; readonly reason: string }

/**
 * An authentication method. It returns a promise only if it verifies a signature, calls another
 * server, or cannot decide.
 */
export type AuthenticationMethod = {
  readonly name: string
  /** It checks `Credentials.audiences`. Unset: its credentials are for this server. */
  readonly knowsAudiences?: true
  readonly recognize: (credentials: Credentials) => Recognition | Promise<Recognition>
}

export const notRecognized: Recognition = Object.freeze({ kind: 'none' })
