import type { ConsensusStatus } from '../consensus.ts'
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
    followers: [],
    appliedMemory: noIndex,
    appliedDisk: noIndex,
    quorumContactMs: null,
  }
}

/** The voter that leadership is best handed to: in touch, and furthest along. null: nobody is. */
export function healthiestSuccessor(status: ConsensusStatus): NodeId | null {
  let best: ConsensusStatus['followers'][number] | null = null
  for (const follower of status.followers) {
    if (!follower.recentlyActive || !status.configuration.voters.includes(follower.id)) continue
    if (best === null || follower.match > best.match) best = follower
  }
  return best?.id ?? null
}
