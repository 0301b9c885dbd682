import { existsSync } from 'node:fs'
import { isIP } from 'node:net'
import { dirname, join } from 'node:path'
import { isRecord } from '../../base/record.ts'
import { memberAddress, parseAddress } from '../config/address.ts'
import { ConfigError } from '../config/errors.ts'
import { clusterPkiPaths, ensureClusterPki } from '../pki/cluster-pki.ts'
import { readTextFile, replaceFile } from '../pki/files.ts'
import { authorityFingerprint } from '../pki/member-keys.ts'
import { isOfAuthority, parseJoinToken } from '../membership/join-token.ts'
import type { AnyMember } from './any-member.ts'
import { CliError } from './errors.ts'
import { openCluster, forgetContext, waitUntilJoined, waitUntilVoter } from './member-change.ts'
import type { ChangeFlags } from './member-change.ts'
import type { Terminal } from './terminal.ts'

export type AddFlags = ChangeFlags & {
  readonly peerAddress: string
  readonly clientAddress: string
  readonly role: 'voter' | 'learner'
  readonly replaces?: string
  /** Directory of the keys of the cluster: those of the new member are created there. */
  readonly pki?: string
}

/** A join token, with the member and the cluster it is for. */
export type JoinToken = {
  readonly token: string
  readonly expires: string
  readonly clusterName: string
  readonly apiDomain: string
  /** Client addresses of the existing members. */
  readonly addresses: readonly string[]
}

/** Result of requesting a token. */
export type TokenResult =
  | { readonly kind: 'token'; readonly token: JoinToken }
  /** The process has joined already. @param isDone it votes, and the replaced member is removed */
  | { readonly kind: 'joined'; readonly isDone: boolean }

/** Creates a token for a new member and prints the command for its machine. */
export async function memberAdd(terminal: Terminal, name: string, flags: AddFlags): Promise<void> {
  checkAuthorities(flags)
  const cluster = openCluster(terminal, flags)
  const requested = { name, role: flags.role, replaces: flags.replaces ?? null, ...addressesOf(flags) }
  const issued = await newToken(cluster, requested)
  if (issued.kind === 'joined') reportJoined(terminal, requested, flags)
  else createKeysAndPrint(terminal, requested, issued.token, flags)
  if (issued.kind === 'joined') keepContext(terminal, requested, flags)
  if (!flags.wait) return
  await waitUntilJoined(terminal, cluster, name, flags)
  keepContext(terminal, requested, flags)
  if (flags.role === 'voter') await waitUntilVoter(terminal, cluster, name, flags)
  if (flags.output === 'table') terminal.print(`${name} ${flags.role === 'voter' ? 'votes' : 'is a learner'}`)
}

/**
 * Checks before any token is made that `--pki` has the authorities that sign the new keys. With a
 * wrong path, the command would create other ones, which the cluster does not accept.
 *
 * @throws CliError `usage`
 */
function checkAuthorities({ pki }: Pick<AddFlags, 'pki'>): void {
  if (pki === undefined) return
  const { ca, peerCa } = clusterPkiPaths(pki)
  const missing = [ca.key, ca.certificate, peerCa.key, peerCa.certificate].find((path) => !existsSync(path))
  if (missing === undefined) return
  const remedy = 'give the directory in which orchctl pki init created the keys of this cluster'
  throw new CliError('usage', `--pki ${pki}: there is no ${missing}: ${remedy}`)
}

/** @throws CliError `failed` when the authority is not that of the token's cluster */
function checkCluster(directory: string, { token }: JoinToken): void {
  const { certificate } = clusterPkiPaths(directory).ca
  const parsed = parseJoinToken(token)
  if (parsed === null || isOfAuthority(parsed, authorityFingerprint(readTextFile(certificate)))) return
  const remedy = 'give the directory in which orchctl pki init created the keys of this cluster'
  throw new CliError('failed', `${certificate} is the authority of another cluster: ${remedy}`)
}

/** Adds the context of the member if `--pki` is given. */
function keepContext(
  terminal: Terminal,
  requested: RequestedMember,
  { pki, kubeconfig }: ReplaceFlags,
): void {
  if (pki !== undefined) addContext(terminal, pki, kubeconfig, requested)
}

function createKeysAndPrint(
  terminal: Terminal,
  requested: RequestedMember,
  token: JoinToken,
  flags: AddFlags,
): void {
  if (flags.pki !== undefined) checkCluster(flags.pki, token)
  // After the cluster has accepted the name: the keys of an existing member must not change.
  const made = flags.pki === undefined ? [] : [...makeKeys(terminal, flags.pki, requested)]
  const tokenPath = join(
    dirname(keyFiles(flags.pki ?? 'pki', requested.name)['--peer-key-file']),
    'join-token',
  )
  if (flags.pki !== undefined) {
    replaceFile(tokenPath, `${token.token}\n`, 'secret')
    made.push(tokenPath)
  }
  printInstructions(terminal, { requested, token, tokenPath, made, flags })
}

/** Reports that the member joined in an earlier run, or by another operator: nothing to start. */
function reportJoined(
  terminal: Terminal,
  requested: RequestedMember,
  { output }: Pick<ChangeFlags, 'output'>,
): void {
  if (output === 'json') {
    return terminal.print(JSON.stringify({ member: memberOf(requested), joined: true }, null, 2))
  }
  const place = requested.replaces === null ? '' : `, in the place of ${requested.replaces}`
  const lost = `if its data is lost, orchctl member remove ${requested.name} comes first`
  terminal.print(`${requested.name} has joined already${place}: no token is made; ${lost}`)
}

export type ReplaceFlags = Omit<AddFlags, 'role' | 'replaces'>

/**
 * Replaces a voter, dead or alive, by a member on another machine in one configuration change.
 */
export async function memberReplace(
  terminal: Terminal,
  names: { readonly old: string; readonly next: string },
  flags: ReplaceFlags,
): Promise<void> {
  const { old, next } = names
  checkAuthorities(flags)
  const cluster = openCluster(terminal, flags)
  const requested: RequestedMember = { name: next, role: 'voter', replaces: old, ...addressesOf(flags) }
  // Request before reading the status, else a member that joins in between looks unknown.
  const issued = await newToken(cluster, requested)
  const isDone = issued.kind === 'joined' && issued.isDone
  if (!isDone) {
    if (issued.kind === 'token')
      createKeysAndPrint(terminal, requested, issued.token, { ...flags, role: 'voter' })
    else if (flags.wait) terminal.note(`${next} has joined already, and waits for the place of ${old}`)
    else reportJoined(terminal, requested, flags)
    if (issued.kind === 'joined') keepContext(terminal, requested, flags)
    if (!flags.wait) return
    await waitUntilVoter(terminal, cluster, next, flags)
  }
  keepContext(terminal, requested, flags)
  // Also completes an earlier run that was interrupted just before this.
  forgetContext(terminal, cluster, old, flags)
  const words = isDone
    ? `${next} votes already, ${old} is gone`
    : `${next} votes in the place of ${old}, which is no longer a member`
  terminal.print(flags.output === 'json' ? JSON.stringify({ member: next, replaced: old }) : words)
}

export type RequestedMember = {
  readonly name: string
  readonly role: 'voter' | 'learner'
  readonly replaces: string | null
  readonly peerAddress: string
  readonly clientAddress: string
}

/** @throws CliError `failed` also when another member has the name or an address */
export async function newToken(cluster: AnyMember, requested: RequestedMember): Promise<TokenResult> {
  const { body: answer } = await cluster.post('/cluster/v1/join-tokens', requested)
  const { token, expires, clusterName, apiDomain, addresses } = answer
  if (answer['joined'] === true) {
    const { member, votes: doesVote } = answer
    const isAlone = isRecord(member) && (member['replaces'] ?? null) === null
    return { kind: 'joined', isDone: isAlone && doesVote === true }
  }
  if (typeof token !== 'string' || !Array.isArray(addresses)) {
    throw new CliError(
      'failed',
      `the response of the cluster has no token: ${JSON.stringify(Object.keys(answer))}`,
    )
  }
  const given = {
    token,
    expires: String(expires),
    clusterName: String(clusterName),
    apiDomain: String(apiDomain),
    addresses: addresses.map(String),
  }
  return { kind: 'token', token: given }
}

/** @throws CliError `usage` */
function addressesOf(
  flags: Pick<AddFlags, 'peerAddress' | 'clientAddress'>,
): Pick<RequestedMember, 'peerAddress' | 'clientAddress'> {
  const parse = (flag: string, text: string): string => {
    try {
      return memberAddress(text)
    } catch (cause) {
      if (cause instanceof ConfigError) throw new CliError('usage', `${flag} ${cause.message}`, { cause })
      throw cause
    }
  }
  return {
    peerAddress: parse('--peer-address', flags.peerAddress),
    clientAddress: parse('--client-address', flags.clientAddress),
  }
}

/**
 * Creates the keys without a context: other commands would try to connect to a member that is not
 * running.
 *
 * @returns the created files
 */
export function makeKeys(
  terminal: Terminal,
  directory: string,
  requested: RequestedMember,
): readonly string[] {
  return ensureKeys(terminal, directory, null, requested)
}

/** Adds the context once the member has joined. */
export function addContext(
  terminal: Terminal,
  directory: string,
  kubeconfigPath: string,
  requested: RequestedMember,
): void {
  if (ensureKeys(terminal, directory, kubeconfigPath, requested).includes(kubeconfigPath))
    terminal.note(`its context ${requested.name} is in ${kubeconfigPath}`)
}

function ensureKeys(
  { clock, random }: Terminal,
  directory: string,
  kubeconfigPath: string | null,
  { name, peerAddress, clientAddress }: RequestedMember,
): readonly string[] {
  const hosts = new Set([clientAddress, peerAddress].map((address) => parseAddress(address).host))
  const member = { name, hosts: [...hosts], serverUrl: `https://${clientAddress}` }
  return ensureClusterPki({ directory, kubeconfigPath, members: [member], clock, random }).made
}

type TokenInstructions = {
  readonly requested: RequestedMember
  readonly token: JoinToken
  /** Path of the token on the new machine. */
  readonly tokenPath: string
  readonly made: readonly string[]
  readonly flags: AddFlags
}

function printInstructions(
  terminal: Terminal,
  { requested, token, tokenPath, made, flags }: TokenInstructions,
): void {
  const keys = keyFiles(flags.pki ?? 'pki', requested.name)
  const command = [serverCommand(terminal.program), ...serverFlags(requested, token, keys, tokenPath)]
  if (flags.output === 'json') {
    const answer = {
      ...token,
      member: memberOf(requested),
      files: [...Object.values(keys), tokenPath],
      made,
      command: command.join(' '),
    }
    return terminal.print(JSON.stringify(answer, null, 2))
  }
  for (const path of made) terminal.note(`made  ${path}`)
  const place = requested.replaces === null ? '' : `, in the place of ${requested.replaces}`
  terminal.print(`a token for ${requested.name}${place}: good for one data directory, until ${token.expires}`)
  terminal.print('')
  terminal.print('On its machine, with these files of the cluster’s keys:')
  for (const path of [...Object.values(keys), tokenPath]) terminal.print(`  ${path}`)
  if (flags.pki === undefined) {
    const address = parseAddress(requested.clientAddress)
    const what = `${requested.name}=${address.host}:${address.port}`
    terminal.print(
      `(${terminal.program} pki init --dir pki --members ${what} creates these keys, where those of the cluster are;`,
    )
    terminal.print(`${tokenPath} must contain one line, readable by its owner only: ${token.token})`)
  }
  terminal.print('')
  terminal.print('type, with a --data-dir of its own:')
  terminal.print('')
  terminal.print(wrapped(command))
  if (flags.pki !== undefined && !flags.wait)
    terminal.note(`once it has joined, repeat this command: that adds its context to ${flags.kubeconfig}`)
}

function memberOf({ name, role, replaces, peerAddress, clientAddress }: RequestedMember): RequestedMember {
  return { name, role, replaces, peerAddress, clientAddress }
}

/** Returns the paths of the key files by the flags of the server. */
function keyFiles(directory: string, name: string) {
  const paths = clusterPkiPaths(directory)
  return {
    '--tls-cert-file': paths.server(name).certificate,
    '--tls-private-key-file': paths.server(name).key,
    '--client-ca-file': paths.ca.certificate,
    '--peer-ca-file': paths.peerCa.certificate,
    '--peer-cert-file': paths.peer(name).certificate,
    '--peer-key-file': paths.peer(name).key,
  }
}

function serverFlags(
  requested: RequestedMember,
  token: JoinToken,
  keys: Readonly<Record<string, string>>,
  tokenPath: string,
): readonly string[] {
  const { host } = parseAddress(requested.clientAddress)
  return [
    `--name ${requested.name}`,
    `--data-dir ${join('data', requested.name)}`,
    // A host name may have several addresses, which are unknown here.
    ...(isIP(host) === 0 ? [] : [`--bind-address ${host}`]),
    `--secure-port ${parseAddress(requested.clientAddress).port}`,
    `--advertise-address ${requested.clientAddress}`,
    `--peer-address ${requested.peerAddress}`,
    `--cluster-name ${token.clusterName}`,
    `--api-domain ${token.apiDomain}`,
    ...Object.entries(keys).map(([flag, path]) => `${flag} ${path}`),
    `--join ${token.addresses.join(',')}`,
    `--join-token-file ${tokenPath}`,
  ]
}

/** Returns the command that starts the server of the same installation. */
function serverCommand(program: string): string {
  return program.startsWith('node ') ? program.replace(/cli\/main\.js$/, 'main.js') : 'orch-apiserver'
}

function wrapped([first, ...rest]: readonly string[]): string {
  return [`  ${first ?? ''}`, ...rest.map((flag) => `    ${flag}`)].join(' \\\n')
}
