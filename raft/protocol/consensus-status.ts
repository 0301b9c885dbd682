import type { ConsensusStatus } from '../consensus.ts'
import type { CoreStatus, FollowerStatus } from '../core/ready.ts'
import { isQuorum } from '../core/quorum.ts'
import { emptyConfiguration, noIndex, noTerm } from '../core/types.ts'
import type { NodeId } from '../core/types.ts'

/** Returns the status of a member before the raft thread has sent one. */
export function emptyStatus(id: NodeId): ConsensusStatus {
  return {
    id,
    role: 'follower',
    term: noTerm,
    leader: null,
    configuration: emptyConfiguration,
    vote: null,
    commit: noIndex,
    lastIndex: noIndex,
    firstIndex: noIndex,
    persistedIndex: noIndex,
    transferTarget: null,
    decided: emptyConfiguration,
    followers: [],
    appliedMemory: noIndex,
    appliedDisk: noIndex,
    quorumContactMs: null,
    removed: null,
  }
}

/**
 * Returns the best target of a leadership transfer: of the replicating voters in contact, the one
 * with the highest match index; null: no voter qualifies.
 *
 * @param except voters that did not take over before
 */
export function healthiestSuccessor(
  status: CoreStatus,
  except: ReadonlySet<NodeId> = new Set(),
): NodeId | null {
  let best: FollowerStatus | null = null
  for (const follower of status.followers) {
    if (!follower.recentlyActive || follower.state !== 'replicate') continue
    if (!status.configuration.voters.includes(follower.id) || except.has(follower.id)) continue
    if (best === null || follower.match > best.match) best = follower
  }
  return best?.id ?? null
}

/**
 * Returns whether the other members include a majority of the voters that is in contact and has
 * written everything that it was sent: the disks of these voters work.
 */
export function othersWrite({ configuration, followers }: CoreStatus): boolean {
  return isQuorum(configuration, (id) =>
    followers.some((one) => one.id === id && one.recentlyActive && one.next === one.match + 1),
  )
}

/**
 * Returns whether this leader can commit nothing until it sends a snapshot: it has contact with a
 * majority of the voters, but only if the followers that wait for a snapshot are counted.
 *
 * @param isUnserved returns whether a snapshot was requested for that follower, and none could be
 *   opened since
 */
export function commitsNothing(
  { id, configuration, followers }: CoreStatus,
  isUnserved: (follower: NodeId) => boolean,
): boolean {
  const active = followers.filter(({ recentlyActive }) => recentlyActive)
  const served = active.filter((one) => one.state === 'replicate' || !isUnserved(one.id))
  const isQuorumOf = (some: readonly FollowerStatus[]): boolean =>
    isQuorum(configuration, (voter) => voter === id || some.some((one) => one.id === voter))
  return isQuorumOf(active) && !isQuorumOf(served)
}
