import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { parseAddress } from '../config/address.ts'
import { clusterPkiPaths } from '../pki/cluster-pki.ts'
import { removeFile, makeDirectory, readTextFile, replaceFile } from '../pki/files.ts'
import { forgetServer } from '../pki/kubeconfig.ts'
import { AnyMember } from './any-member.ts'
import { waitGone, waitReady } from './cluster.ts'
import { CliError } from './errors.ts'
import { localHost, memberAt, openCluster, prepareHook, readConfig, memberConfig } from './local-cluster.ts'
import type { LocalCluster, PlannedMember } from './local-cluster.ts'
import { hasLinks } from './local-links.ts'
import { addContext, makeKeys, newToken } from './member-add.ts'
import type { RequestedMember } from './member-add.ts'
import { memberRemove, waitUntilVoter } from './member-change.ts'
import { namesInOrder } from './name-order.ts'
import { forgetProcess, logLength, processState, signalProcess, startProcess } from './process.ts'
import type { Terminal } from './terminal.ts'

type Options = { readonly directory: string; readonly timeoutMs: number }

/**
 * Adds a member to a cluster on this machine: keys, configuration, token, process. Completes an
 * interrupted earlier run.
 *
 * @param name null: the first free number
 */
export async function clusterAdd(
  terminal: Terminal,
  name: string | null,
  options: Options & { readonly role: 'voter' | 'learner' },
): Promise<void> {
  const cluster = openCluster(options.directory)
  const anyMember = new AnyMember(cluster.kubeconfigPath)
  const { members } = await anyMember.status()
  const planned = plannedMember(cluster, name ?? firstFree([...cluster.members, ...members]))
  const isMember = members.some((member) => member.name === planned.name)
  if (isMember && !existsSync(planned.configPath)) {
    throw isMemberWithout(planned)
  }
  if (!isMember) await prepareMember(terminal, cluster, anyMember, { planned, role: options.role })
  const state = processState(planned)
  const logFrom = new Map([[planned.name, logLength(planned)]])
  if (state.kind === 'running') terminal.note(`${planned.name} is running already (pid ${state.pid})`)
  else {
    const { pid } = startProcess(planned)
    terminal.note(`${planned.name} started (pid ${pid}), clients on port ${planned.clientPort}`)
  }
  const url = `https://${localHost}:${planned.clientPort}`
  const wait = { timeoutMs: options.timeoutMs, logFrom, urls: new Map([[planned.name, url]]) }
  await waitReady(terminal, { ...cluster, members: [planned] }, wait)
  addContext(
    terminal,
    join(cluster.directory, 'pki'),
    cluster.kubeconfigPath,
    wantedOf(planned, options.role),
  )
  const role = members.find((member) => member.name === planned.name)?.wantedRole ?? options.role
  if (role === 'voter')
    await waitUntilVoter(terminal, anyMember, planned.name, { timeout: options.timeoutMs / 1000 })
  terminal.print(
    `${planned.name} ${role === 'voter' ? 'votes' : 'is a learner'}, its context is ${planned.name}`,
  )
}

function isMemberWithout({ name, configPath }: PlannedMember): CliError {
  const elsewhere = `it was not added by orchctl cluster add, or its file was lost; to add another member, give another name, or none`
  return new CliError('failed', `${name} is a member, and there is no ${configPath}: ${elsewhere}`)
}

function wantedOf({ name, clientPort, peerPort }: PlannedMember, role: 'voter' | 'learner'): RequestedMember {
  const addresses = { clientAddress: `${localHost}:${clientPort}`, peerAddress: `${localHost}:${peerPort}` }
  return { name, role, replaces: null, ...addresses }
}

/** Creates everything that the process needs to join. */
async function prepareMember(
  terminal: Terminal,
  cluster: LocalCluster,
  anyMember: AnyMember,
  { planned, role }: { readonly planned: PlannedMember; readonly role: 'voter' | 'learner' },
): Promise<void> {
  if (processState(planned).kind === 'running') return
  const wanted = wantedOf(planned, role)
  const issued = await newToken(anyMember, wanted)
  if (issued.kind === 'joined') {
    if (existsSync(planned.configPath)) return
    throw isMemberWithout(planned)
  }
  const { token } = issued
  makeKeys(terminal, join(cluster.directory, 'pki'), wanted)
  makeDirectory(planned.directory)
  const tokenPath = join(planned.directory, 'join-token')
  replaceFile(tokenPath, `${token.token}\n`, 'secret')
  const config = {
    ...memberConfig(cluster.directory, planned, { domain: token.apiDomain, clusterName: token.clusterName }),
    join: token.addresses,
    'join-token-file': tokenPath,
  }
  if (hasLinks(cluster.directory)) prepareHook(planned.directory)
  replaceFile(planned.configPath, stringify(config), 'public')
  removeFile(planned.removedPath)
}

/** Removes a member from its cluster, and its data from this machine. */
export async function clusterRemove(terminal: Terminal, name: string, options: Options): Promise<void> {
  const cluster = openCluster(options.directory)
  const place = memberAt(cluster.directory, name)
  if (!existsSync(place.configPath)) {
    const names = namesInOrder(await membersOf(cluster))
    const words = existsSync(place.removedPath) ? 'was removed before' : 'is not a member'
    return terminal.print(`${name} ${words}: there are ${names}`)
  }
  const timeout = options.timeoutMs / 1000
  const { kubeconfigPath: kubeconfig } = cluster
  await memberRemove(terminal, name, { kubeconfig, output: 'table', wait: true, timeout })
  const state = processState(place)
  if (state.kind === 'running') {
    const { pid } = state
    let left = await waitGone(terminal, [{ member: place, pid }], ownEndMs)
    if (left.length > 0) signalProcess(place, pid, 'SIGTERM')
    left = await waitGone(terminal, left, options.timeoutMs)
    if (left.length > 0)
      throw new CliError('failed', `${name} (pid ${pid}) does not end: end it, then try again`)
  }
  forgetProcess(place)
  // From here on it counts as removed, not as lost.
  replaceFile(place.removedPath, '', 'public')
  // If another tool removed the member, the kubeconfig still has its context.
  forgetServer(kubeconfig, name, readTextFile(clusterPkiPaths(join(cluster.directory, 'pki')).ca.certificate))
  rmSync(join(place.directory, 'data'), { recursive: true, force: true })
  removeFile(place.configPath)
  terminal.print(`${name} is removed; its log remains in ${place.logPath}`)
}

/** Returns the members as the cluster reports them; without a response, those on this machine. */
async function membersOf(cluster: LocalCluster): Promise<readonly { readonly name: string }[]> {
  try {
    return (await new AnyMember(cluster.kubeconfigPath).status()).members
  } catch (cause) {
    if (cause instanceof CliError) return cluster.members
    throw cause
  }
}

/** Ms until a removed member notices its removal and ends. */
const ownEndMs = 10_000

/**
 * Returns the first name that is unused.
 *
 * @param members those here and in the cluster: one may have been replaced on another machine
 */
function firstFree(members: readonly { readonly name: string }[]): string {
  for (let number = 1; ; number++) {
    const name = `n${number}`
    if (!members.some((member) => member.name === name)) return name
  }
}

/** Ports follow from the number, as for founding members. @throws CliError */
function plannedMember(cluster: LocalCluster, name: string): PlannedMember {
  const [, text] = /^n([1-9][0-9]{0,2})$/.exec(name) ?? []
  if (text === undefined) {
    throw new CliError(
      'usage',
      `members of a local cluster are called n1, n2 and so on, not ${JSON.stringify(name)}`,
    )
  }
  const [first] = cluster.members
  if (first === undefined) throw new CliError('failed', `there is no member in ${cluster.directory}`)
  const peerAddress = readConfig(first.configPath)['peer-address']
  if (typeof peerAddress !== 'string') {
    throw new CliError(
      'failed',
      `${first.configPath} has no peer-address: give it one, then orchctl member move`,
    )
  }
  const distance = Number(text) - Number(first.name.slice(1))
  return {
    ...memberAt(cluster.directory, name),
    clientPort: first.clientPort + distance,
    // Ports for members without a proxy: with chaos, only founding members are proxied.
    peerPort: parseAddress(peerAddress).port + distance,
    listenPort: parseAddress(peerAddress).port + distance,
  }
}
