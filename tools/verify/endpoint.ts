/** A server and the credentials to use with it, as PEM text; null: none. */
export type Endpoint = {
  /** Name in reports; the member name where it is known. */
  readonly name: string
  /** `https://host:port` or `http://host:port`. */
  readonly url: string
  readonly authority: string | null
  readonly certificate: string | null
  readonly key: string | null
  readonly token: string | null
  /** Skips verification of the server certificate. */
  readonly insecure: boolean
}
