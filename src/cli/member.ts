import { AnyMember, orNull, undecidedCodes } from './any-member.ts'
import { fetchStatus, parseStatus } from './cluster-status.ts'
import type { MemberStatus } from './cluster-status.ts'
import { CliError } from './errors.ts'
import { call, jsonOf } from './member-client.ts'
import type { Endpoint } from '../credentials/endpoint.ts'
import { byName, namesInOrder } from './name-order.ts'
import { formatTable, sleep } from './terminal.ts'
import type { Format, Terminal } from './terminal.ts'

const transferTimeoutMs = 15_000
/** Ms to look for a new leader: more than an election takes as a rule. */
const electionMs = 3000

/** Prints the members as the leader knows them, and whether each is ready. */
export async function memberList(terminal: Terminal, kubeconfig: string, format: Format): Promise<void> {
  const cluster = new AnyMember(kubeconfig)
  const status = await cluster.status()
  const own = await cluster.each(status)
  const unreachableMembers = await cluster.unreachableMembers(status, own)
  const members = status.members.toSorted(byName)
  const readyOf = (name: string): boolean | null => own.get(name)?.ready ?? null
  if (format === 'json') {
    const all = members.map((member) => ({
      ...member,
      leader: member.name === status.leader,
      ready: readyOf(member.name),
    }))
    terminal.print(JSON.stringify(all, null, 2))
    for (const line of unreachableMembers) terminal.note(line)
    return
  }
  const rows = members.map((member) => [
    member.name,
    member.id,
    member.name === status.leader ? 'leader' : member.role,
    becomes(member),
    wordOf(readyOf(member.name)),
    member.lag === null ? '-' : String(member.lag),
    member.peerAddress,
    member.clientAddress,
  ])
  const heading = ['NAME', 'ID', 'ROLE', 'BECOMES', 'READY', 'LAG', 'PEERS', 'CLIENTS']
  for (const line of formatTable([heading, ...rows])) terminal.print(line)
  if (rows.length === 0) {
    const why = 'the cluster is not founded yet: start all its initial members'
    terminal.note(`no member is known: ${why} (/readyz of each names the missing ones)`)
  }
  for (const line of unreachableMembers) terminal.note(line)
}

function becomes({ role, wantedRole, replaces }: MemberStatus['members'][number]): string {
  if (role === wantedRole) return '-'
  return replaces === null ? wantedRole : `${wantedRole} for ${replaces}`
}

function wordOf(ready: boolean | null): string {
  if (ready === null) return 'no answer'
  return ready ? 'yes' : 'no'
}

/** @param to null: the most up-to-date member */
export async function transferLeader(
  terminal: Terminal,
  kubeconfig: string,
  to: string | null,
  format: Format,
): Promise<void> {
  const cluster = new AnyMember(kubeconfig)
  const status = await cluster.status()
  if (to !== null && !status.members.some(({ name }) => name === to)) {
    const names = namesInOrder(status.members)
    throw new CliError('failed', `there is no member "${to}": the members are ${names}`)
  }
  const before = status.leader
  try {
    if (before === null) throw new CliError('failed', 'there is no leader that could transfer leadership')
    const after = to === before ? to : await transferTo(terminal, cluster, { before, to })
    report(terminal, { from: before, to: after }, format)
  } catch (cause) {
    if (!(cause instanceof CliError)) throw cause
    throw await naming(cluster, status, cause)
  }
}

/** Adds the members that do not respond, which are a likely cause of the failure. */
async function naming(cluster: AnyMember, status: MemberStatus, failure: CliError): Promise<CliError> {
  const unreachableMembers = await cluster.unreachableMembers(status)
  if (unreachableMembers.length === 0) return failure
  return new CliError('failed', [failure.message, ...unreachableMembers].join('\n  '), { cause: failure })
}

/** @returns the new leader */
async function transferTo(terminal: Terminal, cluster: AnyMember, what: TransferRequest): Promise<string> {
  const { before, to } = what
  // The leader knows best which members can take over.
  const leader = cluster.endpointOf(before)
  if (leader === null) throw new CliError('failed', `${before} leads, but its client address is unknown`)
  const body = { to, from: before }
  const reply = await call(
    leader,
    { method: 'POST', path: '/cluster/v1/transfer-leader', body },
    transferTimeoutMs,
  )
  if (reply === null || undecidedCodes.has(reply.status)) {
    const after = await confirmTransfer(terminal, cluster, {
      ...what,
      lookMs: reply === null ? electionMs : 0,
    })
    if (after !== null) return after
  }
  if (reply === null) throw new CliError('failed', `${before} did not confirm the leadership transfer`)
  const first = parseStatus(leader, jsonOf(leader, reply))
  return settled(terminal, { cluster, leader }, first, what)
}

type TransferRequest = { readonly before: string; readonly to: string | null }

/** Returns the leader if it is the requested one. */
function movedTo({ leader }: MemberStatus, { before, to }: TransferRequest): string | null {
  return leader !== null && leader !== before && (to === null || leader === to) ? leader : null
}

/**
 * A member that did not respond may have transferred leadership: checks the current leader.
 *
 * @param lookMs how long to check
 * @returns null: not transferred
 */
async function confirmTransfer(
  { clock }: Terminal,
  cluster: AnyMember,
  wanted: TransferRequest & { readonly lookMs: number },
): Promise<string | null> {
  const endMs = clock.monotonicMs() + wanted.lookMs
  for (;;) {
    const status = await orNull(cluster.status())
    const leader = status === null ? null : movedTo(status, wanted)
    if (leader !== null || clock.monotonicMs() >= endMs) return leader
    await sleep(clock, 50)
  }
}

/** Waits until the old leader knows the new one, if it responds. */
async function settled(
  terminal: Terminal,
  { cluster, leader: old }: { readonly cluster: AnyMember; readonly leader: Endpoint },
  first: MemberStatus,
  wanted: TransferRequest,
): Promise<string> {
  const endMs = terminal.clock.monotonicMs() + transferTimeoutMs
  let status = first
  for (;;) {
    const leader = movedTo(status, wanted)
    if (leader !== null) return leader
    if (terminal.clock.monotonicMs() >= endMs) {
      const found = status.leader === null ? 'there is no leader' : `${status.leader} is the leader`
      throw new CliError('failed', `${found} after ${transferTimeoutMs} ms`)
    }
    await sleep(terminal.clock, 50)
    status = (await orNull(fetchStatus(old))) ?? (await cluster.status())
  }
}

function report(
  terminal: Terminal,
  moved: { readonly from: string; readonly to: string },
  format: Format,
): void {
  if (format === 'json') return terminal.print(JSON.stringify(moved))
  terminal.print(
    moved.from === moved.to ? `${moved.to} leads already` : `${moved.to} leads, ${moved.from} follows`,
  )
}
