import type { FollowerStatus } from '../core/ready.ts'
import type { LogIndex, NodeId } from '../core/types.ts'

/** What peers of this member still need of its log: it is not cut above these indexes. null: nobody needs any. */
export type LogNeeds = {
  /** Of states on their way: they go on from there. */
  readonly streams: LogIndex | null
  /** Of followers that are in touch, up to a bound of its own: see `CutPlanner`. */
  readonly followers: LogIndex | null
}

/**
 * From where the followers that are in touch go on. A state takes a while to send and to take in; were the log meanwhile
 * written further than it is kept for those that lag, and cut as soon as the state has arrived, then the next one would be
 * needed at once, and so on for as long as others write.
 *
 * @param deliveredTo where the state stands that a follower was sent last; null: none
 */
export function neededByFollowers(
  followers: readonly FollowerStatus[],
  deliveredTo: (id: NodeId) => LogIndex | null,
): LogIndex | null {
  let lowest: LogIndex | null = null
  for (const { id, state, match, recentlyActive } of followers) {
    // Whoever is away is kept for by the retention alone: nobody knows for how long.
    if (!recentlyActive) continue
    // One that waits for a state has no place to go on from yet.
    const from = state === 'snapshot' ? deliveredTo(id) : match
    if (from !== null && (lowest === null || from < lowest)) lowest = from
  }
  return lowest
}
