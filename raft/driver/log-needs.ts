import type { FollowerStatus } from '../core/ready.ts'
import type { LogIndex, NodeId } from '../core/types.ts'

/**
 * What a peer still needs of this member's log: it is not cut above `from`, within the bounds of
 * `CompactionPlanner`.
 */
export type LogNeed = {
  readonly from: LogIndex
  /**
   * Of the state that it goes on from, as far as that was sent: so much log is kept for it. Were
   * the log written faster than the state is sent, the peer could not be brought back by this one
   * anyway. 0: it goes on from the log.
   */
  readonly stateBytes: number
}

/**
 * So much log follows at least on a state that this member asked for or is being sent, in bytes:
 * with a retention of nothing, a log that is written to all the time would pass each one before it
 * is here.
 */
export const repairLogBytesMin = 4 * 1024 * 1024

/** A state that a peer took whole. */
export type SentState = {
  readonly index: LogIndex
  readonly bytes: number
  /** What was committed by then: there the peer has made up for the time that it took. */
  readonly commit: LogIndex
}

/**
 * From where the followers that are in touch go on. A state takes a while to send and to take in;
 * were the log meanwhile written further than it is kept for those that lag, and cut as soon as the
 * state has arrived, then the next one would be needed at once, and so on for as long as others
 * write.
 *
 * @param sentTo the state that a follower took last; null: none
 */
export function neededByFollowers(
  followers: readonly FollowerStatus[],
  sentTo: (id: NodeId) => SentState | null,
): readonly LogNeed[] {
  const needs: LogNeed[] = []
  for (const { id, state, match, recentlyActive } of followers) {
    // Whoever is away is kept for by the retention alone: nobody knows for how long.
    if (!recentlyActive) continue
    const sent = sentTo(id)
    if (sent !== null && match < sent.commit) {
      needs.push({ from: match > sent.index ? match : sent.index, stateBytes: sent.bytes })
    } else if (state !== 'snapshot') {
      // One that waits for a state has no place to go on from yet.
      needs.push({ from: match, stateBytes: 0 })
    }
  }
  return needs
}
