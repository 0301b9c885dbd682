import { createHash, X509Certificate } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { childrenOf, contentOf, decodeDer, derType, identifierOf, isContext } from './der.ts'
import type { DerNode } from './der.ts'
import { PkiError } from './errors.ts'
import { attribute, decodeIp, textOf } from './names.ts'
import type { AlternativeNames, Subject } from './names.ts'
import { fromPem } from './pem.ts'

/** Content of a certificate. Names come from its bytes, never from an escaped text form. */
export type Certificate = {
  readonly subject: Subject
  readonly names: AlternativeNames
  /** Milliseconds since 1970 UTC. */
  readonly notBeforeMs: number
  readonly notAfterMs: number
  /** Lower-case hex. */
  readonly serial: string
  /** SHA-256 of the DER bytes, lower-case hex. */
  readonly fingerprint: string
  readonly isAuthority: boolean
  /** Maximum number of intermediate certificates below this authority; null: unlimited. */
  readonly pathLengthMax: number | null
  /** Object identifiers of the extended key usages; null: none, so all usages are allowed. */
  readonly extendedUsages: readonly string[] | null
  /** Object identifiers of all extensions, and of the critical ones. */
  readonly extensions: ReadonlySet<string>
  readonly criticalExtensions: ReadonlySet<string>
  /**
   * Object identifier of the signature algorithm; for RSASSA-PSS that of its digest, or `sha1`, the
   * default digest.
   */
  readonly signatureAlgorithm: string
  readonly publicKey: KeyObject
  /** RFC 5280 subject key identifier; null: absent. */
  readonly keyIdentifier: Uint8Array | null
  /** The encoded subject, to be copied into issued certificates. */
  readonly subjectNode: DerNode
  readonly x509: X509Certificate
}

/** Maximum size, so that parsing takes a bounded time. */
const certificateBytesMax = 64 * 1024

/** @param pem the first certificate is used @throws PkiError `malformed` */
export function readCertificate(pem: string): Certificate {
  return readCertificateDer(fromPem('CERTIFICATE', pem))
}

/**
 * The certificates that were parsed last, by fingerprint. The same files are read for several
 * purposes, above all during a start, and parsing is slow. Certificates are immutable.
 */
const recent = new Map<string, Certificate>()
const recentMax = 64

/** @throws PkiError `malformed` */
export function readCertificateDer(der: Uint8Array): Certificate {
  if (der.byteLength > certificateBytesMax) throw new PkiError('malformed', 'certificate is too large')
  const fingerprint = createHash('sha256').update(der).digest('hex')
  const known = recent.get(fingerprint)
  if (known !== undefined) return known
  const certificate = parsed(der, fingerprint)
  const [oldest] = recent.keys()
  if (recent.size === recentMax && oldest !== undefined) recent.delete(oldest)
  recent.set(fingerprint, certificate)
  return certificate
}

function parsed(der: Uint8Array, fingerprint: string): Certificate {
  try {
    return readFields(der, fingerprint)
  } catch (cause) {
    // The runtime and the DER library throw different errors for the same cause.
    if (cause instanceof PkiError) throw cause
    throw new PkiError('malformed', 'not an X.509 certificate', { cause })
  }
}

function readFields(der: Uint8Array, fingerprint: string): Certificate {
  const x509 = new X509Certificate(der)
  // TBSCertificate: [0] version, serial, signature, issuer, validity, subject, key, ..., [3]
  // extensions.
  const [body, signatureAlgorithm] = childrenOf(decodeDer(der))
  const fields = childrenOf(body)
  const at = isContext(fields[0], 0) ? 1 : 0
  const subjectNode = fields[at + 4]
  if (subjectNode === undefined) throw new PkiError('malformed', 'certificate has no subject')
  const extensions = readExtensions(fields.find((field) => isContext(field, 3)))
  return {
    subject: readSubject(subjectNode),
    names: readNames(extensions.get('2.5.29.17')?.content),
    notBeforeMs: msOfDate(x509.validFrom),
    notAfterMs: msOfDate(x509.validTo),
    serial: x509.serialNumber.toLowerCase(),
    fingerprint,
    isAuthority: x509.ca,
    pathLengthMax: readPathLength(extensions.get('2.5.29.19')?.content),
    // The declared type hides that the value may be undefined.
    extendedUsages: x509.keyUsage ?? null,
    extensions: new Set(extensions.keys()),
    criticalExtensions: new Set([...extensions].flatMap(([id, { isCritical }]) => (isCritical ? [id] : []))),
    signatureAlgorithm: readSignatureAlgorithm(signatureAlgorithm),
    publicKey: x509.publicKey,
    keyIdentifier: readKeyIdentifier(extensions.get('2.5.29.14')?.content),
    subjectNode,
    x509,
  }
}

function msOfDate(date: string): number {
  const ms = Date.parse(date)
  if (Number.isNaN(ms)) throw new PkiError('malformed', 'certificate has no validity')
  return ms
}

/**
 * Returns the user, which is the last of several common names, as in Go, and the groups, which are
 * all organizations.
 *
 * @throws PkiError `malformed`
 */
export function readSubject(name: DerNode): Subject {
  return {
    commonName: readCommonNames(name).at(-1) ?? '',
    organizations: readAttributes(name, attribute.organization),
  }
}

/** @throws PkiError `malformed` */
export function readCommonNames(name: DerNode): readonly string[] {
  return readAttributes(name, attribute.commonName)
}

function readAttributes(name: DerNode, wanted: string): readonly string[] {
  const values: string[] = []
  for (const relative of childrenOf(name)) {
    for (const pair of childrenOf(relative)) {
      const [type, value] = childrenOf(pair)
      if (identifierOf(type) === wanted) values.push(readText(value))
    }
  }
  return values
}

function readText(node: DerNode | undefined): string {
  const bytes = contentOf(node)
  try {
    const text = textOf(Number(node?.type), bytes)
    if (text !== null) return text
  } catch (cause) {
    throw new PkiError('malformed', 'a certificate name is not valid text', { cause })
  }
  throw new PkiError('malformed', 'a certificate name has an unknown string type')
}

type Extension = { readonly isCritical: boolean; readonly content: Uint8Array }

function readExtensions(node: DerNode | undefined): ReadonlyMap<string, Extension> {
  return node === undefined ? new Map() : readExtensionList(childrenOf(node)[0])
}

/** Reads the extensions of a certificate or of a request by identifier. @throws PkiError */
export function readExtensionList(list: DerNode | undefined): ReadonlyMap<string, Extension> {
  const extensions = new Map<string, Extension>()
  for (const extension of childrenOf(list)) {
    const parts = childrenOf(extension)
    const id = identifierOf(parts[0])
    // Forbidden by RFC 5280 section 4.2: the second one could hide the first.
    if (extensions.has(id)) throw new PkiError('malformed', 'there is an extension twice')
    // The optional `critical` flag precedes the content.
    const isCritical = parts.length === 3 && contentOf(parts[1])[0] !== 0
    extensions.set(id, { isCritical, content: contentOf(parts.at(-1)) })
  }
  return extensions
}

function readPathLength(basicConstraints: Uint8Array | undefined): number | null {
  if (basicConstraints === undefined) return null
  const length = childrenOf(decodeDer(basicConstraints)).find((node) => Number(node.type) === derType.integer)
  if (length === undefined) return null
  const bytes = contentOf(length)
  // A longer number exceeds every chain that is accepted.
  return bytes.byteLength === 1 ? (bytes[0] ?? 0) : 255
}

function readSignatureAlgorithm(node: DerNode | undefined): string {
  const [id, parameters] = childrenOf(node)
  const algorithm = identifierOf(id)
  if (algorithm !== rsaPss) return algorithm
  const digest = childrenOf(parameters).find((parameter) => isContext(parameter, 0))
  return digest === undefined ? 'sha1' : identifierOf(childrenOf(childrenOf(digest)[0])[0])
}

const rsaPss = '1.2.840.113549.1.1.10'

function readNames(extension: Uint8Array | undefined): AlternativeNames {
  const names = { dns: [] as string[], ips: [] as string[], uris: [] as string[] }
  if (extension === undefined) return names
  for (const name of childrenOf(decodeDer(extension))) {
    if (isContext(name, 2)) names.dns.push(Buffer.from(contentOf(name)).toString('latin1'))
    else if (isContext(name, 6)) names.uris.push(Buffer.from(contentOf(name)).toString('latin1'))
    else if (isContext(name, 7)) names.ips.push(decodeIp(contentOf(name)) ?? '')
  }
  return names
}

function readKeyIdentifier(extension: Uint8Array | undefined): Uint8Array | null {
  return extension === undefined ? null : contentOf(decodeDer(extension))
}
