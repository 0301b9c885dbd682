import { X509Certificate } from 'node:crypto'
import { createSecureContext, DEFAULT_MIN_VERSION } from 'node:tls'
import type { PeerCertificate, SecureContext, SecureContextOptions } from 'node:tls'
import { credentials, ServerCredentials } from '@grpc/grpc-js'
import type { ChannelCredentials } from '@grpc/grpc-js'
import { TransportError } from './errors.ts'

/** This member's peer certificate, its key, and the certificate authorities of peers. PEM text. */
export type PeerCredentials = {
  readonly authorityPem: string
  readonly certificatePem: string
  readonly keyPem: string
}

/**
 * A peer is identified by its verified certificate, which contains exactly one URI
 * `orch://member/<name>`. Common names are for display only. (`src/pki` issues such certificates.)
 */
const memberUri = /^URI:orch:\/\/member\/([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)$/

/**
 * Returns the TLS server name of a member. The identity is verified by the URI, so the name never
 * has to resolve.
 */
export function serverNameOf(member: string): string {
  return `${member}.member.orch.internal`
}

/**
 * Returns the member that a certificate names.
 *
 * @param certificate already verified against the authority of the peers
 * @returns null when it names no member, or several
 */
export function memberNameOf(certificate: Pick<PeerCertificate, 'subjectaltname'>): string | null {
  const names = certificate.subjectaltname ?? ''
  // Node quotes a name that contains commas or quotes. The certificates of this program have no
  // such names, so a certificate with one is not trusted.
  if (names.includes('"')) return null
  const members = names
    .split(', ')
    .map((name) => memberUri.exec(name)?.[1])
    .filter((name) => name !== undefined)
  return members.length === 1 ? (members[0] ?? null) : null
}

/** Both sides of mutual TLS, TLS 1.2 or later, for one member. */
export class PeerTls {
  readonly #self: string
  #authorityPem: string
  readonly #server: RenewableCredentials
  #context: SecureContext

  /** @throws TransportError `identity` when the files are not valid credentials of this member */
  constructor(self: string, peer: PeerCredentials) {
    this.#self = self
    this.#context = contextOf(self, peer)
    this.#authorityPem = peer.authorityPem
    this.#server = new RenewableCredentials(peer)
  }

  get server(): ServerCredentials {
    return this.#server
  }

  /** Returns credentials that accept only the member of that name. */
  dial(member: string): ChannelCredentials {
    return credentials.createFromSecureContext(this.#context, {
      checkServerIdentity: (_host, certificate) => refusal(member, certificate),
    })
  }

  /**
   * Uses these credentials in new handshakes; open connections are not affected.
   *
   * @returns whether an authority was removed
   * @throws TransportError `identity`; the previous credentials stay in use then
   */
  renew(peer: PeerCredentials): boolean {
    const before = certificateTexts(this.#authorityPem)
    this.#context = contextOf(this.#self, peer)
    this.#authorityPem = peer.authorityPem
    this.#server.renew(peer)
    const now = certificateTexts(peer.authorityPem)
    return [...before].some((certificate) => !now.has(certificate))
  }
}

/** Returns each certificate of a PEM text, without its line breaks. */
function certificateTexts(pem: string): ReadonlySet<string> {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? []
  return new Set(blocks.map((block) => block.replace(/\s/g, '')))
}

/**
 * Server credentials that can be renewed. Those that gRPC creates cannot, but their base class has
 * a protected method for it.
 */
class RenewableCredentials extends ServerCredentials {
  constructor(peer: PeerCredentials) {
    super({ requestCert: true }, secureOptions(peer))
  }

  renew(peer: PeerCredentials): void {
    this.updateSecureContextOptions(secureOptions(peer))
  }

  override _equals(other: ServerCredentials): boolean {
    return this === other
  }
}

/** @throws TransportError `identity` */
function contextOf(self: string, peer: PeerCredentials): SecureContext {
  const named = memberNameOf({ subjectaltname: certificateOf(peer).subjectAltName ?? '' })
  if (named !== self) {
    const found = named === null ? 'names no member' : `is that of member "${named}"`
    throw new TransportError(
      'identity',
      `the peer certificate ${found}, this member is "${self}": give it its own certificate`,
    )
  }
  if (DEFAULT_MIN_VERSION < 'TLSv1.2') {
    throw new TransportError(
      'identity',
      `peers do not support ${DEFAULT_MIN_VERSION}; remove that runtime flag`,
    )
  }
  try {
    return createSecureContext(secureOptions(peer))
  } catch (cause) {
    throw new TransportError('identity', 'the peer certificate, key and authority do not fit together', {
      cause,
    })
  }
}

function secureOptions({ authorityPem, certificatePem, keyPem }: PeerCredentials): SecureContextOptions {
  return { ca: authorityPem, cert: certificatePem, key: keyPem, minVersion: 'TLSv1.2' }
}

function refusal(expected: string, certificate: PeerCertificate): Error | undefined {
  const found = memberNameOf(certificate)
  if (found === expected) return undefined
  const actual = found === null ? 'no member' : `member "${found}"`
  return new TransportError('identity', `the certificate there names ${actual}, not "${expected}"`)
}

function certificateOf(peer: PeerCredentials): X509Certificate {
  try {
    return new X509Certificate(peer.certificatePem)
  } catch (cause) {
    throw new TransportError('identity', 'the peer certificate is not a PEM certificate', { cause })
  }
}
