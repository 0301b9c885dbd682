import { createHash, sign } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { assert } from '../../base/assert.ts'
import type { Random } from '../../base/random.ts'
import { readCertificate } from './certificate.ts'
import type { Certificate } from './certificate.ts'
import { bitString, boolean, decodeDer, derNull, encodeDer, integer, objectIdentifier } from './der.ts'
import { octetString, sequence, tagged, taggedNodes, time } from './der.ts'
import type { DerNode } from './der.ts'
import { PkiError } from './errors.ts'
import { generateKeyPair, samePublicKey } from './keys.ts'
import type { KeyPair } from './keys.ts'
import { encodeAlternativeNames, encodeSubject } from './names.ts'
import type { AlternativeNames, Subject } from './names.ts'
import { toPem } from './pem.ts'

/** A certificate authority with its key. */
export type Authority = {
  readonly certificatePem: string
  readonly certificate: Certificate
  readonly privateKey: KeyObject
}

/** Extended key usage of a certificate. */
export type Usage = 'server' | 'client'

export type Validity = {
  /** Milliseconds since 1970 UTC. */
  readonly notBeforeMs: number
  readonly notAfterMs: number
}

export type CertificateRequest = Validity & {
  readonly subject: Subject
  readonly names: AlternativeNames
  /** At least one usage. */
  readonly usages: readonly Usage[]
  readonly publicKey: KeyObject
}

/** @param random draws the serial number */
export function createAuthority(
  options: Validity & { readonly commonName: string; readonly random: Random; readonly keys?: KeyPair },
): Authority {
  const keys = options.keys ?? generateKeyPair()
  const subject = encodeSubject({ commonName: options.commonName, organizations: [] })
  const identifier = keyIdentifier(keys.publicKey)
  const certificatePem = signed({
    issuer: subject,
    subject,
    validity: options,
    publicKey: keys.publicKey,
    extensions: [
      extension('2.5.29.19', 'critical', sequence(boolean(true))),
      // digitalSignature, keyCertSign, cRLSign: bits 0, 5 and 6 of seven.
      extension('2.5.29.15', 'critical', bitString(Uint8Array.of(0b1000_0110), 1)),
      extension('2.5.29.14', 'plain', octetString(identifier)),
      extension('2.5.29.35', 'plain', sequence(tagged(0, identifier))),
    ],
    signer: keys.privateKey,
    random: options.random,
  })
  return { certificatePem, certificate: readCertificate(certificatePem), privateKey: keys.privateKey }
}

/**
 * @throws PkiError `malformed`; `mismatched` when the key does not match, or the certificate is
 * not an authority
 */
export function loadAuthority(certificatePem: string, keys: KeyPair): Authority {
  const certificate = readCertificate(certificatePem)
  if (!certificate.isAuthority) {
    throw new PkiError('mismatched', 'the certificate may not sign certificates')
  }
  if (!samePublicKey(certificate.publicKey, keys.publicKey)) {
    throw new PkiError('mismatched', 'the certificate belongs to another key')
  }
  return { certificatePem, certificate, privateKey: keys.privateKey }
}

/**
 * Issues a certificate that is not an authority, in PEM. It expires no later than its issuer.
 *
 * @throws PkiError `refused` when the issuer expires before the certificate would become valid, a
 * name cannot be encoded, or the key of the issuer is of a type that cannot sign
 * @source RFC 5280 section 4.2
 */
export function issueCertificate(authority: Authority, request: CertificateRequest, random: Random): string {
  assert(request.usages.length >= 1, 'a certificate has a usage')
  const usageIds = { server: '1.3.6.1.5.5.7.3.1', client: '1.3.6.1.5.5.7.3.2' } satisfies Record<
    Usage,
    string
  >
  const usages = request.usages.map((usage) => objectIdentifier(usageIds[usage]))
  const encoded = {
    ...request,
    subject: encodeSubject(request.subject),
    keyUsage: endEntityKeyUsage(request.publicKey),
    extendedUsages: sequence(...usages),
  }
  return issueEncoded(authority, encoded, random)
}

/** A request whose subject and usages are encoded. */
export type EncodedRequest = Validity & {
  readonly subject: DerNode
  readonly names: AlternativeNames & { readonly emails?: readonly string[] }
  readonly publicKey: KeyObject
  /** null: no such extension. */
  readonly keyUsage: DerNode | null
  readonly extendedUsages: DerNode | null
}

/** As `issueCertificate`. @throws PkiError `refused` */
export function issueEncoded(authority: Authority, request: EncodedRequest, random: Random): string {
  const issuer = authority.certificate
  const { names, publicKey, extendedUsages } = request
  const notAfterMs = Math.min(request.notAfterMs, issuer.notAfterMs)
  if (notAfterMs <= request.notBeforeMs) throw new PkiError('refused', 'the issuer is no longer valid then')
  const named = names.dns.length + names.ips.length + names.uris.length + (names.emails?.length ?? 0) > 0
  return signed({
    issuer: issuer.subjectNode,
    subject: request.subject,
    validity: { notBeforeMs: request.notBeforeMs, notAfterMs },
    publicKey,
    extensions: [
      extension('2.5.29.19', 'critical', sequence()),
      ...(request.keyUsage === null ? [] : [extension('2.5.29.15', 'critical', request.keyUsage)]),
      ...(extendedUsages === null ? [] : [extension('2.5.29.37', 'plain', extendedUsages)]),
      extension('2.5.29.14', 'plain', octetString(keyIdentifier(publicKey))),
      extension('2.5.29.35', 'plain', sequence(tagged(0, authorityIdentifier(issuer)))),
      ...(named ? [extension('2.5.29.17', 'plain', encodeAlternativeNames(names))] : []),
    ],
    signer: authority.privateKey,
    random,
  })
}

/** Returns digitalSignature; for RSA keys also keyEncipherment, for old TLS suites. */
export function endEntityKeyUsage(key: KeyObject): DerNode {
  return key.asymmetricKeyType === 'rsa'
    ? bitString(Uint8Array.of(0b1010_0000), 5)
    : bitString(Uint8Array.of(0b1000_0000), 7)
}

/** The first 160 bits of SHA-256 of the key in DER. @source RFC 7093 section 2, method 4 */
function keyIdentifier(key: KeyObject): Uint8Array {
  return createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest()
    .subarray(0, 20)
}

function authorityIdentifier(issuer: Certificate): Uint8Array {
  return issuer.keyIdentifier ?? keyIdentifier(issuer.publicKey)
}

function extension(oid: string, weight: 'critical' | 'plain', value: DerNode): DerNode {
  const critical = weight === 'critical' ? [boolean(true)] : []
  return sequence(objectIdentifier(oid), ...critical, octetString(encodeDer(value)))
}

type Unsigned = {
  readonly issuer: DerNode
  readonly subject: DerNode
  readonly validity: Validity
  readonly publicKey: KeyObject
  readonly extensions: readonly DerNode[]
  readonly signer: KeyObject
  readonly random: Random
}

function signed(what: Unsigned): string {
  const { algorithm, digest } = signatureAlgorithm(what.signer)
  const body = sequence(
    taggedNodes(0, integer(Uint8Array.of(2))),
    integer(serialNumber(what.random)),
    algorithm,
    what.issuer,
    sequence(time(what.validity.notBeforeMs), time(what.validity.notAfterMs)),
    what.subject,
    decodeDer(what.publicKey.export({ type: 'spki', format: 'der' })),
    taggedNodes(3, sequence(...what.extensions)),
  )
  const signature = sign(digest, encodeDer(body), what.signer)
  return toPem('CERTIFICATE', encodeDer(sequence(body, algorithm, bitString(signature))))
}

/**
 * Returns a clear bit, a set bit and 126 random bits: never negative, never zero.
 *
 * @source RFC 5280 section 4.1.2.2
 */
function serialNumber(random: Random): Uint8Array {
  const serial = Uint8Array.from(random.bytes(16))
  serial[0] = ((serial[0] ?? 0) & 0x3f) | 0x40
  return serial
}

function signatureAlgorithm(key: KeyObject): { readonly algorithm: DerNode; readonly digest: string | null } {
  switch (key.asymmetricKeyType) {
    case 'ec':
      return { algorithm: sequence(objectIdentifier('1.2.840.10045.4.3.2')), digest: 'sha256' }
    case 'rsa':
      // RFC 4055 requires the NULL parameter that RFC 5758 forbids for ECDSA.
      return { algorithm: sequence(objectIdentifier('1.2.840.113549.1.1.11'), derNull()), digest: 'sha256' }
    case 'ed25519':
      return { algorithm: sequence(objectIdentifier('1.3.101.112')), digest: null }
    default:
      throw new PkiError('refused', `cannot sign with a key of type ${String(key.asymmetricKeyType)}`)
  }
}
