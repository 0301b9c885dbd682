import { isIP } from 'node:net'
import { dirname, join } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { createAuthority, issueCertificate, loadAuthority } from './authority.ts'
import type { Authority, CertificateRequest, Validity } from './authority.ts'
import { readCertificate } from './certificate.ts'
import type { Certificate } from './certificate.ts'
import { PkiError } from './errors.ts'
import { makeDirectory, readFileIfThere, writeNewPair } from './files.ts'
import type { Lifetime } from './files.ts'
import { generateKeyPair, privateKeyPem, readPrivateKey } from './keys.ts'
import { samePublicKey } from './keys.ts'
import type { KeyPair } from './keys.ts'
import { ensureKubeconfig } from './kubeconfig.ts'
import { authorityMs, clockSkewMs, leafMs } from './lifetimes.ts'
import { noAlternativeNames } from './names.ts'
import type { AlternativeNames } from './names.ts'
import type { PairPaths } from './renewal/pair-files.ts'

export type PkiMember = {
  /** A DNS label, unique in the cluster. */
  readonly name: string
  /** DNS names and IP addresses for clients, in addition to localhost. */
  readonly hosts: readonly string[]
  /** Address for clients such as `https://10.0.0.1:6443`, written to the kubeconfig. */
  readonly serverUrl: string
}

export type ClusterPkiOptions = {
  readonly directory: string
  /** null: no kubeconfig is created or changed. */
  readonly kubeconfigPath: string | null
  readonly members: readonly PkiMember[]
  readonly clock: Pick<Clock, 'wallMs'>
  readonly random: Random
  /** Unset: `lasting`. */
  readonly lifetime?: Lifetime
}

/** Paths of the files that a run created or changed, and of those that it kept. */
export type ClusterPkiReport = { readonly made: readonly string[]; readonly kept: readonly string[] }

/**
 * All key files of a cluster. Peers have an authority of their own, so no client certificate is
 * valid for peer links.
 */
export type ClusterPkiPaths = {
  readonly ca: PairPaths
  readonly peerCa: PairPaths
  readonly frontProxyCa: PairPaths
  readonly admin: PairPaths
  readonly server: (member: string) => PairPaths
  readonly peer: (member: string) => PairPaths
}

export function clusterPkiPaths(directory: string): ClusterPkiPaths {
  const pair = (...parts: readonly string[]): PairPaths => {
    const stem = join(directory, ...parts)
    return { certificate: `${stem}.crt`, key: `${stem}.key` }
  }
  return {
    ca: pair('ca'),
    peerCa: pair('peer-ca'),
    frontProxyCa: pair('front-proxy-ca'),
    admin: pair('admin'),
    server: (member) => pair('members', member, 'server'),
    peer: (member) => pair('members', member, 'peer'),
  }
}

/** Returns the URI in a peer certificate that identifies its holder as the member of that name. */
export function memberUri(member: string): string {
  return `orch://member/${member}`
}

/** Returns the name of a member in TLS, which is never resolved. */
export function memberDnsName(member: string): string {
  return `${member}.member.orch.internal`
}

/**
 * Creates the missing keys and certificates of a cluster and verifies the existing ones. A second
 * run changes nothing; a run with an additional member adds its files.
 *
 * @throws PkiError `half-present` when one file of a pair is missing, `mismatched` when files do
 * not match or have expired, `malformed`, `refused`, `exists`, `unusable`
 */
export function ensureClusterPki(options: ClusterPkiOptions): ClusterPkiReport {
  for (const member of options.members) checkMember(member)
  return new ClusterPki(options).ensure()
}

class ClusterPki {
  readonly #options: ClusterPkiOptions
  readonly #paths: ClusterPkiPaths
  readonly #made: string[] = []
  readonly #kept: string[] = []

  constructor(options: ClusterPkiOptions) {
    this.#options = options
    this.#paths = clusterPkiPaths(options.directory)
  }

  ensure(): ClusterPkiReport {
    makeDirectory(this.#options.directory)
    const ca = this.#authority(this.#paths.ca, 'orch cluster authority')
    const peerCa = this.#authority(this.#paths.peerCa, 'orch peer authority')
    this.#authority(this.#paths.frontProxyCa, 'orch front proxy authority')
    this.#leaf(this.#paths.admin, ca, {
      subject: { commonName: 'admin', organizations: ['system:masters'] },
      names: noAlternativeNames,
      usages: ['client'],
    })
    for (const member of this.#options.members) this.#member(member, ca, peerCa)
    this.#kubeconfig()
    return { made: this.#made, kept: this.#kept }
  }

  #member(member: PkiMember, ca: Authority, peerCa: Authority): void {
    makeDirectory(dirname(this.#paths.server(member.name).key))
    this.#leaf(this.#paths.server(member.name), ca, {
      subject: { commonName: `orch-apiserver:${member.name}`, organizations: [] },
      names: serverNames(member),
      usages: ['server'],
    })
    this.#leaf(this.#paths.peer(member.name), peerCa, {
      subject: { commonName: member.name, organizations: [] },
      names: { dns: [memberDnsName(member.name)], ips: [], uris: [memberUri(member.name)] },
      usages: ['server', 'client'],
    })
  }

  #authority(paths: PairPaths, commonName: string): Authority {
    const found = this.#readPair(paths.certificate, paths.key)
    if (found === null) {
      const random = this.#options.random
      const made = createAuthority({ ...this.#validity(authorityMs), commonName, random })
      this.#write(paths, made.privateKey, made.certificatePem)
      return made
    }
    const authority = naming(paths.certificate, () => loadAuthority(found.open, readPrivateKey(found.secret)))
    this.#checkTime(paths.certificate, authority.certificate, 'rotate-ca')
    return authority
  }

  #leaf(
    paths: PairPaths,
    issuer: Authority,
    request: Omit<CertificateRequest, 'publicKey' | keyof Validity>,
  ): void {
    const found = this.#readPair(paths.certificate, paths.key)
    if (found !== null) {
      const certificate = naming(paths.certificate, () => readCertificate(found.open))
      const keys = naming(paths.key, () => readPrivateKey(found.secret))
      checkLeaf(paths, { certificate, keys, issuer, names: request.names })
      this.#checkTime(paths.certificate, certificate, 'renew')
      return
    }
    const keys = generateKeyPair()
    const wanted = { ...request, ...this.#validity(leafMs), publicKey: keys.publicKey }
    const pem = issueCertificate(issuer, wanted, this.#options.random)
    this.#write(paths, keys.privateKey, pem)
  }

  #kubeconfig(): void {
    const { kubeconfigPath, members, lifetime } = this.#options
    if (kubeconfigPath === null) return
    const content = {
      servers: members.map(({ name, serverUrl }) => ({ name, url: serverUrl })),
      authorityPem: readFileIfThere(this.#paths.ca.certificate) ?? '',
      certificatePem: readFileIfThere(this.#paths.admin.certificate) ?? '',
      keyPem: readFileIfThere(this.#paths.admin.key) ?? '',
    }
    const answer = ensureKubeconfig(kubeconfigPath, content, lifetime)
    if (answer === 'kept') this.#kept.push(kubeconfigPath)
    else this.#made.push(kubeconfigPath)
  }

  #readPair(open: string, secret: string): { readonly open: string; readonly secret: string } | null {
    const found = { open: readFileIfThere(open), secret: readFileIfThere(secret) }
    if (found.open === null && found.secret === null) return null
    if (found.open === null || found.secret === null) {
      const [there, missing] = found.open === null ? [secret, open] : [open, secret]
      throw new PkiError(
        'half-present',
        `${there} exists but ${missing} does not: restore the missing file or remove both`,
      )
    }
    this.#kept.push(open, secret)
    return { open: found.open, secret: found.secret }
  }

  #write({ key, certificate }: PairPaths, privateKey: KeyPair['privateKey'], certificatePem: string): void {
    const secret = { path: key, text: privateKeyPem(privateKey), secrecy: 'secret' } as const
    const open = { path: certificate, text: certificatePem, secrecy: 'public' } as const
    writeNewPair([secret, open], this.#options.lifetime)
    this.#made.push(key, certificate)
  }

  #validity(lifetimeMs: number): Validity {
    const now = this.#options.clock.wallMs()
    return { notBeforeMs: now - clockSkewMs, notAfterMs: now + lifetimeMs }
  }

  #checkTime(path: string, certificate: Certificate, command: 'renew' | 'rotate-ca'): void {
    if (this.#options.clock.wallMs() > certificate.notAfterMs) {
      const when = new Date(certificate.notAfterMs).toISOString()
      throw new PkiError(
        'mismatched',
        `${path} expired at ${when}: orchctl pki ${command} --dir ${this.#options.directory}`,
      )
    }
  }
}

function checkLeaf(
  paths: PairPaths,
  leaf: {
    readonly certificate: Certificate
    readonly keys: KeyPair
    readonly issuer: Authority
    readonly names: AlternativeNames
  },
): void {
  const { certificate, issuer } = leaf
  if (!samePublicKey(certificate.publicKey, leaf.keys.publicKey)) {
    throw new PkiError('mismatched', `${paths.certificate} belongs to another key than ${paths.key}`)
  }
  if (!certificate.x509.verify(issuer.certificate.publicKey)) {
    throw new PkiError('mismatched', `${paths.certificate} was signed by another authority`)
  }
  const has = certificate.names
  const lacks = [
    ...leaf.names.dns.filter((name) => !has.dns.includes(name)),
    ...leaf.names.ips.filter((ip) => !has.ips.includes(ip)),
    ...leaf.names.uris.filter((uri) => !has.uris.includes(uri)),
  ]
  if (lacks.length > 0) {
    throw new PkiError(
      'mismatched',
      `${paths.certificate} is not valid for ${lacks.join(', ')}: remove it and its key, then run again`,
    )
  }
}

/** Returns loopback, the member's name, its hosts, and both names of the API server's Service. */
function serverNames(member: PkiMember): AlternativeNames {
  const services = ['orch', 'kubernetes'].flatMap((service) =>
    ['', '.default', '.default.svc', '.default.svc.cluster.local'].map((suffix) => service + suffix),
  )
  const isAddress = (host: string): boolean => isIP(host) !== 0
  const dns = ['localhost', member.name, ...member.hosts.filter((host) => !isAddress(host)), ...services]
  const ips = ['127.0.0.1', '::1', ...member.hosts.filter(isAddress).map(canonicalIp)]
  return { dns: [...new Set(dns)], ips: [...new Set(ips)], uris: [] }
}

function canonicalIp(ip: string): string {
  return isIP(ip) === 6 ? new URL(`http://[${ip}]`).hostname.slice(1, -1) : ip
}

function checkMember(member: PkiMember): void {
  if (!/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(member.name)) {
    throw new PkiError('refused', `member name "${member.name}" is not a DNS label`)
  }
  for (const host of member.hosts) {
    if (isIP(host) === 0 && !/^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/.test(host)) {
      throw new PkiError('refused', `"${host}" is neither a host name nor an IP address`)
    }
  }
}

/** Adds the path to an error. */
function naming<T>(path: string, read: () => T): T {
  try {
    return read()
  } catch (cause) {
    if (cause instanceof PkiError) throw new PkiError(cause.code, `${path}: ${cause.message}`, { cause })
    throw cause
  }
}
