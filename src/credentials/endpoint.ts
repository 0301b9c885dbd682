import type { Credentials, CredentialSource } from './credentials.ts'

/** A server of the API. */
export type Server = {
  /** Name in reports; the member name where it is known. */
  readonly name: string
  /** `https://host:port` or `http://host:port`. */
  readonly url: string
  /** The only trusted authorities, PEM text; null: those that Node.js trusts. */
  readonly authority: string | null
  /** The name in the certificate of the server; null: that of the URL. */
  readonly serverName: string | null
  /** Skips verification of the server certificate. */
  readonly insecure: boolean
}

/** A server, and the source of the credentials to use with it. */
export type Endpoint = Server & { readonly credentials: CredentialSource }

/** A server with the credentials of one moment. Plain data, which other threads may receive. */
export type ResolvedEndpoint = Server & { readonly credentials: Credentials }

/** @throws CredentialError */
export async function resolveEndpoint(endpoint: Endpoint): Promise<ResolvedEndpoint> {
  return { ...endpoint, credentials: await endpoint.credentials.current() }
}

/** @throws CredentialError */
export function resolveEndpoints(endpoints: readonly Endpoint[]): Promise<readonly ResolvedEndpoint[]> {
  return Promise.all(endpoints.map(resolveEndpoint))
}

export type TlsOptions = {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
  readonly servername?: string
  readonly rejectUnauthorized: boolean
}

/** Returns the options of a TLS connection to a server. */
export function tlsOptions(
  { authority, serverName, insecure }: Server,
  { identity }: Pick<Credentials, 'identity'>,
): TlsOptions {
  return {
    ...(authority === null ? {} : { ca: authority }),
    ...(identity === null ? {} : { cert: identity.certificate, key: identity.key }),
    ...(serverName === null ? {} : { servername: serverName }),
    rejectUnauthorized: !insecure,
  }
}
