import { isRecord } from '../../base/record.ts'
import { logIndex, term } from '../core/types.ts'
import type { Configuration, HardState, MemberInfo, NodeId, SnapshotMeta } from '../core/types.ts'

/**
 * Encodes a configuration as JSON: configurations are rare and small, and JSON is readable in a
 * dump and extensible. Optional fields without a value are omitted, as in logs from before these
 * fields existed.
 */
export function encodeConfiguration(configuration: Configuration): Uint8Array {
  const members = configuration.members.map(({ replaces, addedMs, ...member }) => ({
    ...member,
    ...(replaces === null ? {} : { replaces }),
    ...(addedMs === 0 ? {} : { addedMs }),
  }))
  return new TextEncoder().encode(JSON.stringify({ ...configuration, members }))
}

/** @returns null when the bytes are not a configuration */
export function decodeConfiguration(bytes: Uint8Array): Configuration | null {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return null
  }
  if (!isConfiguration(value)) return null
  const members = value.members.map(({ replaces, addedMs, ...member }) => ({
    ...member,
    replaces: replaces ?? null,
    addedMs: addedMs ?? 0,
  }))
  return { ...value, members }
}

export const noHardState: HardState = Object.freeze({ term: term(0), vote: null, commit: logIndex(0) })

export function sameBase(one: SnapshotMeta, other: SnapshotMeta): boolean {
  return one.index === other.index && one.term === other.term
}

function isNodeId(value: unknown): value is NodeId {
  return Number.isSafeInteger(value) && typeof value === 'number' && value >= 1
}

/** The stored form: optional fields without a value are omitted. */
type StoredMember = Omit<MemberInfo, 'replaces' | 'addedMs'> &
  Partial<Pick<MemberInfo, 'replaces' | 'addedMs'>>
type StoredConfiguration = Omit<Configuration, 'members'> & { readonly members: readonly StoredMember[] }

function isConfiguration(value: unknown): value is StoredConfiguration {
  return (
    isRecord(value) &&
    isNodeIds(value['voters']) &&
    (value['votersOutgoing'] === null || isNodeIds(value['votersOutgoing'])) &&
    isNodeIds(value['learners']) &&
    isNodeIds(value['learnersNext']) &&
    typeof value['autoLeave'] === 'boolean' &&
    Array.isArray(value['members']) &&
    value['members'].every(isMember)
  )
}

function isMember(value: unknown): value is StoredMember {
  return (
    isRecord(value) &&
    isNodeId(value['id']) &&
    typeof value['name'] === 'string' &&
    isRole(value['role']) &&
    isRole(value['wantedRole']) &&
    typeof value['peerAddress'] === 'string' &&
    typeof value['clientAddress'] === 'string' &&
    typeof value['version'] === 'string' &&
    typeof value['featureLevel'] === 'number' &&
    (value['replaces'] === undefined || isNodeId(value['replaces'])) &&
    (value['addedMs'] === undefined || isWhole(value['addedMs']))
  )
}

function isWhole(value: unknown): boolean {
  return Number.isSafeInteger(value) && typeof value === 'number' && value >= 0
}

function isRole(value: unknown): boolean {
  return value === 'voter' || value === 'learner'
}

function isNodeIds(value: unknown): boolean {
  return Array.isArray(value) && value.every(isNodeId)
}
