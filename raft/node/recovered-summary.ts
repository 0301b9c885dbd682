import type { LogIndex, SnapshotMeta } from '../core/types.ts'

/** The result of the recovery of this member's log. */
export type RecoveredSummary = {
  readonly base: SnapshotMeta
  readonly lastIndex: LogIndex
  /** One line about a repair; null: no repair. */
  readonly repaired: string | null
  /**
   * The error with which a damaged log is refused if it cannot be repaired. The repair begins in
   * `RaftNode.start`; after it the log may begin later than `base`. null: the log is intact.
   */
  readonly damage: string | null
}
