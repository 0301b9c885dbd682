import type { X509Certificate } from 'node:crypto'
import type { UserInfo } from '../api/metadata/object.ts'

/** What a request brings along to prove who sends it. */
export interface Credentials {
  /** The `Authorization` header, as sent. */
  readonly authorization: string | undefined
  /** One object per connection, so that decisions can be kept with it. null: not a real connection. */
  readonly connection: object | null
  /** The certificates that the caller showed, its own first; none: it showed none. Nothing of them is verified. */
  certificates(): readonly X509Certificate[]
}

/** What one method makes of the credentials. */
export type Recognition =
  | { readonly kind: 'user'; readonly user: UserInfo }
  /** Nothing this method knows. */
  | { readonly kind: 'none' }
  /** Meant for this method, and wrong. */
  | { readonly kind: 'rejected'; readonly reason: string }

/** A way of telling who asks. Answers at once when it can; a promise only when it must ask elsewhere. */
export type AuthenticationMethod = {
  readonly name: string
  readonly recognize: (credentials: Credentials) => Recognition | Promise<Recognition>
}

export const notRecognized: Recognition = Object.freeze({ kind: 'none' })
