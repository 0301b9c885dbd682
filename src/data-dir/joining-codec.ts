import { isRecord } from '../../base/record.ts'
import { logIndex, nodeId } from '../../raft/index.ts'
import type { Joining, MemberInfo, NodeId } from '../../raft/index.ts'

/**
 * Returns the answer to a join request as JSON. Ids are decimal text: they are wider than 32 bits.
 */
export function joinedFields(joining: Joining): Readonly<Record<string, unknown>> {
  const { clusterId, configurationIndex, members } = joining
  return {
    clusterId,
    configurationIndex,
    members: members.map((member) => ({
      ...member,
      id: String(member.id),
      replaces: member.replaces === null ? null : String(member.replaces),
    })),
  }
}

/** Returns null if the value has another form. */
export function joinedOf(value: unknown): Joining | null {
  if (!isRecord(value)) return null
  const { clusterId, configurationIndex, members } = value
  if (typeof clusterId !== 'string' || !/^[0-9a-f]{32}$/.test(clusterId)) return null
  if (!isCount(configurationIndex) || !Array.isArray(members)) return null
  const found = members.map(memberOf)
  if (!found.every((member) => member !== null)) return null
  return { clusterId, configurationIndex: logIndex(configurationIndex), members: found }
}

function memberOf(value: unknown): MemberInfo | null {
  if (!isRecord(value)) return null
  const { name, role, wantedRole, peerAddress, clientAddress, version, featureLevel, addedMs } = value
  const id = idOf(value['id'])
  const replaces = value['replaces'] === null ? null : idOf(value['replaces'])
  if (id === null || (replaces === null && value['replaces'] !== null)) return null
  if (typeof name !== 'string' || typeof version !== 'string') return null
  if (typeof peerAddress !== 'string' || typeof clientAddress !== 'string') return null
  if (!isRole(role) || !isRole(wantedRole) || !isCount(featureLevel) || !isCount(addedMs)) return null
  return { id, name, role, wantedRole, peerAddress, clientAddress, version, featureLevel, replaces, addedMs }
}

function isRole(value: unknown): value is 'voter' | 'learner' {
  return value === 'voter' || value === 'learner'
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

/** Parses an id. Ids are decimal text in JSON, because some readers round wide numbers. */
export function idOf(value: unknown): NodeId | null {
  if (typeof value !== 'string' || !/^[1-9]\d{0,15}$/.test(value)) return null
  const number = Number(value)
  return Number.isSafeInteger(number) ? nodeId(number) : null
}
