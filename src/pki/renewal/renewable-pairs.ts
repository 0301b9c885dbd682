import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Config } from '../../config/config.ts'
import type { Certificate } from '../certificate.ts'
import { clusterPkiPaths, memberUri } from '../cluster-pki.ts'
import type { PairPaths } from './pair-files.ts'

/** The purpose of a certificate that this product issues and renews. */
export type RenewableUse = 'server' | 'peer' | 'admin'

/** The files of a certificate that may be renewed. */
export type RenewablePair = {
  readonly use: RenewableUse
  readonly paths: PairPaths
  /** The file with the authorities that are trusted for this purpose. */
  readonly bundlePath: string
  /** Whether a certificate has the subject that this product gives. */
  readonly isOurs: (certificate: Certificate) => boolean
}

/** The files that one process renews. */
export type RenewablePlaces = {
  readonly pairs: readonly RenewablePair[]
  /** Kubeconfigs that embed the pair of the admin, if they exist. */
  readonly kubeconfigs: readonly string[]
}

/** Returns the pairs in a directory of `orchctl pki init`, with those of the given members. */
export function placesIn(
  directory: string,
  members: readonly string[],
  kubeconfigs: readonly string[] = [join(directory, 'admin.kubeconfig'), kubeconfigNextTo(directory)],
): RenewablePlaces {
  const paths = clusterPkiPaths(directory)
  const [bundlePath, peerBundlePath] = [paths.ca.certificate, paths.peerCa.certificate]
  return {
    pairs: [
      adminPair(paths.admin, bundlePath),
      ...members.flatMap((name) => [
        serverPair(name, paths.server(name), bundlePath),
        peerPair(name, paths.peer(name), peerBundlePath),
      ]),
    ],
    kubeconfigs,
  }
}

/** Returns the members that have keys in a directory of `orchctl pki init`, by name. */
export function membersIn(directory: string): readonly string[] {
  try {
    const entries = readdirSync(join(directory, 'members'), { withFileTypes: true })
    return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort()
  } catch {
    return []
  }
}

/**
 * Returns the pairs that flags name, and that of the admin in the directory of the CA.
 *
 * @param own the directory of a member that makes its own keys
 */
export function placesOf(config: Config, own: string): RenewablePlaces {
  const { name } = config
  const [certificate, bundlePath] = [config['tls-cert-file'], config['client-ca-file']]
  if (certificate === '') {
    return placesIn(join(own, 'pki'), [name], [join(own, 'admin.kubeconfig')])
  }
  const peer = { certificate: config['peer-cert-file'], key: config['peer-key-file'] }
  const directory = dirname(bundlePath)
  return {
    pairs: [
      ...(bundlePath === ''
        ? []
        : [
            serverPair(name, { certificate, key: config['tls-private-key-file'] }, bundlePath),
            adminPair(clusterPkiPaths(directory).admin, bundlePath),
          ]),
      ...(peer.certificate === '' ? [] : [peerPair(name, peer, config['peer-ca-file'])]),
    ],
    kubeconfigs: bundlePath === '' ? [] : [join(directory, 'admin.kubeconfig'), kubeconfigNextTo(directory)],
  }
}

/** `orchctl cluster up` puts the kubeconfig next to the directory of the keys. */
function kubeconfigNextTo(directory: string): string {
  return join(dirname(directory), 'admin.kubeconfig')
}

function serverPair(name: string, paths: PairPaths, bundlePath: string): RenewablePair {
  const isOurs = ({ subject }: Certificate): boolean => subject.commonName === `orch-apiserver:${name}`
  return { use: 'server', paths, bundlePath, isOurs }
}

function peerPair(name: string, paths: PairPaths, bundlePath: string): RenewablePair {
  const isOurs = ({ subject, names }: Certificate): boolean =>
    subject.commonName === name && names.uris.includes(memberUri(name))
  return { use: 'peer', paths, bundlePath, isOurs }
}

function adminPair(paths: PairPaths, bundlePath: string): RenewablePair {
  return { use: 'admin', paths, bundlePath, isOurs: isAdmin }
}

/** Whether a certificate has the subject of the admin that `orchctl pki init` makes. */
export function isAdmin({ subject }: Certificate): boolean {
  return subject.commonName === 'admin' && subject.organizations.join() === 'system:masters'
}
