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
 * A cluster that goes on from a copy of its state is another cluster: the old one may have written more, and may still
 * run. Its life has a name, equal on all members that are made for it, from which everything follows that they must
 * agree on without having met.
 */
export type ClusterIncarnation = {
  /** `20261121T200501Z-0f3a9c2b41de-5b1e8c04d2a9`: when it was begun, 48 random bits, and the print. */
  readonly id: string
  /** ms since 1970. */
  readonly createdMs: number
}

/** @param print of what it goes on from, see `sourceFingerprint` */
export function newIncarnation(wallMs: number, random: Random, fingerprint: string): ClusterIncarnation {
  const createdMs = Math.floor(wallMs / 1000) * 1000
  const time = new Date(createdMs).toISOString().replace(/[-:]|\.\d+/g, '')
  return { id: `${time}-${Buffer.from(random.bytes(6)).toString('hex')}-${fingerprint}`, createdMs }
}

/**
 * 48 bits of a hash of what a life goes on from. It is part of the name so that nobody who was made of anything else can
 * have it: peers compare names, not states.
 */
export function sourceFingerprint(...parts: readonly string[]): string {
  return createHash('sha256')
    .update(`orch life\n${JSON.stringify(parts)}`)
    .digest('hex')
    .slice(0, 12)
}

/** Whether that is what it goes on from. */
export function isMadeFrom({ id }: ClusterIncarnation, fingerprint: string): boolean {
  return id.endsWith(`-${fingerprint}`)
}

/** @returns null when it is none */
export function parseIncarnation(text: string): ClusterIncarnation | null {
  const [, ...parts] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z-[0-9a-f]{12}-[0-9a-f]{12}$/.exec(text) ?? []
  const [year, month, day, hour, minute, second] = parts
  const createdMs = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
  return Number.isFinite(createdMs) ? { id: text, createdMs } : null
}

/** What members of that life answer to; those of another are strangers. */
export function clusterIdOf(oldClusterId: string, digest: string, { id }: ClusterIncarnation): string {
  return createHash('sha256')
    .update(`orch life\n${oldClusterId}\n${digest}\n${id}`)
    .digest('hex')
    .slice(0, 32)
}

/** More revisions than any cluster makes in a second. */
const revisionsPerSecond = 2 ** 20
const revisionStepMin = 2 ** 40
/** A clock that says more, the year 2208, is wrong; revisions stay far below 2^53. */
const byTimeMax = 7 * 2 ** 50

/**
 * Behind which the revisions of a new life begin: above every one that a former life can have issued, those after the
 * copy was made among them, so that a client that knows one is told 410 and lists anew. By time, since one copy may be
 * restored twice: a fixed step would have the second life issue the first one's revisions again. Two that are begun
 * within one second do. Where the clock says nothing of use, it is 2^40 more than the copy's.
 *
 * @param last the copy's
 */
export function firstRevision(last: Revision, { createdMs }: ClusterIncarnation): Revision {
  const byTime = Math.floor(createdMs / 1000) * revisionsPerSecond
  return revision(byTime > last && byTime <= byTimeMax ? byTime : last + revisionStepMin)
}

export type IncarnationOptions = {
  readonly incarnation: ClusterIncarnation
  /** Of the copied state. */
  readonly digest: string
  readonly configuration: Configuration
  /** The members' keys are not the old ones: nothing is said of them any more. */
  readonly newKeys: boolean
  /** Of the objects that are there, as is the next. */
  readonly usedBytes: number
  readonly objects: number
}

/**
 * The head of the new life's first state: no history, no sessions, other members, another identity. The key of continue
 * tokens stays: a token of the former life has to be known for one, to be told that it is too old.
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

/** Its members are shown as such from then on. Older rules know no such time. */
function withAddedTime(configuration: Configuration, { createdMs }: ClusterIncarnation): Configuration {
  const members = configuration.members.map((member) => ({ ...member, addedMs: createdMs }))
  return { ...configuration, members }
}

/** @param versionsSum of the hashes of all records */
export function digestOfIncarnation(head: Head, versionsSum: Hash128): Hash128 {
  const digest = hash128(encodeHead(head), 0, newHash())
  addHash(digest, versionsSum)
  return digest
}
