import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { formatTime } from '../api/metadata/time.ts'
import { readCertificate } from '../pki/certificate.ts'
import type { Certificate } from '../pki/certificate.ts'
import { clusterPkiPaths } from '../pki/cluster-pki.ts'
import { readTextFile } from '../pki/files.ts'
import { membersIn, placesIn } from '../pki/renewal/renewable-pairs.ts'
import { naming } from '../pki/renewal/signer.ts'
import { readTrustBundle } from '../pki/trust-bundle.ts'
import { CliError } from './errors.ts'
import { memberCertificates } from './member-certificates.ts'
import type { MemberCertificates, SeenCertificate } from './member-certificates.ts'
import { readEndpoints } from './member-client.ts'
import { renewalIn } from './pki-renew.ts'
import { signingRotation } from './pki-rotate-signing.ts'
import { formatTable } from './terminal.ts'
import type { Format, Terminal } from './terminal.ts'

export type PkiStatusOptions = {
  /** null: members only */
  readonly directory: string | null
  /** null: the directory only */
  readonly kubeconfig: string | null
  readonly format: Format
}

const urgentMs = 7 * 24 * 60 * 60 * 1000

/**
 * Returns the kubeconfig to find the members with: a given one, that of the directory or its
 * parent, or without a directory the default one.
 *
 * @returns null: there is none for the directory
 */
export function kubeconfigOf(path: string, isGiven: boolean, directory: string | null): string | null {
  if (isGiven || directory === null) return path
  const found = [join(directory, 'admin.kubeconfig'), join(directory, '..', 'admin.kubeconfig')]
  return found.find((one) => existsSync(one)) ?? null
}

/**
 * Prints the certificates of a directory and of the members.
 *
 * @returns false: one has expired, or is about to
 * @throws CliError `failed`; PkiError
 */
export async function pkiStatus(terminal: Terminal, options: PkiStatusOptions): Promise<boolean> {
  const { directory, kubeconfig, format } = options
  const files = directory === null ? [] : filesOf(terminal, directory)
  const seen = kubeconfig === null ? none : await reached(kubeconfig, directory)
  for (const line of seen.unreachable) terminal.note(line)
  const rotation = kubeconfig === null ? null : await signingRotation(kubeconfig)
  if (rotation !== null) terminal.note(rotation)
  const all = [...files, ...seen.members.flatMap(({ certificates }) => certificates)]
  if (format === 'json') {
    terminal.print(JSON.stringify({ files, members: seen.members, unreachable: seen.unreachable }, null, 2))
  } else {
    const head = ['WHERE', 'USE', 'SUBJECT', 'ISSUER', 'EXPIRES', 'RENEWS']
    const rows = [
      ...files.map((one) => rowOf('-', one)),
      ...seen.members.flatMap(({ name, certificates }) => certificates.map((one) => rowOf(name, one))),
    ]
    for (const line of formatTable([head, ...rows])) terminal.print(line)
  }
  const nowMs = terminal.clock.wallMs()
  return all.every(({ expires }) => Date.parse(expires) - nowMs > urgentMs)
}

const none: MemberCertificates = { members: [], unreachable: [] }

/**
 * Members that cannot be reached are no failure when there is a directory to show.
 *
 * @throws CliError `failed`: the file is not a kubeconfig
 */
async function reached(kubeconfig: string, directory: string | null): Promise<MemberCertificates> {
  // Without it a wrong file would look like a cluster whose members are stopped.
  readEndpoints(kubeconfig)
  try {
    return await memberCertificates(kubeconfig)
  } catch (cause) {
    if (!(cause instanceof CliError) || directory === null) throw cause
    return { members: [], unreachable: [cause.message] }
  }
}

function rowOf(
  member: string,
  { use, source, subject, issuer, expires, renewal }: SeenCertificate,
): readonly string[] {
  const where = member === '-' ? source : `${member}: ${source}`
  const renews = renewal.byItself ? (renewal.at ?? 'by itself') : `no: ${renewal.why ?? ''}`
  return [where, use, subject, issuer, expires, renews]
}

/** @throws CliError `failed` without certificates; PkiError for unreadable ones */
function filesOf(terminal: Terminal, directory: string): readonly SeenCertificate[] {
  const { ca, peerCa, frontProxyCa } = clusterPkiPaths(directory)
  const uses = [
    ['client-ca', ca.certificate],
    ['peer-ca', peerCa.certificate],
    ['front-proxy-ca', frontProxyCa.certificate],
  ] as const
  const why = 'authorities are replaced by orchctl pki rotate-ca'
  const authorities = uses.flatMap(([use, source]) =>
    existsSync(source)
      ? naming(source, () => readTrustBundle(readTextFile(source))).authorities.map((one) =>
          seen(use, source, one, { byItself: false, at: null, why }),
        )
      : [],
  )
  const renewal = renewalIn(terminal, directory)
  const leaves = placesIn(directory, membersIn(directory)).pairs.flatMap((pair) => {
    const source = pair.paths.certificate
    if (!existsSync(source)) return []
    const certificate = naming(source, () => readCertificate(readTextFile(source)))
    const state = renewal.stateOf(pair)
    const why =
      state.kind === 'impossible'
        ? state.why
        : state.kind === 'absent'
          ? 'its key is missing'
          : 'members renew only the files that they use; for others: orchctl pki renew'
    return [seen(pair.use, source, certificate, { byItself: false, at: null, why })]
  })
  if (authorities.length + leaves.length > 0) return [...authorities, ...leaves]
  const remedy = 'give the directory that orchctl pki init or orchctl cluster up made'
  throw new CliError('failed', `there are no certificates in ${directory}: ${remedy}`)
}

function seen(
  use: string,
  source: string,
  { x509, fingerprint, notBeforeMs, notAfterMs }: Certificate,
  renewal: SeenCertificate['renewal'],
): SeenCertificate {
  const [subject, issuer] = [x509.subject, x509.issuer].map((name) => name.split('\n').join(', '))
  return {
    ...{ use, source, fingerprint, renewal },
    ...{ subject: subject ?? '', issuer: issuer ?? '' },
    ...{ notBefore: formatTime(notBeforeMs), expires: formatTime(notAfterMs) },
  }
}
