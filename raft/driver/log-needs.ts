import type { FollowerStatus } from '../core/ready.ts'
import type { LogIndex, NodeId } from '../core/types.ts'

/**
 * Entries of this member's log that are still needed, by a peer, or by this member itself after it
 * installs a requested snapshot: those above `from` are kept, within the bounds of
 * `CompactionPlanner`.
 */
export type LogNeed = {
  readonly from: LogIndex
  /**
   * Bytes sent so far of the snapshot that the entries follow. At least that much log is kept for
   * the need; if the log grows faster than the snapshot is sent, the peer cannot catch up from this
   * member anyway. 0: there is no snapshot.
   */
  readonly stateBytes: number
}

/**
 * Minimum size in bytes of the log that is kept for a snapshot that this member requested or
 * receives. With a retention of zero, a log under constant load would otherwise be compacted beyond
 * each snapshot before the snapshot arrives.
 */
export const repairLogBytesMin = 4 * 1024 * 1024

/** A snapshot that a peer received completely. */
export type SentState = {
  readonly index: LogIndex
  readonly bytes: number
  /**
   * The commit index at the end of the transfer: a peer that reaches it has caught up with what was
   * committed during the transfer.
   */
  readonly commit: LogIndex
}

/**
 * Returns the entries that the followers in contact still need. Sending and installing a snapshot
 * takes time. If the log exceeded its retention during that time and were compacted as soon as the
 * snapshot arrived, the follower would need another snapshot at once, and so on while writes
 * continue.
 *
 * @param sentTo the last snapshot that a follower received; null: none
 */
export function neededByFollowers(
  followers: readonly FollowerStatus[],
  sentTo: (id: NodeId) => SentState | null,
): readonly LogNeed[] {
  const needs: LogNeed[] = []
  for (const { id, state, match, recentlyActive } of followers) {
    // For followers without contact only the retention is kept, because they may stay away for any
    // time.
    if (!recentlyActive) continue
    const sent = sentTo(id)
    if (sent !== null && match < sent.commit) {
      needs.push({ from: match > sent.index ? match : sent.index, stateBytes: sent.bytes })
    } else if (state !== 'snapshot') {
      // A follower that waits for a snapshot has no index to continue from yet.
      needs.push({ from: match, stateBytes: 0 })
    }
  }
  return needs
}
