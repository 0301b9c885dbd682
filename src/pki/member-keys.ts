import { createHash } from 'node:crypto'
import { isIP } from 'node:net'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { createSecureContext } from 'node:tls'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { parseAddress } from '../config/address.ts'
import type { Config } from '../config/config.ts'
import { readCertificate } from './certificate.ts'
import { clusterPkiPaths, ensureClusterPki, memberUri } from './cluster-pki.ts'
import { PkiError } from './errors.ts'
import { readTextFile } from './files.ts'
import { readPrivateKey, samePublicKey } from './keys.ts'
import { readTrustBundle } from './trust-bundle.ts'
import { StartError } from '../config/start-error.ts'
import { isIssuedBy } from './issued-by.ts'
import { foundingAuthority } from './renewal/authority-rotation.ts'
import { fit } from './renewal/pair-files.ts'
import { clientAddress } from '../config/client-address.ts'

/** Authorities, certificate and key of the peer port, in PEM. */
export type PeerKeys = { readonly authority: string; readonly certificate: string; readonly key: string }

export type MemberKeysDependencies = {
  readonly config: Config
  readonly clock: Clock
  readonly random: Random
}

/** Certificate and key of the client port, in PEM. */
export type ServerKeys = {
  readonly certificate: string
  readonly key: string
  /** CA certificates that verify clients; null: client certificates are not requested. */
  readonly clientAuthorities: string | null
  /** CA certificates that verify authenticating proxies; null: there are none. */
  readonly proxyAuthorities: string | null
}

export type MemberKeys = {
  readonly server: ServerKeys
  /** null: a single member without peers. */
  readonly peer: PeerKeys | null
  /** Path of the admin kubeconfig of a member that made its keys; null: flags name the keys. */
  readonly kubeconfig: string | null
  /** Whether the keys were created at this start. */
  readonly madeNow: boolean
  /** SHA-256 of the public keys of the authorities that all members must share, by name. */
  readonly fingerprints: Readonly<Record<string, string>>
}

/**
 * Reads the keys that flags name, or creates them for a single member without such flags.
 *
 * @param directory of the created keys
 * @param company `among-others`: the member joined a cluster, or is about to
 * @throws StartError `keys`; PkiError for keys that the member makes itself
 */
export function memberKeys(
  dependencies: MemberKeysDependencies,
  directory: string,
  company: 'maybe-alone' | 'among-others',
): MemberKeys {
  const { config } = dependencies
  const alone = config['initial-members'].length <= 1 && company === 'maybe-alone'
  if (hasOwnKeys(config)) {
    if (!alone) {
      throw new StartError(
        'keys',
        'a cluster of several members needs --tls-cert-file and --tls-private-key-file: orchctl pki init makes them',
      )
    }
    return selfMade(dependencies, directory)
  }
  const server = {
    certificate: read(config, 'tls-cert-file'),
    key: read(config, 'tls-private-key-file'),
    clientAuthorities: authorities(config, 'client-ca-file'),
    proxyAuthorities: authorities(config, 'requestheader-client-ca-file'),
  }
  checkPair(config, 'tls-cert-file', 'tls-private-key-file', server)
  const peer = config['peer-cert-file'] === '' ? null : peerKeys(config)
  const fingerprints = fingerprintsOf(server.clientAuthorities, peer)
  return { server, peer, kubeconfig: null, madeNow: false, fingerprints }
}

function peerKeys(config: Config): PeerKeys {
  const peer = {
    authority: read(config, 'peer-ca-file'),
    certificate: read(config, 'peer-cert-file'),
    key: read(config, 'peer-key-file'),
  }
  checkPair(config, 'peer-cert-file', 'peer-key-file', peer)
  checkReadable(config, 'peer-ca-file', peer.authority)
  // Members with another authority would reject this one.
  if (!isIssuedBy(peer.certificate, peer.authority)) {
    const files = `--peer-cert-file ${config['peer-cert-file']} was not issued by --peer-ca-file ${config['peer-ca-file']}`
    throw new StartError(
      'keys',
      `${files}: give the authority that all members share, and a certificate of it`,
    )
  }
  checkPeerName(config, peer.certificate)
  return peer
}

/** Without this check, a start without `--name` would claim the data directory for another name. */
function checkPeerName(config: Config, certificate: string): void {
  const { name } = config
  const prefix = memberUri('')
  const named = readCertificate(certificate).names.uris.filter((uri) => uri.startsWith(prefix))
  if (named.length === 1 && named[0] === memberUri(name)) return
  const other = named[0]?.slice(prefix.length)
  const file = `--peer-cert-file ${config['peer-cert-file']}`
  const right = `the certificate of ${name} (orchctl pki init makes it)`
  // Peers would refuse it.
  if (named.length > 1) throw new StartError('keys', `${file} names several members: give ${right}`)
  throw new StartError(
    'keys',
    other === undefined
      ? `${file} names no member: give ${right}`
      : `${file} is the certificate of member ${other}, not ${name}: give --name ${other}, or ${right}`,
  )
}

function selfMade({ config, clock, random }: MemberKeysDependencies, directory: string): MemberKeys {
  const pki = join(directory, 'pki')
  const kubeconfig = join(directory, 'admin.kubeconfig')
  const { made } = ensureClusterPki({
    directory: pki,
    kubeconfigPath: kubeconfig,
    members: [{ name: config.name, hosts: ownHosts(config), serverUrl: `https://${clientAddress(config)}` }],
    ...{ clock, random },
    lifetime: config['in-memory'] ? 'passing' : 'lasting',
  })
  const server = ownServerKeys(config, directory)
  // The first authority identifies the cluster of the directory, even after it was replaced.
  const founding = foundingAuthority(clusterPkiPaths(pki).ca.certificate)
  const madeNow = made.includes(clusterPkiPaths(pki).ca.key)
  return {
    server,
    peer: null,
    kubeconfig,
    madeNow,
    fingerprints: fingerprintsOf(founding, null),
  }
}

function ownServerKeys(config: Config, directory: string): ServerKeys {
  const [certificate = '', key = '', clientAuthorities = ''] = ownKeyFiles(config, directory).map(
    readTextFile,
  )
  const proxyAuthorities = authorities(config, 'requestheader-client-ca-file')
  return { certificate, key, clientAuthorities, proxyAuthorities }
}

/** Returns certificate, key and authorities of the client port that the member made itself. */
function ownKeyFiles({ name }: Config, directory: string): readonly [string, string, string] {
  const { ca, server } = clusterPkiPaths(join(directory, 'pki'))
  const { certificate, key } = server(name)
  return [certificate, key, ca.certificate]
}

/**
 * Returns the key files of a member, which may change while it runs.
 *
 * @param directory of the keys that it made itself
 */
export function keyFilesOf(config: Config, directory: string): readonly string[] {
  const named = keyFlags.map((flag) => config[flag]).filter((path) => path !== '')
  return hasOwnKeys(config) ? [...ownKeyFiles(config, directory), ...named] : named
}

/** Reads the files of `keyFilesOf` again. @param keys in use @throws StartError `keys` */
export function readKeysAgain(
  dependencies: MemberKeysDependencies,
  directory: string,
  keys: MemberKeys,
): MemberKeys {
  const { config } = dependencies
  // With all files from flags no keys are created and no directory is needed.
  if (!hasOwnKeys(config))
    return memberKeys(dependencies, '', keys.peer === null ? 'maybe-alone' : 'among-others')
  try {
    const server = ownServerKeys(config, directory)
    readTrustBundle(server.clientAuthorities ?? '')
    if (!fit(server.certificate, server.key))
      throw new PkiError('mismatched', 'the key belongs to another certificate')
    return { ...keys, server }
  } catch (cause) {
    if (!(cause instanceof PkiError)) throw cause
    throw new StartError('keys', `keys in ${directory}: ${cause.message}`, { cause })
  }
}

/** Whether the member created its keys itself. */
function hasOwnKeys(config: Config): boolean {
  return config['tls-cert-file'] === ''
}

function ownHosts(config: Config): readonly string[] {
  const hosts = new Set([hostname(), parseAddress(clientAddress(config)).host])
  if (isIP(config['bind-address']) !== 0 && config['bind-address'] !== '0.0.0.0')
    hosts.add(config['bind-address'])
  return [...hosts]
}

function fingerprintsOf(
  clientAuthorities: string | null,
  peer: PeerKeys | null,
): Readonly<Record<string, string>> {
  const prints: Record<string, string> = {}
  if (clientAuthorities !== null) prints['client-ca'] = authorityFingerprint(clientAuthorities)
  if (peer !== null) prints['peer-ca'] = authorityFingerprint(peer.authority)
  return prints
}

/**
 * Returns the fingerprint of the first authority's public key, which stays the same for a renewed
 * certificate.
 */
export function authorityFingerprint(pem: string): string {
  const spki = readCertificate(pem).publicKey.export({ type: 'spki', format: 'der' })
  return createHash('sha256').update(spki).digest('hex')
}

const keyFlags = [
  'tls-cert-file',
  'tls-private-key-file',
  'client-ca-file',
  'requestheader-client-ca-file',
  'peer-ca-file',
  'peer-cert-file',
  'peer-key-file',
] as const satisfies readonly (keyof Config)[]

type KeyFlag = (typeof keyFlags)[number]

function read(config: Config, flag: KeyFlag): string {
  try {
    return readTextFile(config[flag])
  } catch (cause) {
    if (!(cause instanceof PkiError)) throw cause
    throw new StartError('keys', `--${flag}: ${cause.message}`, { cause })
  }
}

/** Returns the bundle that a flag names; null: the flag is not set. */
function authorities(config: Config, flag: 'client-ca-file' | 'requestheader-client-ca-file'): string | null {
  if (config[flag] === '') return null
  const pem = read(config, flag)
  checkReadable(config, flag, pem)
  return pem
}

/**
 * Checks each file here, so that an error names it; the runtime would accept a key as a
 * certificate.
 */
function checkPair(
  config: Config,
  certificateFlag: KeyFlag,
  keyFlag: KeyFlag,
  { certificate, key }: { readonly certificate: string; readonly key: string },
): void {
  checkReadable(config, certificateFlag, certificate)
  const files = `--${keyFlag} ${config[keyFlag]} and --${certificateFlag} ${config[certificateFlag]}`
  try {
    const { publicKey } = readPrivateKey(key)
    if (!samePublicKey(publicKey, readCertificate(certificate).publicKey)) {
      throw new PkiError('mismatched', 'the key belongs to another certificate')
    }
    // Checks further certificates of the file.
    createSecureContext({ cert: certificate, key })
  } catch (cause) {
    const why = cause instanceof Error ? cause.message.split('\n')[0] : String(cause)
    throw new StartError('keys', `${files} do not work together (${why}): give a key and its certificate`, {
      cause,
    })
  }
}

/** Checks that all certificates of a file can be read. @throws StartError `keys` */
function checkReadable(config: Config, flag: KeyFlag, pem: string): void {
  try {
    readTrustBundle(pem)
  } catch (cause) {
    if (!(cause instanceof PkiError)) throw cause
    const file = `--${flag} ${config[flag]}`
    throw new StartError('keys', `${file} is damaged (${cause.message}): restore an undamaged copy of it`, {
      cause,
    })
  }
}
