import { join } from 'node:path'
import type { Joining, NodeId } from '../../raft/index.ts'
import type { Names } from '../api/metadata/names.ts'
import { readFileIfThere, removeFile } from '../pki/files.ts'
import { StartError } from '../config/start-error.ts'
import { hasLog } from '../data-dir/founding.ts'
import { joinCluster } from './join-cluster.ts'
import type { JoinOptions } from './join-cluster.ts'
import { memberKeys } from '../pki/member-keys.ts'
import { checkFinished, checkNames, claimDirectory, incarnationOf } from '../data-dir/member-identity.ts'
import { isClaimed, joinedIdentity, memberId, peerCluster } from '../data-dir/member-identity.ts'
import type { MemberIdentity } from '../data-dir/member-identity.ts'
import { logFolder, joiningFileName } from '../data-dir/layout.ts'

export type IdentityOptions = JoinOptions & { readonly names: Names }

/** The identity of this process among its peers. */
export type OwnIdentity = {
  /** See `peerCluster`. */
  readonly cluster: string
  readonly incarnation: string | null
  readonly id: NodeId
  /** The answer to its join request; null: it founded the cluster, or will. */
  readonly joined: Joining | null
}

/**
 * Determines the owner of the data directory. An empty one is claimed for a founder, or with the
 * identity that the cluster assigns to a joining process: that process never founds a cluster,
 * whatever happens in between.
 *
 * @throws StartError
 */
export async function ownIdentity(options: IdentityOptions, directory: string): Promise<OwnIdentity> {
  const { config, names, log } = options
  const [cluster, member] = [config['cluster-name'], config.name]
  if (config['in-memory']) return { cluster, incarnation: null, id: memberId(cluster, member), joined: null }
  checkFinished(directory)
  const found = joinedIdentity(directory)
  const hasJoinFlag = config.join.length > 0
  if (found !== null) {
    checkNames(directory, { ...found }, { cluster, member, apiDomain: names.domain })
    if (hasJoinFlag) log.info({ id: found.id }, 'this member joined before: ignoring --join')
    // Left by a process that was killed right after it claimed the directory.
    removeFile(join(directory, joiningFileName))
    return identityOf(found)
  }
  if (hasJoinFlag && !isClaimed(directory)) {
    return identityOf(await joinCluster(options, directory, memberKeys(options, directory, 'among-others')))
  }
  if (hasJoinFlag && !hasLog(join(directory, logFolder))) {
    const what = `${directory} was made for a member that founds a cluster`
    throw new StartError(
      'data-directory',
      `${what}, but --join was given: remove the directory, or omit --join`,
    )
  }
  if (hasJoinFlag) log.info('this member belongs to a cluster already: ignoring --join')
  checkNotJoining(directory, member)
  const incarnation = incarnationOf(directory)
  const peers = peerCluster(cluster, incarnation)
  const id = memberId(peers, member)
  // Wrong keys are often those of another member: report them before the directory has an owner.
  if (!isClaimed(directory) && config['tls-cert-file'] !== '') memberKeys(options, directory, 'maybe-alone')
  claimDirectory(directory, { cluster, member, id, apiDomain: names.domain })
  return { cluster: peers, incarnation, id, joined: null }
}

/**
 * Rejects a directory of a join that has no answer yet: the process may be a member by now, and a
 * founder in its place would create a second cluster.
 *
 * @throws StartError `data-directory`
 */
function checkNotJoining(directory: string, member: string): void {
  const path = join(directory, joiningFileName)
  if (isClaimed(directory) || readFileIfThere(path) === null) return
  const what = `${path} shows that this process began to join a cluster and did not finish`
  const found = `remove that file to found a cluster of its own, after orchctl member remove ${member} on that cluster`
  throw new StartError(
    'data-directory',
    `${what}: start it with the same --join and token to complete the join, or ${found}`,
  )
}

function identityOf({ cluster, life, id, joined }: MemberIdentity): OwnIdentity {
  return {
    cluster: peerCluster(cluster, life ?? null),
    incarnation: life ?? null,
    id,
    joined: joined ?? null,
  }
}
