/** One server, and who asks it. PEM texts; null: not used. */
export type Endpoint = {
  /** In reports; the name of the member where that is known. */
  readonly name: string
  /** `https://host:port` or `http://host:port`. */
  readonly url: string
  readonly authority: string | null
  readonly certificate: string | null
  readonly key: string | null
  readonly token: string | null
  /** The server's certificate is not looked at. */
  readonly insecure: boolean
}
