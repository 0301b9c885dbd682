import { isRecord } from '../../base/record.ts'
import { logIndex, noIndex } from '../../raft/index.ts'
import type { LogIndex, MemberRole, NodeId } from '../../raft/index.ts'
import { idOf } from '../data-dir/joining-codec.ts'

/** For whom a token is: one member, with all that the configuration will say of it. */
export type JoinSeat = {
  readonly name: string
  /** `learner`: pinned, is never promoted. */
  readonly role: MemberRole
  readonly peerAddress: string
  readonly clientAddress: string
  /** The voter whose place it takes once it caught up; null: it comes beside the others. */
  readonly replaces: { readonly name: string; readonly id: NodeId } | null
}

/** What all members know of one token. The token itself nobody keeps. */
export type JoinRecord = {
  readonly id: string
  /** See `secretHash`. */
  readonly secretHash: string
  readonly seat: JoinSeat
  /** Wall-clock ms; nobody begins to join with it afterwards. */
  readonly expiresMs: number
  /** Who joins with it; null: nobody came yet. Written before the configuration changes, so that a second try is the same. */
  readonly joining: Joining | null
}

export type Joining = {
  /** The joining process's own random word; one that comes with another is somebody else. */
  readonly nonce: string
  readonly memberId: NodeId
  /** See `MemberChange`: the id was drawn when this index was applied. */
  readonly basedOn: LogIndex
  /** It was in the configuration once: when it is not any more, it was removed. */
  readonly joined: boolean
}

/** As JSON, for the store. */
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

/** @returns null: it is none of ours */
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
  // Unset by a program before this field: such an id is only believed while it is in place.
  const basedOn = idOf(value['basedOn'])
  if (typeof nonce !== 'string' || typeof joined !== 'boolean' || memberId === null) return undefined
  return { nonce, memberId, joined, basedOn: basedOn === null ? noIndex : logIndex(basedOn) }
}
