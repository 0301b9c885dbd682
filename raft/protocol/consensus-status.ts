import type { ConsensusStatus } from '../consensus.ts'
import type { CoreStatus, FollowerStatus } from '../core/ready.ts'
import { isQuorum } from '../core/quorum.ts'
import { emptyConfiguration, noIndex, noTerm } from '../core/types.ts'
import type { NodeId } from '../core/types.ts'

/** Before the raft thread has said anything. */
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
 * The voter that leadership is best handed to: in touch, caught up, and furthest along. null:
 * nobody is.
 *
 * @param except those who did not take it
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
 * Whether a majority of the voters is in touch without this member and has written all that it was
 * sent: their disks work, and what they lack they wait for.
 */
export function othersWrite({ configuration, followers }: CoreStatus): boolean {
  return isQuorum(configuration, (id) =>
    followers.some((one) => one.id === id && one.recentlyActive && one.next === one.match + 1),
  )
}

/**
 * Returns whether nothing can be committed while this leader leads and sends no state: a majority
 * of the voters is in touch, but not without those that need one.
 *
 * @param isUnserved whether a state was requested for that follower, and none could be opened since
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
