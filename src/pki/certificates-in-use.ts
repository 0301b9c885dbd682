import type { Config } from '../config/config.ts'
import { commonSigningFiles, signerCertificateFlags } from '../config/signing-files.ts'
import { readCertificate } from './certificate.ts'
import type { Certificate } from './certificate.ts'
import { PkiError } from './errors.ts'
import { readTextFile } from './files.ts'
import type { MemberKeys } from './member-keys.ts'
import type { RenewablePair } from './renewal/renewable-pairs.ts'
import type { RenewalState } from './renewal/renewal-state.ts'
import { readTrustBundle } from './trust-bundle.ts'

/** The uses of certificates in a member. `outward`: shown to webhooks and node agents. */
export const certificateUses = [
  ...(['server', 'peer', 'admin', 'client-ca', 'peer-ca', 'front-proxy-ca'] as const),
  ...(['signing-ca', 'outward'] as const),
] as const

export type CertificateUse = (typeof certificateUses)[number]

/** How a certificate is replaced before it expires. */
export type RenewalPlan =
  | { readonly kind: 'by-itself'; readonly atMs: number | null }
  | { readonly kind: 'by-operator'; readonly why: string }

export type CertificateInUse = {
  readonly use: CertificateUse
  /** The file, or a description of another source. */
  readonly source: string
  readonly certificate: Certificate
  readonly plan: RenewalPlan
}

/** A certificate that this member shows to another server. */
export type OutwardCertificate =
  /** Read again when the file changes. */
  | { readonly kind: 'file'; readonly path: string }
  /** Embedded in a kubeconfig, which is read at the start. */
  | { readonly kind: 'embedded'; readonly source: string; readonly pem: string }

/** The authority that members share and that signs certificate requests. */
export type SharedAuthoritiesInUse = {
  /**
   * The authority that signs, in PEM; of several certificates the last one. Empty before the first
   * authority was created.
   */
  readonly certificates: string
  /** The remaining lifetime at which another authority replaces the one that signs. */
  readonly renewalMs: number
}

export type CertificateSources = {
  readonly config: Config
  readonly keys: MemberKeys
  /** The pairs that this member may renew, with their state. */
  readonly pairs: readonly RenewablePair[]
  readonly stateOf: (pair: RenewablePair) => RenewalState | { readonly kind: 'absent' }
  readonly sharedAuthorities: SharedAuthoritiesInUse
  readonly outward: readonly OutwardCertificate[]
}

/** Maximum number of listed certificates of each use; those that expire last are left out. */
const perUseMax = 16

/**
 * Returns the certificates that a member uses in these ways, by use and then by expiry, except
 * shared authorities that were replaced.
 */
export function certificatesInUse(sources: CertificateSources): readonly CertificateInUse[] {
  const all = [...leaves(sources), ...authorities(sources), ...outwardOf(sources.outward)]
  return certificateUses.flatMap((use) =>
    all
      .filter((one) => one.use === use)
      .sort((a, b) => a.certificate.notAfterMs - b.certificate.notAfterMs)
      .slice(0, perUseMax),
  )
}

/** Returns a name for logs and metrics: the subject, and the start of the fingerprint. */
export function certificateName({ subject, fingerprint }: Certificate): string {
  const name = subject.commonName === '' ? subject.organizations.join(',') : subject.commonName
  return `${name.slice(0, 64)} (${fingerprint.slice(0, 16)})`
}

function leaves({ config, keys, pairs, stateOf }: CertificateSources): readonly CertificateInUse[] {
  const used = { server: keys.server.certificate, peer: keys.peer?.certificate ?? null, admin: null }
  const own = pairs.flatMap((pair): readonly CertificateInUse[] => {
    const source = pair.paths.certificate
    const pem = pair.use === 'admin' ? textOrEmpty(source) : used[pair.use]
    return listed(pair.use, source, pem, planOf(stateOf(pair)))
  })
  // Without --client-ca-file the server certificate is not among the pairs that can be renewed.
  if (own.some(({ use }) => use === 'server')) return own
  const why = 'without --client-ca-file its authority is unknown'
  return [
    ...own,
    ...listed('server', config['tls-cert-file'], keys.server.certificate, { kind: 'by-operator', why }),
  ]
}

function planOf(state: RenewalState | { readonly kind: 'absent' }): RenewalPlan {
  switch (state.kind) {
    case 'due':
      return { kind: 'by-itself', atMs: null }
    case 'scheduled':
      return { kind: 'by-itself', atMs: state.atMs }
    case 'impossible':
      return { kind: 'by-operator', why: state.why }
    case 'absent':
      return { kind: 'by-operator', why: 'one of its files is missing' }
  }
}

const rotated: RenewalPlan = { kind: 'by-operator', why: 'authorities are replaced by orchctl pki rotate-ca' }

function authorities({ config, keys, sharedAuthorities }: CertificateSources): readonly CertificateInUse[] {
  const { server, peer } = keys
  const own = 'authorities of this member'
  const signers = [commonSigningFiles.certificate, ...signerCertificateFlags]
    .map((flag) => config[flag])
    .filter((path) => path !== '')
  return [
    ...listed('client-ca', config['client-ca-file'] || own, server.clientAuthorities, rotated),
    ...listed('peer-ca', config['peer-ca-file'], peer?.authority ?? null, rotated),
    ...listed('front-proxy-ca', config['requestheader-client-ca-file'], server.proxyAuthorities, rotated),
    ...(signers.length === 0
      ? sharedSigner(sharedAuthorities)
      : [...new Set(signers)].flatMap((path) =>
          listed('signing-ca', path, firstOf(textOrEmpty(path)), {
            kind: 'by-operator',
            why: `replace ${path} and its key`,
          }),
        )),
  ]
}

/**
 * Returns the shared authority that signs. Earlier ones are still trusted, but were replaced:
 * nothing has to be done when they expire, so they are not reported.
 */
function sharedSigner({ certificates, renewalMs }: SharedAuthoritiesInUse): readonly CertificateInUse[] {
  const plan: RenewalPlan = { kind: 'by-itself', atMs: null }
  return listed('signing-ca', 'shared by the members', certificates, plan)
    .slice(-1)
    .map((one) => ({
      ...one,
      plan: { kind: 'by-itself', atMs: one.certificate.notAfterMs - renewalMs },
    }))
}

function outwardOf(outward: readonly OutwardCertificate[]): readonly CertificateInUse[] {
  return outward.flatMap((one) => {
    const isFile = one.kind === 'file'
    const [source, pem] = isFile ? [one.path, textOrEmpty(one.path)] : [one.source, one.pem]
    const why = isFile ? `replace ${source} and its key` : `replace it in ${source} and restart`
    return listed('outward', source, firstOf(pem), { kind: 'by-operator', why })
  })
}

/**
 * Returns an entry for each certificate of a PEM text. For a server, a peer or the admin, only the
 * first certificate of the chain is listed. A text that cannot be read has no entries.
 */
function listed(
  use: CertificateUse,
  source: string,
  pem: string | null,
  plan: RenewalPlan,
): readonly CertificateInUse[] {
  if (pem === null || pem === '') return []
  try {
    const isLeaf = use === 'server' || use === 'peer' || use === 'admin'
    const certificates = isLeaf ? [readCertificate(pem)] : readTrustBundle(pem).authorities
    return certificates.map((certificate) => ({ use, source, certificate, plan }))
  } catch (cause) {
    if (cause instanceof PkiError) return []
    throw cause
  }
}

/** Returns the first certificate of a chain, or an empty text. */
function firstOf(pem: string): string {
  const end = '-----END CERTIFICATE-----'
  const at = pem.indexOf(end)
  return at < 0 ? '' : pem.slice(0, at + end.length)
}

function textOrEmpty(path: string): string {
  try {
    return readTextFile(path)
  } catch (cause) {
    if (cause instanceof PkiError) return ''
    throw cause
  }
}
