import { join } from 'node:path'
import type { Joining, NodeId } from '../../raft/index.ts'
import type { Names } from '../api/metadata/names.ts'
import { readFileIfThere, removeFile } from '../pki/files.ts'
import { StartFailure } from '../config/start-failure.ts'
import { hasLog } from '../data-dir/founding.ts'
import { joinCluster } from './join-cluster.ts'
import type { JoinOptions } from './join-cluster.ts'
import { memberKeys } from '../pki/member-keys.ts'
import { checkFinished, checkNames, claimDirectory, lifeOf } from '../data-dir/member-identity.ts'
import { isClaimed, joinedIdentity, memberId, peerCluster } from '../data-dir/member-identity.ts'
import type { MemberIdentity } from '../data-dir/member-identity.ts'
import { logFolder, joiningFileName } from '../data-dir/layout.ts'

export type IdentityOptions = JoinOptions & { readonly names: Names }

/** Who this process is among its peers. */
export type OwnIdentity = {
  /** See `peerCluster`. */
  readonly cluster: string
  readonly life: string | null
  readonly id: NodeId
  /** What it was told when it joined; null: it founded the cluster, or is about to. */
  readonly joined: Joining | null
}

/**
 * Whose the directory is. An empty one is claimed for a founder, or for whom the cluster makes of a process that was told
 * to join: that one never founds anything, whatever happens meanwhile.
 *
 * @throws StartFailure
 */
export async function ownIdentity(options: IdentityOptions, directory: string): Promise<OwnIdentity> {
  const { config, names, log } = options
  const [cluster, member] = [config['cluster-name'], config.name]
  if (config['in-memory']) return { cluster, life: null, id: memberId(cluster, member), joined: null }
  checkFinished(directory)
  const found = joinedIdentity(directory)
  const isTold = config.join.length > 0
  if (found !== null) {
    checkNames(directory, { ...found }, { cluster, member, apiDomain: names.domain })
    if (isTold) log.info({ id: found.id }, 'this member joined before: --join is not looked at')
    // A process that was killed right after it claimed the directory leaves it.
    removeFile(join(directory, joiningFileName))
    return identityOf(found)
  }
  if (isTold && !isClaimed(directory)) {
    return identityOf(await joinCluster(options, directory, memberKeys(options, directory, 'among-others')))
  }
  if (isTold && !hasLog(join(directory, logFolder))) {
    const what = `${directory} was made for a member that founds a cluster`
    throw new StartFailure('data-directory', `${what}, and --join enters one: remove it, or leave --join out`)
  }
  if (isTold) log.info('this member belongs to a cluster already: --join is not looked at')
  checkNotJoining(directory, member)
  const life = lifeOf(directory)
  const peers = peerCluster(cluster, life)
  const id = memberId(peers, member)
  claimDirectory(directory, { cluster, member, id, apiDomain: names.domain })
  return { cluster: peers, life, id, joined: null }
}

/**
 * Who was told to join, and not answered, may be a member by now: a founder in its place would be a second cluster.
 *
 * @throws StartFailure `data-directory`
 */
function checkNotJoining(directory: string, member: string): void {
  const path = join(directory, joiningFileName)
  if (isClaimed(directory) || readFileIfThere(path) === null) return
  const what = `${path} says that this process began to join a cluster and has not ended`
  const found = `remove that file to found a cluster of its own, after orchctl member remove ${member} on the other`
  throw new StartFailure(
    'data-directory',
    `${what}: start it with the same --join and token to complete it, or ${found}`,
  )
}

function identityOf({ cluster, life, id, joined }: MemberIdentity): OwnIdentity {
  return { cluster: peerCluster(cluster, life ?? null), life: life ?? null, id, joined: joined ?? null }
}
