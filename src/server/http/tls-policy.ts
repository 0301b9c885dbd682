/** The TLS versions and ciphers of the client port. */
export type TlsPolicy = {
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3'
  /** OpenSSL names, for TLS 1.2 and 1.3, in order of preference; null: the runtime's default. */
  readonly ciphers: readonly string[] | null
}

export const defaultTlsPolicy: TlsPolicy = Object.freeze({ minVersion: 'TLSv1.2', ciphers: null })

/** Contents, not paths, in PEM. */
export type TlsFiles = {
  readonly certificate: string
  readonly key: string
  /** The authorities of client certificates; null: not configured. */
  readonly clientAuthorities: string | null
  /**
   * The authorities of the certificates of authenticating proxies. Unset or null: not configured.
   */
  readonly proxyAuthorities?: string | null
}
