import type { KeyObject, X509Certificate } from 'node:crypto'
import { readCertificateDer } from './certificate.ts'
import type { Certificate } from './certificate.ts'
import { PkiError } from './errors.ts'
import type { TrustBundle } from './trust-bundle.ts'

/**
 * Purpose of a certificate. Each purpose has a bundle of its own: an authority for proxies is not
 * trusted for clients. TLS itself verifies peers, on a port of their own
 * (`raft/transport/peer-identity.ts`).
 */
export type Purpose = 'client' | 'front-proxy'

export type ChainVerdict =
  | {
      readonly kind: 'trusted'
      readonly leaf: Certificate
      /** Fingerprint of the authority: the verdict is valid in any bundle that contains it. */
      readonly authority: string
      /** End of validity in ms since 1970: the earliest expiry in the chain. */
      readonly untilMs: number
    }
  | { readonly kind: 'refused'; readonly reason: string }

/** Limits of one verification, so that no chain takes longer than a few milliseconds. */
const presentedMax = 16
const lengthMax = 10
const signaturesMax = 32
const rsaBitsMin = 1024
/** As in Go: with longer keys, one signature takes as long as hundreds of usual ones. */
const rsaBitsMax = 8192
/** With the exponent 1 a signature is its text: it proves nothing. */
const rsaExponentMin = 3n
const rsaExponentMax = 2n ** 31n - 1n
const curves: ReadonlySet<string> = new Set(['prime256v1', 'secp384r1', 'secp521r1'])

/**
 * Verifies that the first of the presented certificates leads, through the others in any order, to
 * an authority of the bundle. Checks signatures, validity, basic constraints, path lengths and
 * extended key usages of the whole chain. Rejects unknown critical extensions and authorities with
 * name constraints. Presented certificates with keys of unusual types or sizes are not accepted as
 * issuers, because they could make each verification slow.
 *
 * @param presented in the order of the caller, its own certificate first
 * @param nowMs since 1970
 * @source RFC 5280 section 6.1; Go `crypto/x509` `Certificate.Verify`, whose behavior clients know
 */
export function verifyChain(
  presented: readonly X509Certificate[],
  purpose: Purpose,
  trust: TrustBundle,
  nowMs: number,
): ChainVerdict {
  if (presented.length > presentedMax) return refused(`more than ${presentedMax} certificates were shown`)
  const [leaf, ...others] = presented.map(readable)
  if (leaf === undefined || leaf === null) return refused('the certificate cannot be read')
  const search = new Search(
    trust.authorities,
    others.filter((one) => one !== null).filter(({ publicKey }) => verifiesQuickly(publicKey)),
    (chain) => faultOf(chain, purpose, nowMs),
  )
  const chain = search.from([leaf])
  if (chain === null) return refused(search.fault ?? 'no authority of the bundle issued the certificate')
  const untilMs = Math.min(...chain.map(({ notAfterMs }) => notAfterMs))
  return { kind: 'trusted', leaf, authority: chain.at(-1)?.fingerprint ?? '', untilMs }
}

function refused(reason: string): ChainVerdict {
  return { kind: 'refused', reason }
}

function readable(certificate: X509Certificate): Certificate | null {
  try {
    return readCertificateDer(certificate.raw)
  } catch (cause) {
    if (!(cause instanceof PkiError)) throw cause
    return null
  }
}

/** Whether the caller may make this server verify signatures with a key. */
function verifiesQuickly({
  asymmetricKeyType: type,
  asymmetricKeyDetails: details = {},
}: KeyObject): boolean {
  const { modulusLength = Infinity, publicExponent = rsaExponentMax + 1n, namedCurve = '' } = details
  if (type === 'rsa' || type === 'rsa-pss') {
    return modulusLength <= rsaBitsMax && publicExponent <= rsaExponentMax
  }
  return type === 'ed25519' || type === 'ed448' || (type === 'ec' && curves.has(namedCurve))
}

/** Depth-first search for a valid chain. */
class Search {
  /** Fault of the first complete chain. */
  fault: string | null = null
  readonly #authorities: readonly Certificate[]
  readonly #others: readonly Certificate[]
  readonly #faultOf: (chain: readonly Certificate[]) => string | null
  #signaturesLeft = signaturesMax

  constructor(
    authorities: readonly Certificate[],
    others: readonly Certificate[],
    findFault: (chain: readonly Certificate[]) => string | null,
  ) {
    this.#authorities = authorities
    this.#others = others
    this.#faultOf = findFault
  }

  /** @param path leaf first, each issued by the next @returns the complete chain */
  from(path: readonly Certificate[]): readonly Certificate[] | null {
    const last = path.at(-1) as Certificate
    const isAuthority = this.#authorities.some(({ fingerprint }) => fingerprint === last.fingerprint)
    if (isAuthority && this.#isFaultless(path)) return path
    if (path.length >= lengthMax) return null
    for (const authority of this.#authorities) {
      if (!this.#issued(authority, last)) continue
      const chain = [...path, authority]
      if (this.#isFaultless(chain)) return chain
    }
    for (const other of this.#others) {
      if (path.some(({ fingerprint }) => fingerprint === other.fingerprint)) continue
      if (!this.#issued(other, last)) continue
      const chain = this.from([...path, other])
      if (chain !== null) return chain
    }
    return null
  }

  #isFaultless(chain: readonly Certificate[]): boolean {
    const fault = this.#faultOf(chain)
    this.fault ??= fault
    return fault === null
  }

  #issued(issuer: Certificate, child: Certificate): boolean {
    if (!child.x509.checkIssued(issuer.x509)) return false
    if (this.#signaturesLeft === 0) return false
    this.#signaturesLeft--
    return child.x509.verify(issuer.publicKey)
  }
}

/** @param chain leaf first, authority last; signatures are verified @returns null: valid */
function faultOf(chain: readonly Certificate[], purpose: Purpose, nowMs: number): string | null {
  for (const [at, certificate] of chain.entries()) {
    const fault =
      ofDates(certificate, nowMs) ??
      ofUsage(certificate, usageOf[purpose]) ??
      ofStrength(certificate, at === chain.length - 1 && at > 0) ??
      ofExtensions(certificate) ??
      (at === 0 ? null : ofIssuer(certificate, at - 1))
    if (fault !== null) return `certificate ${at + 1} of the chain ${fault}`
  }
  return null
}

function ofDates({ notBeforeMs, notAfterMs }: Certificate, nowMs: number): string | null {
  if (nowMs < notBeforeMs) return 'is not valid yet'
  return nowMs > notAfterMs ? 'has expired' : null
}

/** A certificate that lists extended key usages must list `wanted` or any usage. */
function ofUsage({ extendedUsages }: Certificate, wanted: string): string | null {
  if (extendedUsages === null || extendedUsages.includes(wanted)) return null
  return extendedUsages.includes(anyUsage) ? null : 'is not meant for clients'
}

/** @param isAnchor whether it is the authority itself, whose own signature is not needed */
function ofStrength({ signatureAlgorithm, publicKey }: Certificate, isAnchor: boolean): string | null {
  if (!isAnchor && !strongSignatures.has(signatureAlgorithm)) return 'has a weak signature'
  const { modulusLength = rsaBitsMin, publicExponent = rsaExponentMin } = publicKey.asymmetricKeyDetails ?? {}
  return modulusLength < rsaBitsMin || publicExponent < rsaExponentMin ? 'has a weak key' : null
}

function ofExtensions({ criticalExtensions }: Certificate): string | null {
  for (const id of criticalExtensions) {
    if (!understood.has(id)) return `has the critical extension ${id}, which is not supported`
  }
  return null
}

/** @param between number of intermediate certificates between the leaf and this one */
function ofIssuer({ isAuthority, pathLengthMax, extensions }: Certificate, between: number): string | null {
  if (!isAuthority) return 'is not a CA certificate'
  if (pathLengthMax !== null && between > pathLengthMax) return 'allows only shorter chains'
  return extensions.has(nameConstraints) ? 'has name constraints, which are not supported' : null
}

const clientUsage = '1.3.6.1.5.5.7.3.2'
const anyUsage = '2.5.29.37.0'
const nameConstraints = '2.5.29.30'
const usageOf = { client: clientUsage, 'front-proxy': clientUsage } as const satisfies Record<Purpose, string>

/**
 * Basic constraints, key usage, alternative names, policies (none is required), extended key usage.
 */
const understood: ReadonlySet<string> = new Set([
  '2.5.29.19',
  '2.5.29.15',
  '2.5.29.17',
  '2.5.29.32',
  '2.5.29.37',
])

/** RSA and ECDSA with SHA-2, Ed25519, Ed448. RSASSA-PSS is given by its digest, also SHA-2. */
const strongSignatures: ReadonlySet<string> = new Set([
  ...['1.2.840.113549.1.1.11', '1.2.840.113549.1.1.12', '1.2.840.113549.1.1.13'],
  ...['1.2.840.10045.4.3.2', '1.2.840.10045.4.3.3', '1.2.840.10045.4.3.4'],
  ...['1.3.101.112', '1.3.101.113'],
  ...['2.16.840.1.101.3.4.2.1', '2.16.840.1.101.3.4.2.2', '2.16.840.1.101.3.4.2.3'],
])
