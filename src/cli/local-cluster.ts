import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse, stringify } from 'yaml'
import { isRecord } from '../../base/record.ts'
import { hookFile, noHookFaults } from '../../tools/chaos/hook-file.ts'
import { linksFile } from '../../tools/chaos/links/links.ts'
import { clusterPkiPaths, ensureClusterPki } from '../pki/cluster-pki.ts'
import { makeDirectory, replaceFile, writeNewFile } from '../pki/files.ts'
import { CliError } from './errors.ts'
import type { Terminal } from './terminal.ts'

/** Files of a member of a cluster on this machine. */
export type MemberPlace = {
  readonly name: string
  readonly directory: string
  readonly configPath: string
  readonly logPath: string
  readonly pidPath: string
  /** Exists when the member was removed from its cluster. */
  readonly removedPath: string
}

/** The files of a member, and its ports. */
export type LocalMember = MemberPlace & { readonly clientPort: number }

export type LocalCluster = {
  readonly directory: string
  readonly kubeconfigPath: string
  readonly members: readonly LocalMember[]
}

type Domain = 'orch.io' | 'k8s.io'

export type LocalClusterOptions = {
  readonly directory: string
  /** null: the existing number; three for a new cluster. */
  readonly nodes: number | null
  /** null: the existing domain; orch.io for a new cluster. */
  readonly domain: Domain | null
  /**
   * Ports of the first member; the others follow. null: the existing ones; for a new cluster 6443,
   * and for peers the client port plus 1000, or minus 1000 where that is too high.
   */
  readonly clientPort: number | null
  readonly peerPort: number | null
  /**
   * Supports faults: peers connect through proxies, members load a hook. Unset: an existing cluster
   * stays as it is, a new one does not support them.
   */
  readonly chaos?: boolean
}

/** The server program of the same installation. */
export const serverProgram = fileURLToPath(new URL('../main.js', import.meta.url))

export const localHost = '127.0.0.1'

/** Writes the file that the chaos hook of a member reads, without faults. */
export function prepareHook(directory: string): void {
  replaceFile(join(directory, hookFile), JSON.stringify(noHookFaults), 'public')
}

/**
 * Creates the keys and configuration files of a new cluster. Those of an existing cluster stay, so
 * that an operator may edit them; they must match.
 *
 * @throws CliError `failed`; PkiError
 */
export function prepareCluster(terminal: Terminal, options: LocalClusterOptions): LocalCluster {
  const directory = resolve(options.directory)
  const present = findMembers(directory)
  if (present.length > 0) {
    checkWhole(directory, present)
    checkSame(directory, present, options)
  }
  const members = plannedMembers(options)
  const kubeconfigPath = join(directory, 'admin.kubeconfig')
  makeDirectory(directory)
  const { clock, random } = terminal
  if (present.length === 0) {
    ensureClusterPki({
      directory: join(directory, 'pki'),
      kubeconfigPath,
      members: members.map(({ name, clientPort }) => ({
        name,
        hosts: [localHost],
        serverUrl: `https://${localHost}:${clientPort}`,
      })),
      clock,
      random,
    })
    for (const member of members) {
      makeDirectory(member.directory)
      writeNewFile(
        member.configPath,
        stringify(foundingConfig(directory, member, members, options)),
        'public',
      )
      if (options.chaos === true) prepareHook(member.directory)
    }
    if (options.chaos === true) {
      const proxied = members.map(({ name, peerPort: dialed, listenPort: listens }) => ({
        name,
        dialed,
        listens,
      }))
      replaceFile(join(directory, linksFile), `${JSON.stringify(proxied, null, 2)}\n`, 'public')
    }
  }
  return openCluster(directory)
}

/**
 * Returns the members of a new cluster.
 *
 * @throws CliError `failed` when the ports of peers and clients overlap
 */
export function plannedMembers(options: LocalClusterOptions): readonly PlannedMember[] {
  const directory = resolve(options.directory)
  const nodes = options.nodes ?? 3
  const clientPort = options.clientPort ?? 6443
  const peerPort = options.peerPort ?? peerPortFor(clientPort)
  // With proxies, members listen on the ports after those of the proxies.
  const span = options.chaos === true ? 2 * nodes : nodes
  const needed = clientPort < peerPort ? nodes : span
  if (Math.abs(clientPort - peerPort) < needed) {
    throw new CliError(
      'failed',
      `ports ${clientPort} and ${peerPort} are too close: ${nodes} members need ${needed} from the lower one on`,
    )
  }
  return Array.from({ length: nodes }, (_, at) => ({
    ...memberAt(directory, `n${at + 1}`),
    clientPort: clientPort + at,
    peerPort: peerPort + at,
    listenPort: peerPort + at + span - nodes,
  }))
}

/** The same distance as between 6443 and 7443. */
function peerPortFor(clientPort: number): number {
  return clientPort + 1000 <= 65_000 ? clientPort + 1000 : clientPort - 1000
}

/** Returns the members with a configuration file; none: no cluster. @throws CliError `failed` */
export function presentMembers(directory: string): readonly LocalMember[] {
  return findMembers(resolve(directory))
}

/**
 * Opens an existing cluster.
 *
 * @throws CliError `failed` without a cluster there, or when the configuration file of a member is
 * missing
 */
export function openCluster(path: string): LocalCluster {
  const directory = resolve(path)
  const members = findMembers(directory)
  if (members.length === 0) throw noCluster(directory)
  checkWhole(directory, members)
  return { directory, kubeconfigPath: join(directory, 'admin.kubeconfig'), members }
}

/**
 * Returns the members that may be running, also with a lost configuration file.
 *
 * @throws CliError `failed` without a cluster there
 */
export function findProcesses(path: string): readonly MemberPlace[] {
  const directory = resolve(path)
  const places = memberNames(directory).map((name) => memberAt(directory, name))
  const found = places.filter(({ configPath, pidPath }) => existsSync(configPath) || existsSync(pidPath))
  if (found.length === 0) throw noCluster(directory)
  return found
}

function noCluster(directory: string): CliError {
  const ways = `give --dir that of another one, or make one there: orchctl cluster up --dir ${directory}`
  return new CliError('failed', `there is no cluster in ${directory}: ${ways}`)
}

function findMembers(directory: string): readonly LocalMember[] {
  return memberNames(directory)
    .map((name) => memberAt(directory, name))
    .filter(({ configPath }) => existsSync(configPath))
    .map((member) => ({ ...member, clientPort: Number(readConfig(member.configPath)['secure-port'] ?? 0) }))
}

/** Returns the member directories in order. @throws CliError `failed` */
function memberNames(directory: string): readonly string[] {
  if (!existsSync(directory)) return []
  try {
    return readdirSync(directory)
      .filter((name) => /^n[1-9][0-9]*$/.test(name))
      .sort((a, b) => Number(a.slice(1)) - Number(b.slice(1)))
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown'
    throw new CliError('failed', `${directory} cannot be read (${code}): give another --dir`, { cause })
  }
}

/**
 * Checks that every founding member is present or removed.
 *
 * @throws CliError `failed` with the lost file
 */
function checkWhole(directory: string, members: readonly LocalMember[]): void {
  const [first] = members
  const listed: unknown = first === undefined ? [] : readConfig(first.configPath)['initial-members']
  for (const one of Array.isArray(listed) ? (listed as readonly unknown[]) : []) {
    const name = isRecord(one) ? one['name'] : typeof one === 'string' ? one.split('=')[0] : undefined
    if (typeof name !== 'string' || members.some((member) => member.name === name)) continue
    const { configPath: path, removedPath } = memberAt(directory, name)
    if (existsSync(removedPath)) continue
    const remedy = `restore it, or orchctl cluster down and remove ${directory}`
    throw new CliError('failed', `${path} is missing, though ${name} is a member: ${remedy}`)
  }
}

/** Returns the files of a member, which may not exist. */
export function memberAt(directory: string, name: string): MemberPlace {
  const home = join(directory, name)
  return {
    name,
    directory: home,
    configPath: join(home, 'config.yaml'),
    logPath: join(home, 'server.log'),
    pidPath: join(home, 'pid'),
    removedPath: join(home, 'removed'),
  }
}

function checkSame(directory: string, members: readonly LocalMember[], options: LocalClusterOptions): void {
  const remedy = `orchctl cluster down and remove ${directory}, or choose another --dir`
  if (options.nodes !== null && members.length !== options.nodes) {
    throw new CliError(
      'failed',
      `${directory} holds a cluster of ${members.length}, not ${options.nodes}: ${remedy}`,
    )
  }
  const [first] = members
  if (options.clientPort !== null && first !== undefined && first.clientPort !== options.clientPort) {
    throw new CliError(
      'failed',
      `${directory} holds a cluster on ports from ${first.clientPort} on: ${remedy}`,
    )
  }
  if (options.chaos === true && !existsSync(join(directory, linksFile))) {
    throw new CliError('failed', `${directory} holds a cluster that was made without --chaos: ${remedy}`)
  }
  for (const member of members) {
    const domain = domainOf(member)
    if (options.domain !== null && domain !== options.domain) {
      const held = `${member.configPath} has api-domain ${JSON.stringify(domain)}, not ${options.domain}`
      throw new CliError('failed', `${held}: ${remedy}`)
    }
  }
}

/** Returns the API domain of the cluster. */
export function domainOf(member: LocalMember): unknown {
  return readConfig(member.configPath)['api-domain'] ?? 'orch.io'
}

export function readConfig(path: string): Record<string, unknown> {
  try {
    const value: unknown = parse(readFileSync(path, 'utf8'), { maxAliasCount: 0 })
    if (isRecord(value)) return value
  } catch (cause) {
    throw new CliError('failed', `${path} cannot be read as YAML`, { cause })
  }
  throw new CliError('failed', `${path} is not a map of flags to values`)
}

/** Peers connect to `peerPort`; the member listens on `listenPort`, which differs with a proxy. */
export type PlannedMember = LocalMember & { readonly peerPort: number; readonly listenPort: number }

/** Configuration of a founding member. */
function foundingConfig(
  directory: string,
  member: PlannedMember,
  all: readonly PlannedMember[],
  options: LocalClusterOptions,
): Record<string, unknown> {
  return {
    ...memberConfig(directory, member, { domain: options.domain ?? 'orch.io', clusterName: 'local' }),
    'initial-members': all.map(({ name, clientPort, peerPort }) => ({
      name,
      'peer-address': `${localHost}:${peerPort}`,
      'client-address': `${localHost}:${clientPort}`,
    })),
  }
}

/** Common configuration of all members. */
export function memberConfig(
  directory: string,
  member: PlannedMember,
  of: { readonly domain: string; readonly clusterName: string },
): Record<string, unknown> {
  const paths = clusterPkiPaths(join(directory, 'pki'))
  return {
    name: member.name,
    'data-dir': join(member.directory, 'data'),
    'bind-address': localHost,
    'secure-port': member.clientPort,
    'advertise-address': `${localHost}:${member.clientPort}`,
    'peer-address': `${localHost}:${member.listenPort}`,
    'api-domain': of.domain,
    'cluster-name': of.clusterName,
    'tls-cert-file': paths.server(member.name).certificate,
    'tls-private-key-file': paths.server(member.name).key,
    'client-ca-file': paths.ca.certificate,
    'peer-ca-file': paths.peerCa.certificate,
    'peer-cert-file': paths.peer(member.name).certificate,
    'peer-key-file': paths.peer(member.name).key,
  }
}
