import { createHash } from 'node:crypto'
import type { Random } from '../../base/random.ts'
import type { Configuration } from '../../raft/index.ts'
import { addHash, hash128, newHash } from '../store/machine/hash.ts'
import type { Hash128 } from '../store/machine/hash.ts'
import { memberObjectsLevel } from '../store/machine/feature-level.ts'
import { encodeHead } from '../store/machine/head.ts'
import type { Head } from '../store/machine/head.ts'
import { endsAlarm } from '../store/machine/storage-rules.ts'
import { revision } from '../store/revision.ts'
import type { Revision } from '../store/revision.ts'

/**
 * One incarnation of a cluster. A cluster that continues from a copy of its state is a new
 * incarnation, because the old one may have written more and may still run. Its ID is equal on all
 * members that are created for it, and determines everything that they must agree on without
 * communication.
 */
export type ClusterIncarnation = {
  /**
   * `20261121T200501Z-0f3a9c2b41de-5b1e8c04d2a9`: creation time, 48 random bits, and the
   * fingerprint of the source.
   */
  readonly id: string
  /** Ms since 1970. */
  readonly createdMs: number
}

/** @param fingerprint of the source, see `sourceFingerprint` */
export function newIncarnation(wallMs: number, random: Random, fingerprint: string): ClusterIncarnation {
  const createdMs = Math.floor(wallMs / 1000) * 1000
  const time = new Date(createdMs).toISOString().replace(/[-:]|\.\d+/g, '')
  return { id: `${time}-${Buffer.from(random.bytes(6)).toString('hex')}-${fingerprint}`, createdMs }
}

/**
 * Returns 48 bits of a hash of the source of an incarnation. It is part of the ID, so that members
 * created from another source cannot have the same one: peers compare IDs, not states.
 */
export function sourceFingerprint(...parts: readonly string[]): string {
  return createHash('sha256')
    .update(`orch life\n${JSON.stringify(parts)}`)
    .digest('hex')
    .slice(0, 12)
}

/** Returns whether the incarnation was created from this source. */
export function isMadeFrom({ id }: ClusterIncarnation, fingerprint: string): boolean {
  return id.endsWith(`-${fingerprint}`)
}

/** @returns null when the text is not an incarnation ID */
export function parseIncarnation(text: string): ClusterIncarnation | null {
  const [, ...parts] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z-[0-9a-f]{12}-[0-9a-f]{12}$/.exec(text) ?? []
  const [year, month, day, hour, minute, second] = parts
  const createdMs = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
  return Number.isFinite(createdMs) ? { id: text, createdMs } : null
}

/**
 * Returns the cluster ID in the state of the incarnation. It is a part of the cluster ID that its
 * members agree on at the founding, by which they reject members of other incarnations.
 */
export function clusterIdOf(oldClusterId: string, digest: string, { id }: ClusterIncarnation): string {
  return createHash('sha256')
    .update(`orch life\n${oldClusterId}\n${digest}\n${id}`)
    .digest('hex')
    .slice(0, 32)
}

/** More revisions than any cluster writes in a second. */
const revisionsPerSecond = 2 ** 20
const revisionStepMin = 2 ** 40
/** A clock beyond this, in the year 2208, is wrong; 2^50 more revisions stay below 2^53. */
const byTimeMax = 7 * 2 ** 50

/**
 * Returns the revision above which the new incarnation starts: above every revision that an earlier
 * incarnation can have issued, including those after the copy, so that clients with an old revision
 * get 410 and list again. It follows from the time, because a copy may be restored twice and a
 * fixed step would issue the same revisions again; two restores within one second still do. With an
 * unusable clock it is the revision of the copy plus 2^40.
 *
 * @param last revision of the copy
 */
export function firstRevision(last: Revision, { createdMs }: ClusterIncarnation): Revision {
  const byTime = Math.floor(createdMs / 1000) * revisionsPerSecond
  return revision(byTime > last && byTime <= byTimeMax ? byTime : last + revisionStepMin)
}

export type IncarnationOptions = {
  readonly incarnation: ClusterIncarnation
  /** Digest of the copied state. */
  readonly digest: string
  readonly configuration: Configuration
  /** Whether the members have new keys, so that the recorded fingerprints do not apply. */
  readonly newKeys: boolean
  /** Totals of the copied objects. */
  readonly usedBytes: number
  readonly objects: number
}

/**
 * Returns the head of the first state: no history, no sessions, new members, a new identity. The
 * key of continue tokens stays, so that tokens of the old incarnation are recognized and rejected
 * as expired.
 */
export function headOfIncarnation(old: Head, options: IncarnationOptions): Head {
  const { incarnation, digest, configuration, newKeys, usedBytes, objects } = options
  const last = revision(firstRevision(old.revision, incarnation) + objects)
  const quota = old.settings.storageBytesMax
  return {
    ...old,
    configuration:
      old.featureLevel < memberObjectsLevel ? configuration : withAddedTime(configuration, incarnation),
    revision: last,
    trimmed: last,
    identity: old.identity && {
      ...old.identity,
      clusterId: clusterIdOf(old.identity.clusterId, digest, incarnation),
      keyFingerprints: newKeys ? {} : old.identity.keyFingerprints,
    },
    usedBytes: quota === null ? 0 : usedBytes,
    storageAlarm: quota !== null && old.storageAlarm && !endsAlarm(usedBytes, quota),
  }
}

/** Sets the time at which the members were added. Older feature levels have no such time. */
function withAddedTime(configuration: Configuration, { createdMs }: ClusterIncarnation): Configuration {
  const members = configuration.members.map((member) => ({ ...member, addedMs: createdMs }))
  return { ...configuration, members }
}

/** @param versionsSum sum of the hashes of all records */
export function digestOfIncarnation(head: Head, versionsSum: Hash128): Hash128 {
  const digest = hash128(encodeHead(head), 0, newHash())
  addHash(digest, versionsSum)
  return digest
}
