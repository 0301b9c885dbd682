import { ConfigError } from './errors.ts'

export type Address = { readonly host: string; readonly port: number }

/** Parses `host:port` or `[::1]:port`. @throws ConfigError with the expected form */
export function parseAddress(text: string): Address {
  const [, bracketed, plain, port] = /^(?:\[([0-9a-fA-F:.%]+)\]|([^:[\]\s]+)):(\d{1,5})$/.exec(text) ?? []
  const host = bracketed ?? plain
  const number = Number(port)
  if (host === undefined || number < 1 || number > 65_535 || Buffer.byteLength(host) > hostBytesMax) {
    throw new ConfigError(
      `must be host:port such as 10.0.0.1:7443, not ${JSON.stringify(text.slice(0, 2 * hostBytesMax))}`,
    )
  }
  return { host, port: number }
}

/** Maximum length as text. @source RFC 1035 section 2.3.4 */
const hostBytesMax = 253

export function formatAddress({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

/**
 * Parses an address that other members connect to; a wildcard address is rejected.
 *
 * @throws ConfigError with the expected form
 */
export function memberAddress(text: string): string {
  const address = parseAddress(text)
  if (['0.0.0.0', '::', '0:0:0:0:0:0:0:0'].includes(address.host)) {
    throw new ConfigError(
      `must be an address that others can connect to, such as 10.0.0.4:7443, not ${JSON.stringify(text)}`,
    )
  }
  return formatAddress(address)
}

/** Parses `host:port`, or a URL as in a kubeconfig. @throws ConfigError */
export function joinAddress(text: string): string {
  return formatAddress(
    parseAddress(
      text
        .trim()
        .replace(/^https:\/\//, '')
        .replace(/\/$/, ''),
    ),
  )
}

/** A member of a new cluster, equal in the configuration of all members. */
export type InitialMember = {
  readonly name: string
  readonly peerAddress: string
  readonly clientAddress: string
}

/**
 * Parses `n1=10.0.0.1:7443/10.0.0.1:6443`: name, peer address, client address. In a file: a list of
 * `{name, peer-address, client-address}`.
 */
export function parseInitialMember(text: string): InitialMember {
  const [, name, peer, client] = /^([^=]+)=([^/]+)\/(.+)$/.exec(text) ?? []
  if (name === undefined || peer === undefined || client === undefined) {
    throw new ConfigError(`must be NAME=PEER_HOST:PORT/CLIENT_HOST:PORT, not ${JSON.stringify(text)}`)
  }
  return {
    name: checkMemberName(name),
    peerAddress: formatAddress(parseAddress(peer)),
    clientAddress: formatAddress(parseAddress(client)),
  }
}

/** A DNS label, because it is part of certificates. */
export function checkMemberName(name: string): string {
  if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name)) {
    throw new ConfigError(
      `must be lower-case letters, digits and "-", at most 63, not ${JSON.stringify(name)}`,
    )
  }
  return name
}
