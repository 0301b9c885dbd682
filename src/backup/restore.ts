import { join } from 'node:path'
import type { Random } from '../../base/random.ts'
import { FileDisk, initialConfiguration } from '../../raft/index.ts'
import type { MemberInfo } from '../../raft/index.ts'
import { fingerprintOf, foundingOf } from '../data-dir/founding.ts'
import { memberId, peerCluster, writeIdentity } from '../data-dir/member-identity.ts'
import type { InitialMember } from '../config/address.ts'
import { LevelKeyValueDatabases } from '../store/disk/level-key-value-store.ts'
import { tooNew } from '../store/machine/feature-level.ts'
import type { Version } from '../store/machine/object-version.ts'
import type { Revision } from '../store/revision.ts'
import { featureLevelMax } from '../version.ts'
import type { Secret } from './chunk-seal.ts'
import { BackupError } from './errors.ts'
import { isMadeFrom, sourceFingerprint } from './incarnation.ts'
import type { ClusterIncarnation } from './incarnation.ts'
import { makeLog, NewStateBuilder, recordCluster } from './new-state.ts'
import type { NewState } from './new-state.ts'
import type { SnapshotFile } from './snapshot-file.ts'
import { SnapshotVerifier } from './snapshot-verifier.ts'
import { emptyForRestore, writeMark, removeMark } from './unfinished.ts'
import { verifySnapshot } from './verify-snapshot.ts'
import type { VerifiedSnapshot } from './verify-snapshot.ts'
import { logFolder, databaseFolder } from '../data-dir/layout.ts'

export type RestoreOptions = {
  readonly file: SnapshotFile
  /** Name of the file for messages. */
  readonly name: string
  readonly secret: Secret | null
  /** Returns a new incarnation with that fingerprint, or the one that `--restore-id` names. */
  readonly incarnationOf: (fingerprint: string) => ClusterIncarnation
  readonly cluster: string
  readonly member: string
  readonly apiDomain: string
  /**
   * All members of the new cluster, equal on each of them.
   *
   * @param peers cluster name that peers use
   */
  readonly membersOf: (peers: string) => readonly MemberInfo[]
  /** The --initial-members flag; empty: this member alone. */
  readonly listed: readonly InitialMember[]
  readonly newKeys: boolean
  readonly random: Random
}

/**
 * A verified file, the revisions that are superseded in it, and the incarnation that continues from
 * it.
 */
export type RestorePlan = VerifiedSnapshot & {
  readonly superseded: ReadonlySet<Revision>
  readonly incarnation: ClusterIncarnation
}

/** Reads the whole file before anything is written. @throws BackupError */
export function planRestore(options: RestoreOptions): RestorePlan {
  const { file, name, secret, apiDomain } = options
  const superseded = new Set<Revision>()
  const verified = verifySnapshot(file, {
    ...{ name, secret },
    onVersion: ({ kind, revision, previous }, { trimmed }) => {
      if (revision <= trimmed) return
      if (previous !== 0) superseded.add(previous)
      if (kind === 'deleted') superseded.add(revision)
    },
  })
  const { head } = verified.summary
  if (head.featureLevel > featureLevelMax)
    throw new BackupError('newer-format', `${name}: ${tooNew(head.featureLevel, featureLevelMax).message}`)
  if (file.header.apiDomain !== apiDomain) {
    const theirs = file.header.apiDomain
    const what = `${name} belongs to a cluster with API domain ${theirs}, not ${apiDomain}: give --api-domain ${theirs}`
    throw new BackupError('refused', what)
  }
  return { ...verified, superseded, incarnation: incarnationFor(verified, options) }
}

/**
 * Rejects an incarnation ID that was created for another file, cluster name or list of members, or
 * for another choice of new or old keys. Members of one incarnation that were created from
 * different files would apply entries to different states; an ID that is reused for other members
 * would mix the clients of two clusters.
 *
 * @throws BackupError `refused`
 */
function incarnationFor({ summary, trailer }: VerifiedSnapshot, options: RestoreOptions): ClusterIncarnation {
  const { name, cluster, membersOf, newKeys, incarnationOf } = options
  const members = fingerprintOf(membersOf(cluster))
  const fingerprint = sourceFingerprint(
    summary.digest,
    trailer.sha256,
    cluster,
    members,
    newKeys ? 'new keys' : 'same keys',
  )
  const incarnation = incarnationOf(fingerprint)
  if (isMadeFrom(incarnation, fingerprint)) return incarnation
  throw new BackupError(
    'refused',
    `--restore-id ${incarnation.id} is not of ${name}, or not of these members, cluster name and keys: ` +
      'give what the first restore was given, or leave it out for another cluster',
  )
}

/**
 * Creates the data directory of one member of a new cluster. After a crash, no server starts on the
 * directory, and a second attempt replaces its content.
 *
 * @param directory locked by the caller
 * @throws BackupError `refused` when it is not empty, `damaged` when the file has changed since
 * `planRestore`; DatabaseError, LogError, PkiError of the disk
 */
export async function restoreInto(
  directory: string,
  plan: RestorePlan,
  options: RestoreOptions,
): Promise<NewState> {
  emptyForRestore(directory)
  writeMark(directory, { command: 'restore' })
  const { cluster, member, listed, random } = options
  const { incarnation } = plan
  const logDirectory = join(directory, logFolder)
  foundingOf(directory, logDirectory, listed, { warn: () => undefined })
  const state = await buildState(join(directory, databaseFolder), plan, options)
  const id = memberId(peerCluster(cluster, incarnation.id), member)
  recordCluster(directory, state)
  makeLog(new FileDisk(logDirectory), { owner: id, random, base: state.base })
  writeIdentity(directory, {
    ...{ cluster, member, id, life: incarnation.id },
    apiDomain: plan.header.apiDomain,
  })
  removeMark(directory)
  return state
}

async function buildState(
  folder: string,
  { summary, superseded, incarnation }: RestorePlan,
  { file, name, secret, cluster, membersOf, newKeys }: RestoreOptions,
): Promise<NewState> {
  const { head, digest } = summary
  const databases = new LevelKeyValueDatabases(folder)
  const configuration = initialConfiguration(membersOf(peerCluster(cluster, incarnation.id)))
  const builder = await NewStateBuilder.open({
    old: head,
    databases,
    incarnation,
    digest,
    configuration,
    newKeys,
  })
  try {
    const verifier = new SnapshotVerifier(name, (version: Version) => {
      if (!superseded.has(version.revision)) builder.take(version)
    })
    for (const piece of file.pieces(secret)) {
      verifier.take(piece)
      await builder.flush()
    }
    // The file may have changed since it was verified.
    if (verifier.finish().digest !== digest)
      throw new BackupError('damaged', `${name} changed while it was read`)
    return await builder.finish()
  } catch (cause) {
    await builder.abandon()
    throw cause
  }
}
