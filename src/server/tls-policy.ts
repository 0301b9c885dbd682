/** What the client port speaks. */
export type TlsPolicy = {
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3'
  /** Names of OpenSSL, of TLS 1.2 and 1.3, in order of preference; null: the runtime's own choice. */
  readonly ciphers: readonly string[] | null
}

export const defaultTlsPolicy: TlsPolicy = Object.freeze({ minVersion: 'TLSv1.2', ciphers: null })

/** Contents, not paths, in PEM. */
export type TlsFiles = {
  readonly certificate: string
  readonly key: string
  /** Who vouches for clients; null: client certificates are not asked for. */
  readonly clientAuthorities: string | null
}
