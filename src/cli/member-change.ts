import { PkiError } from '../pki/errors.ts'
import { forgetServer } from '../pki/kubeconfig.ts'
import { AnyMember } from './any-member.ts'
import type { MemberStatus } from './cluster-status.ts'
import { CliError } from './errors.ts'
import { namesInOrder } from './name-order.ts'
import type { Format, Terminal } from './terminal.ts'

/** Flags of every command that changes members. */
export type ChangeFlags = {
  readonly kubeconfig: string
  readonly output: Format
  readonly wait: boolean
  /** Seconds. */
  readonly timeout: number
}

type Member = MemberStatus['members'][number]

type MemberChange = {
  /** The member that had the name before the change; null: none. */
  readonly before: Member | null
  /** Whether there was anything to change. */
  readonly hasChanged: boolean
}

/**
 * Makes a change to a member by ID, so that a retry after a lost response does not affect a new
 * member with a reused name. A change that a retry finds complete counts as made by this command.
 *
 * @param differs whether a member still needs the change
 */
async function changed(
  cluster: AnyMember,
  name: string,
  wanted: Readonly<Record<string, string | null>>,
  differs: (member: Member) => boolean,
): Promise<MemberChange> {
  const { members } = await cluster.status()
  const before = members.find((member) => member.name === name) ?? null
  const { body, isRepeat } = await cluster.post('/cluster/v1/members', {
    ...wanted,
    name,
    id: before?.id ?? null,
  })
  const isDone = isRepeat && before !== null && differs(before)
  return { before, hasChanged: body['changed'] === true || isDone }
}

/** Makes a learner a voter once it has caught up. */
export async function memberPromote(terminal: Terminal, name: string, flags: ChangeFlags): Promise<void> {
  const cluster = openCluster(terminal, flags)
  const wanted = { change: 'set-role', role: 'voter' }
  const { before, hasChanged } = await changed(
    cluster,
    name,
    wanted,
    ({ wantedRole }) => wantedRole !== 'voter',
  )
  if (!hasChanged && before?.role === 'voter')
    return reportChange(terminal, name, false, flags, 'votes already')
  if (flags.wait) await waitUntilVoter(terminal, cluster, name, flags)
  reportChange(terminal, name, hasChanged, flags, flags.wait ? 'votes' : 'votes once it has caught up')
}

/** Makes a voter a learner until it is promoted. */
export async function memberDemote(terminal: Terminal, name: string, flags: ChangeFlags): Promise<void> {
  const cluster = openCluster(terminal, flags)
  const wanted = { change: 'set-role', role: 'learner' }
  const { hasChanged } = await changed(cluster, name, wanted, ({ wantedRole }) => wantedRole !== 'learner')
  const words = hasChanged ? 'is a learner until it is promoted' : 'is a learner already'
  reportChange(terminal, name, hasChanged, flags, words)
}

export async function memberRemove(terminal: Terminal, name: string, flags: ChangeFlags): Promise<void> {
  const cluster = openCluster(terminal, flags)
  const { before, hasChanged } = await changed(cluster, name, { change: 'remove' }, () => true)
  if (before === null && !hasChanged) {
    const names = namesInOrder((await cluster.status()).members)
    return reportChange(
      terminal,
      name,
      false,
      flags,
      `is not a member (removed, or never one): there are ${names}`,
    )
  }
  let isUsedAgain = false
  const gone = ({ members }: MemberStatus): string | null => {
    const named = members.find((member) => member.name === name)
    isUsedAgain = named !== undefined && before !== null && named.id !== before.id
    return named === undefined || isUsedAgain ? null : `${name} is still a member`
  }
  if (flags.wait) await cluster.waitUntil(terminal, { missing: gone, timeoutMs: flags.timeout * 1000 })
  else if (!hasChanged) gone(await cluster.status())
  if (isUsedAgain) {
    const words = 'is no longer a member, and another one has its name by now: orchctl member list shows it'
    return reportChange(terminal, name, hasChanged, flags, words)
  }
  forgetContext(terminal, cluster, name, flags)
  const words = 'is no longer a member: its process ends by itself, its data directory is of no further use'
  reportChange(terminal, name, hasChanged, flags, words)
}

export type MoveFlags = ChangeFlags & { readonly peerAddress?: string; readonly clientAddress?: string }

/** Changes the addresses of a member, to which the others connect from then on. */
export async function memberMove(terminal: Terminal, name: string, flags: MoveFlags): Promise<void> {
  const { peerAddress = null, clientAddress = null } = flags
  if (peerAddress === null && clientAddress === null) {
    throw new CliError('usage', 'give --peer-address or --client-address, or both')
  }
  const cluster = openCluster(terminal, flags)
  const wanted = { change: 'move', peerAddress, clientAddress }
  const differs = (member: Member): boolean =>
    (peerAddress ?? member.peerAddress) !== member.peerAddress ||
    (clientAddress ?? member.clientAddress) !== member.clientAddress
  const { hasChanged } = await changed(cluster, name, wanted, differs)
  const startFlags = [
    ...(peerAddress === null ? [] : [`--peer-address ${peerAddress}`]),
    ...(clientAddress === null ? [] : [`--advertise-address ${clientAddress}`]),
  ]
  const words = `${hasChanged ? 'moved' : 'is at that address already'}: start it with ${startFlags.join(' ')}`
  reportChange(terminal, name, hasChanged, flags, words)
}

/**
 * Removes the context of a removed member. The change is complete, so a failure is only reported.
 */
export function forgetContext(
  terminal: Terminal,
  { authority }: AnyMember,
  name: string,
  { kubeconfig }: Pick<ChangeFlags, 'kubeconfig'>,
): void {
  try {
    if (forgetServer(kubeconfig, name, authority))
      terminal.note(`removed its context ${name} from ${kubeconfig}`)
  } catch (cause) {
    if (!(cause instanceof PkiError)) throw cause
    terminal.note(`its context ${name} stays in ${kubeconfig}: ${cause.message}`)
  }
}

/** Opens the cluster for a change within `--timeout`. */
export function openCluster(
  terminal: Terminal,
  { kubeconfig, timeout }: Pick<ChangeFlags, 'kubeconfig' | 'timeout'>,
): AnyMember {
  return new AnyMember(kubeconfig, { terminal, timeoutMs: timeout * 1000 })
}

/** Waits until a member votes and the one it replaces is removed. */
export async function waitUntilVoter(
  terminal: Terminal,
  cluster: AnyMember,
  name: string,
  { timeout }: Pick<ChangeFlags, 'timeout'>,
): Promise<void> {
  await cluster.waitUntil(terminal, {
    missing: (status) => stillToVote(status, name),
    timeoutMs: timeout * 1000,
  })
}

/** Waits until the configuration has a member of that name. */
export async function waitUntilJoined(
  terminal: Terminal,
  cluster: AnyMember,
  name: string,
  { timeout }: Pick<ChangeFlags, 'timeout'>,
): Promise<void> {
  const missing = ({ members }: MemberStatus): string | null =>
    members.some((member) => member.name === name) ? null : `${name} has not joined yet`
  await cluster.waitUntil(terminal, { missing, timeoutMs: timeout * 1000 })
}

/** @returns null: it votes */
function stillToVote({ members, leader }: MemberStatus, name: string): string | null {
  const member = members.find((one) => one.name === name)
  if (member === undefined) return `${name} has not joined yet`
  if (member.role === 'voter') return null
  if (leader === null) return `${name} is a learner, and there is no leader to promote it`
  return member.lag === null
    ? `${name} is a learner and catches up`
    : `${name} is a learner and catches up: ${member.lag} entries to go`
}

function reportChange(
  terminal: Terminal,
  name: string,
  hasChanged: boolean,
  flags: ChangeFlags,
  words: string,
): void {
  if (flags.output === 'json') {
    terminal.print(JSON.stringify({ member: name, changed: hasChanged }))
  } else {
    terminal.print(`${name} ${words}`)
  }
}
