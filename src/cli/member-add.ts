import { join } from 'node:path'
import { isRecord } from '../../raft/base/record.ts'
import { memberAddress, parseAddress } from '../config/address.ts'
import { ConfigFailure } from '../config/errors.ts'
import { clusterPkiPaths, ensureClusterPki } from '../pki/cluster-pki.ts'
import type { AnyMember } from './any-member.ts'
import { CliFailure } from './errors.ts'
import { askedBy, forgetContext, hasJoined, votes } from './member-change.ts'
import type { ChangeFlags } from './member-change.ts'
import type { Terminal } from './terminal.ts'

export type AddFlags = ChangeFlags & {
  readonly peerAddress: string
  readonly clientAddress: string
  readonly role: 'voter' | 'learner'
  readonly replaces?: string
  /** Where the cluster's keys are: those of the new member are made there. */
  readonly pki?: string
}

/** A token, and whom it makes a member of what. */
export type JoinToken = {
  readonly token: string
  readonly expires: string
  readonly clusterName: string
  readonly apiDomain: string
  /** Where clients dial the members there are. */
  readonly addresses: readonly string[]
}

/** What becomes of asking for a token. */
export type Issued =
  | { readonly kind: 'token'; readonly token: JoinToken }
  /** The process that it is wanted for is a member. @param isDone it votes, and whom it replaces is gone */
  | { readonly kind: 'joined'; readonly isDone: boolean }

/** Makes a token for a new member, and says what to type on its machine. */
export async function memberAdd(terminal: Terminal, name: string, flags: AddFlags): Promise<void> {
  const cluster = askedBy(terminal, flags)
  const seat = { name, role: flags.role, replaces: flags.replaces ?? null, ...addressesOf(flags) }
  const issued = await newToken(cluster, seat)
  if (issued.kind === 'joined') joinedBefore(terminal, seat, flags)
  else give(terminal, seat, issued.token, flags)
  if (!flags.wait) return
  if (flags.role === 'voter') await votes(terminal, cluster, name, flags)
  else await hasJoined(terminal, cluster, name, flags)
  if (flags.output === 'table') terminal.print(`${name} ${flags.role === 'voter' ? 'votes' : 'is a learner'}`)
}

function give(terminal: Terminal, seat: Seat, token: JoinToken, flags: AddFlags): void {
  // Not before the cluster agrees: under a name that is taken there are keys that somebody uses.
  const made = flags.pki === undefined ? [] : makeKeys(terminal, flags.pki, flags.kubeconfig, seat)
  tell(terminal, { seat, token, made, flags })
}

/** By an earlier run, or another operator's: there is nothing to start any more. */
function joinedBefore(terminal: Terminal, seat: Seat, { output }: Pick<ChangeFlags, 'output'>): void {
  if (output === 'json') {
    return terminal.print(JSON.stringify({ member: memberOf(seat), joined: true }, null, 2))
  }
  const place = seat.replaces === null ? '' : `, in the place of ${seat.replaces}`
  const lost = `if its data is lost, orchctl member remove ${seat.name} comes first`
  terminal.print(`${seat.name} has joined already${place}: no token is made; ${lost}`)
}

export type ReplaceFlags = Omit<AddFlags, 'role' | 'replaces'>

/** Another machine takes the place of a voter, in one step and also while that one is dead. */
export async function memberReplace(
  terminal: Terminal,
  names: { readonly old: string; readonly next: string },
  flags: ReplaceFlags,
): Promise<void> {
  const { old, next } = names
  const cluster = askedBy(terminal, flags)
  const seat: Seat = { name: next, role: 'voter', replaces: old, ...addressesOf(flags) }
  // Whoever looked first and asked then would take one that joined in between for a stranger.
  const issued = await newToken(cluster, seat)
  const isDone = issued.kind === 'joined' && issued.isDone
  if (!isDone) {
    if (issued.kind === 'token') give(terminal, seat, issued.token, { ...flags, role: 'voter' })
    else if (flags.wait) terminal.note(`${next} has joined already, and waits for the place of ${old}`)
    else joinedBefore(terminal, seat, flags)
    if (!flags.wait) return
    await votes(terminal, cluster, next, flags)
  }
  // Also where an earlier run was interrupted just before.
  forgetContext(terminal, cluster, old, flags)
  const words = isDone
    ? `${next} votes already, ${old} is gone`
    : `${next} votes in the place of ${old}, which is no member any more`
  terminal.print(flags.output === 'json' ? JSON.stringify({ member: next, replaced: old }) : words)
}

export type Seat = {
  readonly name: string
  readonly role: 'voter' | 'learner'
  readonly replaces: string | null
  readonly peerAddress: string
  readonly clientAddress: string
}

/** @throws CliFailure `failed` also where another has the name or an address */
export async function newToken(cluster: AnyMember, seat: Seat): Promise<Issued> {
  const { body: answer } = await cluster.post('/cluster/v1/join-tokens', seat)
  const { token, expires, clusterName, apiDomain, addresses } = answer
  if (answer['joined'] === true) {
    const { member, votes: doesVote } = answer
    const isAlone = isRecord(member) && (member['replaces'] ?? null) === null
    return { kind: 'joined', isDone: isAlone && doesVote === true }
  }
  if (typeof token !== 'string' || !Array.isArray(addresses)) {
    throw new CliFailure('failed', `the cluster answers no token: ${JSON.stringify(Object.keys(answer))}`)
  }
  const said = {
    token,
    expires: String(expires),
    clusterName: String(clusterName),
    apiDomain: String(apiDomain),
    addresses: addresses.map(String),
  }
  return { kind: 'token', token: said }
}

/** @throws CliFailure `usage` */
function addressesOf(
  flags: Pick<AddFlags, 'peerAddress' | 'clientAddress'>,
): Pick<Seat, 'peerAddress' | 'clientAddress'> {
  const parse = (flag: string, text: string): string => {
    try {
      return memberAddress(text)
    } catch (cause) {
      if (cause instanceof ConfigFailure) throw new CliFailure('usage', `${flag} ${cause.message}`, { cause })
      throw cause
    }
  }
  return {
    peerAddress: parse('--peer-address', flags.peerAddress),
    clientAddress: parse('--client-address', flags.clientAddress),
  }
}

/** @returns the files that were made */
export function makeKeys(
  { clock, random }: Terminal,
  directory: string,
  kubeconfigPath: string,
  { name, peerAddress, clientAddress }: Seat,
): readonly string[] {
  const hosts = new Set([clientAddress, peerAddress].map((address) => parseAddress(address).host))
  const member = { name, hosts: [...hosts], serverUrl: `https://${clientAddress}` }
  return ensureClusterPki({ directory, kubeconfigPath, members: [member], clock, random }).made
}

type Told = {
  readonly seat: Seat
  readonly token: JoinToken
  readonly made: readonly string[]
  readonly flags: AddFlags
}

function tell(terminal: Terminal, { seat, token, made, flags }: Told): void {
  const keys = keyFiles(flags.pki ?? 'pki', seat.name)
  const command = [serverCommand(terminal.program), ...serverFlags(seat, token, keys)]
  if (flags.output === 'json') {
    const answer = {
      ...token,
      member: memberOf(seat),
      files: Object.values(keys),
      made,
      command: command.join(' '),
    }
    return terminal.print(JSON.stringify(answer, null, 2))
  }
  for (const path of made) terminal.note(`made  ${path}`)
  const place = seat.replaces === null ? '' : `, in the place of ${seat.replaces}`
  terminal.print(`a token for ${seat.name}${place}: good for one data directory, until ${token.expires}`)
  terminal.print('')
  terminal.print('On its machine, with these files of the cluster’s keys:')
  for (const path of Object.values(keys)) terminal.print(`  ${path}`)
  if (flags.pki === undefined) {
    const address = parseAddress(seat.clientAddress)
    const what = `${seat.name}=${address.host}:${address.port}`
    terminal.print(
      `(${terminal.program} pki init --dir pki --members ${what} makes its own, where the others were made)`,
    )
  }
  terminal.print('')
  terminal.print('type, with a --data-dir of its own:')
  terminal.print('')
  terminal.print(wrapped(command))
}

function memberOf({ name, role, replaces, peerAddress, clientAddress }: Seat): Seat {
  return { name, role, replaces, peerAddress, clientAddress }
}

/** By flag. */
function keyFiles(directory: string, name: string): Readonly<Record<string, string>> {
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
  seat: Seat,
  token: JoinToken,
  keys: Readonly<Record<string, string>>,
): readonly string[] {
  return [
    `--name ${seat.name}`,
    `--data-dir ${join('data', seat.name)}`,
    `--secure-port ${parseAddress(seat.clientAddress).port}`,
    `--advertise-address ${seat.clientAddress}`,
    `--peer-address ${seat.peerAddress}`,
    `--cluster-name ${token.clusterName}`,
    `--api-domain ${token.apiDomain}`,
    ...Object.entries(keys).map(([flag, path]) => `${flag} ${path}`),
    `--join ${token.addresses.join(',')}`,
    `--join-token ${token.token}`,
  ]
}

/** The server beside this program, called as this one was. */
function serverCommand(program: string): string {
  return program.startsWith('node ') ? program.replace(/cli\/main\.js$/, 'main.js') : 'orch-apiserver'
}

function wrapped([first, ...rest]: readonly string[]): string {
  return [`  ${first ?? ''}`, ...rest.map((flag) => `    ${flag}`)].join(' \\\n')
}
