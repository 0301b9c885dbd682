import { nodeId } from '../../raft/index.ts'
import type { MemberInfo, MemberRole } from '../../raft/index.ts'
import { MalformedCommandError } from './malformed-command-error.ts'
import type { Founding } from './command.ts'

/**
 * Encodes the founding, the last field of a command (see `command-codec.ts`), which is omitted when
 * it is unset.
 */
export function foundingFields(founding: Founding | undefined): unknown[] {
  return founding === undefined ? [] : [[founding.atMs, founding.members.map(memberFields)]]
}

/** @throws MalformedCommandError */
export function foundingIn(value: unknown): { readonly founding?: Founding } {
  if (value === undefined) return {}
  const [atMs, members] = list(value)
  return { founding: { atMs: whole(atMs), members: list(members).map(memberIn) } }
}

function memberFields(member: MemberInfo): unknown[] {
  const { id, name, role, wantedRole, peerAddress, clientAddress, version, featureLevel } = member
  return [id, name, role, wantedRole, peerAddress, clientAddress, version, featureLevel]
}

function memberIn(value: unknown): MemberInfo {
  const [id, name, role, wantedRole, peerAddress, clientAddress, version, featureLevel] = list(value)
  if (whole(id) === 0) throw new MalformedCommandError('a member has no id')
  return {
    id: nodeId(whole(id)),
    name: text(name),
    role: roleIn(role),
    wantedRole: roleIn(wantedRole),
    peerAddress: text(peerAddress),
    clientAddress: text(clientAddress),
    version: text(version),
    featureLevel: whole(featureLevel),
    ...{ replaces: null, addedMs: 0 },
  }
}

function roleIn(value: unknown): MemberRole {
  if (value !== 'voter' && value !== 'learner')
    throw new MalformedCommandError('the role of a member is invalid')
  return value
}

function list(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new MalformedCommandError('its members are not a list')
  return value
}

function whole(value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    throw new MalformedCommandError('a number of a member is invalid')
  }
  return value
}

function text(value: unknown): string {
  if (typeof value !== 'string') throw new MalformedCommandError('a text of a member is invalid')
  return value
}
