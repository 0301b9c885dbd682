import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { nodeId } from '../../raft/index.ts'
import type { Joining, NodeId } from '../../raft/index.ts'
import type { ApiDomain } from '../api/metadata/names.ts'
import { makeDirectory, readFileIfThere, writeNewFile } from '../pki/files.ts'
import { StartError } from '../config/start-error.ts'
import { joinedFields, joinedOf } from './joining-codec.ts'
import { claimFileName, unfinishedFileName, logFolder } from './layout.ts'

/**
 * The owner of a data directory. Never changed. A start writes it before the log, and `orchctl`
 * writes it last, see `checkFinished`.
 */
export type MemberIdentity = {
  readonly cluster: string
  readonly member: string
  readonly id: NodeId
  readonly apiDomain: ApiDomain
  /** ID of the cluster incarnation, named `life` in the file. Unset: the first incarnation. */
  readonly life?: string
  /**
   * Set for a member that was added to a cluster: the answer to its join request. Its id was drawn
   * at random.
   */
  readonly joined?: Joining
}

const format = 1
/** The format for members that joined. */
const joinedFormat = 2

/**
 * Returns the id of a member of a new cluster. It is equal on all members that compute it, and
 * different between clusters: 48 bits of a hash, so that ten members collide once in 6 * 10^12
 * clusters.
 */
export function memberId(cluster: string, member: string): NodeId {
  const hash = createHash('sha256').update(`${cluster}\n${member}`).digest()
  return nodeId(hash.readUIntBE(0, 6) + 1)
}

/**
 * Returns the cluster name that peers send to each other. Each incarnation of a cluster has another
 * one.
 */
export function peerCluster(cluster: string, life: string | null): string {
  return life === null ? cluster : `${cluster}@${life}`
}

/**
 * Returns the incarnation of the cluster that a member belongs to; null for the first one, or for
 * an unclaimed directory.
 * @throws StartError `data-directory`
 */
export function incarnationOf(directory: string): string | null {
  makeDirectory(directory)
  const path = join(directory, claimFileName)
  const text = readFileIfThere(path)
  const life = text === null ? undefined : parsed(path, text)['life']
  return typeof life === 'string' ? life : null
}

/**
 * Returns the owner of a data directory, for readers other than the member itself.
 * @returns null when it is unclaimed
 * @throws StartError `data-directory` when the file is damaged
 */
export function readIdentity(directory: string): MemberIdentity | null {
  const path = join(directory, claimFileName)
  const text = readFileIfThere(path)
  if (text === null) return null
  const found = parsed(path, text)
  if (found['format'] === joinedFormat) return joinedIdentityOf(path, found)
  const { cluster, member, id, apiDomain, life } = found
  const isWhole =
    found['format'] === format &&
    typeof cluster === 'string' &&
    typeof member === 'string' &&
    typeof id === 'number' &&
    (apiDomain === 'orch.io' || apiDomain === 'k8s.io') &&
    (life === undefined || typeof life === 'string')
  if (!isWhole || id !== memberId(peerCluster(cluster, life ?? null), member)) throw damaged(path)
  return { cluster, member, id: nodeId(id), apiDomain, ...(life === undefined ? {} : { life }) }
}

/**
 * Parses the identity of a member that joined. Its id does not follow from its name, so the file
 * carries a checksum.
 * @throws StartError `data-directory`
 */
function joinedIdentityOf(path: string, found: Readonly<Record<string, unknown>>): MemberIdentity {
  const { sha256, ...rest } = found
  const fields = Object.fromEntries(Object.entries(rest).filter(([name]) => name !== 'format'))
  const { cluster, member, id, apiDomain, life } = fields
  const joined = joinedOf(fields['joined'])
  if (
    sha256 !== checksum(fields) ||
    typeof cluster !== 'string' ||
    typeof member !== 'string' ||
    typeof id !== 'number' ||
    (apiDomain !== 'orch.io' && apiDomain !== 'k8s.io') ||
    (life !== undefined && typeof life !== 'string') ||
    joined === null
  ) {
    throw damaged(path)
  }
  return { cluster, member, id: nodeId(id), apiDomain, joined, ...(life === undefined ? {} : { life }) }
}

/** Returns whether the directory is claimed by a member. */
export function isClaimed(directory: string): boolean {
  return readFileIfThere(join(directory, claimFileName)) !== null
}

/**
 * Returns the identity of a member that joined a cluster; null when the directory is unclaimed or
 * belongs to a founder.
 * @throws StartError `data-directory` when it is damaged
 */
export function joinedIdentity(directory: string): MemberIdentity | null {
  const path = join(directory, claimFileName)
  const text = readFileIfThere(path)
  if (text === null) return null
  const found = parsed(path, text)
  return found['format'] === joinedFormat ? joinedIdentityOf(path, found) : null
}

/**
 * Writes the identity; durable on return.
 * @throws PkiError `exists`, `unusable`
 */
export function writeIdentity(directory: string, identity: MemberIdentity): void {
  const { joined, ...rest } = identity
  const fields = joined === undefined ? rest : { ...rest, joined: joinedFields(joined) }
  const whole =
    joined === undefined
      ? { format, ...fields }
      : { format: joinedFormat, sha256: checksum(fields), ...fields }
  writeNewFile(join(directory, claimFileName), `${JSON.stringify(whole, null, 2)}\n`, 'public')
}

function checksum(fields: Readonly<Record<string, unknown>>): string {
  return createHash('sha256').update(JSON.stringify(fields)).digest('hex')
}

/**
 * @throws StartError `data-directory` when `orchctl` was interrupted while it made the directory
 */
export function checkFinished(directory: string): void {
  const unfinished = readFileIfThere(join(directory, unfinishedFileName))
  if (unfinished === null) return
  const command = unfinished.includes('recover') ? 'recover' : 'snapshot restore'
  throw refused(`orchctl ${command} did not finish in ${directory}: run it again`)
}

/**
 * Claims the directory for `identity`, or checks that it was claimed for it before.
 *
 * @throws StartError `data-directory` naming what differs and what to do
 */
export function claimDirectory(directory: string, identity: MemberIdentity): void {
  makeDirectory(directory)
  checkFinished(directory)
  const path = join(directory, claimFileName)
  const text = readFileIfThere(path)
  if (text === null) {
    checkUnused(directory)
    writeIdentity(directory, identity)
    return
  }
  const found = parsed(path, text)
  if (found['format'] !== format) {
    throw refused(
      `${path} is of format ${String(found['format'])}, this program knows ${format}: use the program that wrote it`,
    )
  }
  checkNames(directory, found, identity)
  // The id follows from the names, which are equal.
  if (found['id'] === identity.id) return
  throw refused(
    `${path} contains id ${String(found['id'])}, but member ${identity.member} of cluster ${identity.cluster} has ` +
      `${identity.id}: restore an undamaged copy of it`,
  )
}

/**
 * Checks that there is no log without a claim. The claim is written first, so a log without one may
 * belong to any member.
 * @throws StartError
 */
export function checkUnused(directory: string): void {
  if (!existsSync(join(directory, logFolder))) return
  throw refused(
    `${join(directory, claimFileName)} is missing, though ${directory} holds a member's log: ` +
      'restore it, or give another --data-dir',
  )
}

/** @throws StartError `data-directory` naming what differs and what to do */
export function checkNames(
  directory: string,
  found: Readonly<Record<string, unknown>>,
  expected: Readonly<Record<'cluster' | 'member' | 'apiDomain', string>>,
): void {
  for (const [field, noun, flag] of [
    ['cluster', 'cluster', '--cluster-name'],
    ['member', 'member', '--name'],
    ['apiDomain', 'API domain', '--api-domain'],
  ] as const) {
    if (found[field] === expected[field]) continue
    const have = String(found[field])
    throw refused(
      `data directory ${directory} belongs to ${noun} ${have}, not ${expected[field]}: give another --data-dir, or ${flag} ${have}`,
    )
  }
}

function parsed(path: string, text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value as Readonly<Record<string, unknown>>
  } catch {
    // Reported below, with the remedy.
  }
  throw damaged(path)
}

function damaged(path: string): StartError {
  return refused(`${path} is damaged: restore an undamaged copy of it`)
}

function refused(message: string): StartError {
  return new StartError('data-directory', message)
}
