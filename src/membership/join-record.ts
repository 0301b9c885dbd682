import { isRecord } from '../../base/record.ts'
import { logIndex, noIndex } from '../../raft/index.ts'
import type { LogIndex, MemberRole, NodeId } from '../../raft/index.ts'
import { idOf } from '../data-dir/joining-codec.ts'

/** The member that a token is for, with all that the configuration will contain about it. */
export type JoinSeat = {
  readonly name: string
  /** `learner`: pinned, not promoted before an operator requests it. */
  readonly role: MemberRole
  readonly peerAddress: string
  readonly clientAddress: string
  /** The voter that it replaces once it caught up; null: none. */
  readonly replaces: { readonly name: string; readonly id: NodeId } | null
}

/** The replicated record of one token. The token itself is stored nowhere. */
export type JoinRecord = {
  readonly id: string
  /** See `secretHash`. */
  readonly secretHash: string
  readonly seat: JoinSeat
  /** Wall-clock ms; no join begins with it afterwards. */
  readonly expiresMs: number
  /**
   * The process that joins with it; null: none yet. Written before the configuration changes, so
   * that a retry is the same join.
   */
  readonly joining: Joining | null
}

export type Joining = {
  /**
   * The random nonce of the joining process; a request with another one comes from another process.
   */
  readonly nonce: string
  readonly memberId: NodeId
  /** See `MemberChange`: the id was drawn when this index was applied. */
  readonly basedOn: LogIndex
  /** Whether the member was in the configuration: if it no longer is, it was removed. */
  readonly joined: boolean
}

/** Returns the fields of a record as JSON, for the store. */
export function recordFields(record: JoinRecord): {
  readonly secretHash: string
  readonly expiresMs: number
  readonly seat: Readonly<Record<string, string>>
  readonly joining?: Readonly<Record<string, string | boolean>>
} {
  const { secretHash, expiresMs, seat, joining } = record
  const { name, role, peerAddress, clientAddress, replaces } = seat
  return {
    secretHash,
    expiresMs,
    seat: {
      ...{ name, role, peerAddress, clientAddress },
      ...(replaces === null ? {} : { replaces: replaces.name, replacesId: String(replaces.id) }),
    },
    ...(joining === null
      ? {}
      : { joining: { ...joining, memberId: String(joining.memberId), basedOn: String(joining.basedOn) } }),
  }
}

/** Returns null if the fields are not a record. */
export function recordOf(id: string, fields: Readonly<Record<string, unknown>>): JoinRecord | null {
  const { secretHash, expiresMs } = fields
  const seat = seatOf(fields['seat'])
  const joining = fields['joining'] === undefined ? null : joiningOf(fields['joining'])
  if (typeof secretHash !== 'string' || typeof expiresMs !== 'number' || seat === null) return null
  if (joining === undefined) return null
  return { id, secretHash, expiresMs, seat, joining }
}

function seatOf(value: unknown): JoinSeat | null {
  if (!isRecord(value)) return null
  const { name, role, peerAddress, clientAddress, replaces } = value
  if (typeof name !== 'string' || typeof peerAddress !== 'string' || typeof clientAddress !== 'string')
    return null
  if (role !== 'voter' && role !== 'learner') return null
  const base = { name, role, peerAddress, clientAddress } as const
  if (replaces === undefined) return { ...base, replaces: null }
  const replacesId = idOf(value['replacesId'])
  return typeof replaces === 'string' && replacesId !== null
    ? { ...base, replaces: { name: replaces, id: replacesId } }
    : null
}

function joiningOf(value: unknown): Joining | undefined {
  if (!isRecord(value)) return undefined
  const { nonce, joined } = value
  const memberId = idOf(value['memberId'])
  // Unset by programs older than this field: such an id counts only while it is in the
  // configuration.
  const basedOn = idOf(value['basedOn'])
  if (typeof nonce !== 'string' || typeof joined !== 'boolean' || memberId === null) return undefined
  return { nonce, memberId, joined, basedOn: basedOn === null ? noIndex : logIndex(basedOn) }
}
