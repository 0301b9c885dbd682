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
 * The voter that leadership is best handed to: in touch, caught up, and furthest along. null: nobody is.
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
 * Whether a majority of the voters is in touch without this member and has written all that it was sent: their disks work,
 * and what they lack they wait for.
 */
export function othersWrite({ configuration, followers }: CoreStatus): boolean {
  return isQuorum(configuration, (id) =>
    followers.some((one) => one.id === id && one.recentlyActive && one.next === one.match + 1),
  )
}

/**
 * Whether nothing can be committed while this leader leads and gives no state away: it and the voters that are in touch and
 * need none are no majority.
 */
export function commitsNothing({ id, configuration, followers }: CoreStatus): boolean {
  const fed = followers.filter(({ recentlyActive, state }) => recentlyActive && state !== 'snapshot')
  return !isQuorum(configuration, (voter) => voter === id || fed.some((one) => one.id === voter))
}
