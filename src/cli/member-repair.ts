import { orNull } from './any-member.ts'
import type { AnyMember } from './any-member.ts'
import { fetchStatus } from './cluster-status.ts'
import type { MemberStatus } from './cluster-status.ts'
import { CliError } from './errors.ts'
import { call, jsonOf } from './member-client.ts'
import type { Endpoint } from '../credentials/endpoint.ts'
import { openCluster } from './member-change.ts'
import type { ChangeFlags } from './member-change.ts'
import { namesInOrder } from './name-order.ts'
import { diagnoseUnreachable } from './diagnose-unreachable.ts'
import { sleep } from './terminal.ts'
import type { Terminal } from './terminal.ts'

export type RepairFlags = ChangeFlags & {
  /** The member with the correct state. */
  readonly from?: string
}

/** A transfer of leadership may have to wait for an election. */
const decisionTimeoutMs = 30_000
const pollMs = 200

/**
 * Replaces the state of a member by that of the leader, as the operator decides. With `--from`,
 * that member is trusted and made the leader first. Each step is sent to the member concerned,
 * since others may not serve. Each may be repeated.
 */
export async function memberRepair(terminal: Terminal, name: string, flags: RepairFlags): Promise<void> {
  const { from = null } = flags
  if (from === name) throw new CliError('usage', 'a member is not repaired --from itself')
  const cluster = openCluster(terminal, flags)
  const status = await cluster.status()
  const target = memberOf(cluster, status, name)
  if (from !== null) await decide(memberOf(cluster, status, from), { change: 'trust' })
  const hasChanged = await decide(target, { change: 'repair', from })
  const own = flags.wait && hasChanged ? await fetched(terminal, target.endpoint, flags.timeout) : null
  if (flags.output === 'json') return terminal.print(JSON.stringify({ member: name, changed: hasChanged }))
  terminal.print(`${name} ${wordsFor(hasChanged, own)}`)
}

function wordsFor(hasChanged: boolean, own: MemberStatus | null): string {
  if (!hasChanged) return 'has the state of the leader already, or is fetching it'
  if (own === null) return 'has set its state aside and fetches the leader’s'
  if (own.quarantine === null) return 'has the leader’s state and serves it'
  return 'has the leader’s state and does not serve it yet: a majority still has another one, repair those members too'
}

type Target = { readonly name: string; readonly id: string; readonly endpoint: Endpoint }

/** @throws CliError `failed` */
function memberOf(cluster: AnyMember, { members }: MemberStatus, name: string): Target {
  const found = members.find((member) => member.name === name)
  if (found === undefined) {
    throw new CliError('failed', `there is no member "${name}": the members are ${namesInOrder(members)}`)
  }
  const endpoint = cluster.endpointOf(name)
  if (endpoint !== null) return { name, id: found.id, endpoint }
  throw new CliError('failed', `the client address of ${name} is unknown: set it with orchctl member move`)
}

/**
 * @returns whether there was anything to do
 * @throws CliError `failed` with the message of the member
 */
async function decide(
  { name, id, endpoint }: Target,
  wanted: Readonly<Record<string, string | null>>,
): Promise<boolean> {
  const body = { ...wanted, name, id }
  const reply = await call(endpoint, { method: 'POST', path: '/cluster/v1/members', body }, decisionTimeoutMs)
  if (reply === null) throw new CliError('failed', await diagnoseUnreachable(name, endpoint))
  return jsonOf(endpoint, reply)['changed'] === true
}

/** Waits until the member has a state again. @returns its status */
async function fetched(terminal: Terminal, endpoint: Endpoint, timeout: number): Promise<MemberStatus> {
  const { clock } = terminal
  const endMs = clock.monotonicMs() + timeout * 1000
  for (;;) {
    const own = await orNull(fetchStatus(endpoint))
    if (own !== null && (own.quarantine === null || own.quarantine === 'disagreement')) return own
    if (clock.monotonicMs() >= endMs) {
      const why = own === null ? 'does not answer' : 'has no state yet'
      throw new CliError(
        'failed',
        `${endpoint.name} ${why} after ${timeout} s; the same command may be repeated`,
      )
    }
    await sleep(clock, pollMs)
  }
}
