import { isRecord } from '../../base/record.ts'
import { call, jsonOf } from './member-client.ts'
import type { Endpoint } from '../credentials/endpoint.ts'
import { CliError } from './errors.ts'

/** Status that a member reports of itself and its cluster, as far as commands use it. */
export type MemberStatus = {
  readonly name: string
  readonly role: string
  readonly term: number
  /** Name; null: unknown. */
  readonly leader: string | null
  readonly appliedMemory: number
  readonly ready: boolean
  /** Cause of the quarantine of its state, see `QuarantineCause`; null: none. */
  readonly quarantine: string | null
  readonly members: readonly {
    readonly id: string
    readonly name: string
    readonly role: string
    readonly wantedRole: string
    readonly peerAddress: string
    readonly clientAddress: string
    /** Name of the voter that it will replace once it has caught up. */
    readonly replaces: string | null
    /** Missing entries; null: unknown to this member. */
    readonly lag: number | null
  }[]
}

const statusTimeoutMs = 3000

/** @throws CliError `failed` when it does not respond with a status */
export async function fetchStatus(endpoint: Endpoint): Promise<MemberStatus> {
  const reply = await call(endpoint, { method: 'GET', path: '/cluster/v1/status' }, statusTimeoutMs)
  return parseStatus(endpoint, jsonOf(endpoint, reply))
}

/**
 * @param onSilent called for each member without a status, with the reason and the next member;
 * null: none is left
 * @throws CliError `failed` when no member responds
 */
export async function fetchAnyStatus(
  endpoints: readonly Endpoint[],
  onSilent: (endpoint: Endpoint, why: string, next: Endpoint | null) => void = () => undefined,
): Promise<{ readonly endpoint: Endpoint; readonly status: MemberStatus }> {
  let failure: unknown = null
  for (const [at, endpoint] of endpoints.entries()) {
    try {
      return { endpoint, status: await fetchStatus(endpoint) }
    } catch (cause) {
      if (!(cause instanceof CliError)) throw cause
      failure = cause
      onSilent(endpoint, cause.message, endpoints[at + 1] ?? null)
    }
  }
  throw failure
}

export function parseStatus(endpoint: Endpoint, value: Record<string, unknown>): MemberStatus {
  const { members, leader } = value
  if (!Array.isArray(members)) throw new CliError('failed', `member ${endpoint.name} did not return a status`)
  return {
    name: textOf(value['name']),
    role: textOf(value['role']),
    term: numberOf(value['term']),
    leader: isRecord(leader) ? textOf(leader['name']) : null,
    appliedMemory: numberOf(value['appliedMemory']),
    ready: value['ready'] === true,
    quarantine: quarantineOf(value['state']),
    members: members.filter(isRecord).map((member) => ({
      id: textOf(member['id']),
      name: textOf(member['name']),
      role: textOf(member['role']),
      wantedRole: textOf(member['wantedRole']),
      peerAddress: textOf(member['peerAddress']),
      clientAddress: textOf(member['clientAddress']),
      replaces: typeof member['replaces'] === 'string' ? member['replaces'] : null,
      lag: typeof member['lag'] === 'number' ? member['lag'] : null,
    })),
  }
}

function quarantineOf(state: unknown): string | null {
  const cause = isRecord(state) ? state['quarantine'] : null
  return typeof cause === 'string' ? cause : null
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  return typeof value === 'number' ? String(value) : ''
}

function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : 0
}
