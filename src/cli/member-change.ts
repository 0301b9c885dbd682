import { PkiFailure } from '../pki/errors.ts'
import { forgetServer } from '../pki/kubeconfig.ts'
import { AnyMember } from './any-member.ts'
import type { MemberStatus } from './cluster-status.ts'
import { CliFailure } from './errors.ts'
import { namesInOrder } from './name-order.ts'
import type { Format, Terminal } from './terminal.ts'

/** What every command that changes members is told. */
export type ChangeFlags = {
  readonly kubeconfig: string
  readonly output: Format
  readonly wait: boolean
  /** Seconds. */
  readonly timeout: number
}

const path = '/cluster/v1/members'

/** A learner may vote: it does once it has caught up. */
export async function memberPromote(terminal: Terminal, name: string, flags: ChangeFlags): Promise<void> {
  const cluster = askedBy(terminal, flags)
  const before = await memberOf(cluster, name)
  if (before.role === 'voter' && before.wantedRole === 'voter')
    return told(terminal, name, false, flags, 'votes already')
  const { changed } = await cluster.post(path, { change: 'set-role', name, role: 'voter' })
  if (flags.wait) await votes(terminal, cluster, name, flags)
  told(terminal, name, changed, flags, flags.wait ? 'votes' : 'votes once it has caught up')
}

/** A voter becomes a learner, and stays one. */
export async function memberDemote(terminal: Terminal, name: string, flags: ChangeFlags): Promise<void> {
  const cluster = askedBy(terminal, flags)
  await memberOf(cluster, name)
  const { changed } = await cluster.post(path, { change: 'set-role', name, role: 'learner' })
  const words = changed === true ? 'is a learner and stays one' : 'is a learner already and stays one'
  told(terminal, name, changed, flags, words)
}

export async function memberRemove(terminal: Terminal, name: string, flags: ChangeFlags): Promise<void> {
  const cluster = askedBy(terminal, flags)
  const { members } = await cluster.status()
  if (!members.some((member) => member.name === name)) {
    return told(
      terminal,
      name,
      false,
      flags,
      `is no member (removed, or never one): there are ${namesInOrder(members)}`,
    )
  }
  const { changed } = await cluster.post(path, { change: 'remove', name })
  const gone = (status: MemberStatus): string | null =>
    status.members.some((member) => member.name === name) ? `${name} is still a member` : null
  if (flags.wait) await cluster.waitUntil(terminal, { says: gone, timeoutMs: flags.timeout * 1000 })
  forgetContext(terminal, cluster, name, flags)
  const words = 'is no member any more: its process ends by itself, its data directory is of no further use'
  told(terminal, name, changed, flags, words)
}

export type MoveFlags = ChangeFlags & { readonly peerAddress?: string; readonly clientAddress?: string }

/** The others dial it elsewhere from now on. */
export async function memberMove(terminal: Terminal, name: string, flags: MoveFlags): Promise<void> {
  const { peerAddress = null, clientAddress = null } = flags
  if (peerAddress === null && clientAddress === null) {
    throw new CliFailure('usage', 'give --peer-address or --client-address, or both')
  }
  const cluster = askedBy(terminal, flags)
  await memberOf(cluster, name)
  const { changed } = await cluster.post(path, { change: 'move', name, peerAddress, clientAddress })
  const words = `${changed === true ? 'is' : 'is already'} where it shall be: start it with the same addresses`
  told(terminal, name, changed, flags, words)
}

/** A member that is gone needs no context. What was asked for is done by then, so a file that cannot be changed is only told of. */
export function forgetContext(
  terminal: Terminal,
  { authority }: AnyMember,
  name: string,
  { kubeconfig }: Pick<ChangeFlags, 'kubeconfig'>,
): void {
  try {
    if (forgetServer(kubeconfig, name, authority))
      terminal.note(`took its context ${name} out of ${kubeconfig}`)
  } catch (cause) {
    if (!(cause instanceof PkiFailure)) throw cause
    terminal.note(`its context ${name} stays in ${kubeconfig}: ${cause.message}`)
  }
}

/** The cluster, asked for a change within `--timeout`. */
export function askedBy(
  terminal: Terminal,
  { kubeconfig, timeout }: Pick<ChangeFlags, 'kubeconfig' | 'timeout'>,
): AnyMember {
  return new AnyMember(kubeconfig, { terminal, timeoutMs: timeout * 1000 })
}

/** Waits until a member votes, and whom it replaces is gone. */
export async function votes(
  terminal: Terminal,
  cluster: AnyMember,
  name: string,
  { timeout }: Pick<ChangeFlags, 'timeout'>,
): Promise<void> {
  await cluster.waitUntil(terminal, {
    says: (status) => stillToVote(status, name),
    timeoutMs: timeout * 1000,
  })
}

/** Waits until the configuration has a member of that name. */
export async function hasJoined(
  terminal: Terminal,
  cluster: AnyMember,
  name: string,
  { timeout }: Pick<ChangeFlags, 'timeout'>,
): Promise<void> {
  const says = ({ members }: MemberStatus): string | null =>
    members.some((member) => member.name === name) ? null : `${name} has not joined yet`
  await cluster.waitUntil(terminal, { says, timeoutMs: timeout * 1000 })
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

async function memberOf(cluster: AnyMember, name: string): Promise<MemberStatus['members'][number]> {
  const { members } = await cluster.status()
  const found = members.find((member) => member.name === name)
  if (found !== undefined) return found
  throw new CliFailure('failed', `there is no member ${name}: there are ${namesInOrder(members)}`)
}

function told(terminal: Terminal, name: string, changed: unknown, flags: ChangeFlags, words: string): void {
  if (flags.output === 'json') {
    terminal.print(JSON.stringify({ member: name, changed: changed === true }))
  } else {
    terminal.print(`${name} ${words}`)
  }
}
