import type { PersistTicket } from '../core/ready.ts'
import type { Configuration, Entry, LogIndex, SnapshotMeta } from '../core/types.ts'
import type { LogWrite, RecoveredLog } from '../ports.ts'
import type { LogErrorCode } from './errors.ts'
import type { EntryId } from './intact-run.ts'

/*
 * What the log thread and its two neighbours say to each other. Messages of one neighbour are
 * served in order; consecutive writes that arrived together are one group commit.
 */

export type RaftToLog =
  /** Answered by `persisted`. Tickets ascend. */
  | ({ readonly kind: 'write'; readonly ticket: PersistTicket } & LogWrite)
  /**
   * Answered by `fetched` or `fetch-refused` with the same id. At least one entry, then up to
   * `bytesMax`.
   */
  | { readonly kind: 'fetch'; readonly id: number; readonly from: LogIndex; readonly bytesMax: number }
  /** Answered by `compacted`. At or below the present base it does nothing. */
  | { readonly kind: 'compact'; readonly base: SnapshotMeta }
  /**
   * Answers `damaged`: repair the log with what is given. Answered by `opened`, or by
   * `repair-wants` when entries are missing. @param covered what the database durably holds @param
   * entries of a peer, as `repair-wants` says
   */
  | { readonly kind: 'repair'; readonly covered: SnapshotMeta; readonly entries: readonly Entry[] }
  /** Closes the log. Answered by `stopped`, the last word. */
  | { readonly kind: 'stop' }

export type LogToRaft =
  /** The first word: what was found on disk. */
  | { readonly kind: 'opened'; readonly recovered: RecoveredLog }
  /** The first word instead: the log is damaged, and serves nothing until it is repaired. */
  | ({ readonly kind: 'damaged' } & DamageSummary)
  /** These entries are missing; the last one that is sent must be `anchor`. */
  | { readonly kind: 'repair-wants'; readonly first: LogIndex; readonly anchor: EntryId }
  /**
   * The scrub found damage, in one line. The log can repair itself once a `compact` has moved its
   * base as far as possible.
   */
  | { readonly kind: 'damage-found'; readonly line: string }
  | { readonly kind: 'damage-repaired'; readonly line: string }
  /** The scrub has read all of the log. */
  | { readonly kind: 'scrubbed' }
  /** Every write up to and including this ticket is durable. */
  | {
      readonly kind: 'persisted'
      readonly ticket: PersistTicket
      /** How long the disk took for the group. */
      readonly syncMs: number
      /** How many writes were in the group. */
      readonly writes: number
      /** null: not known. */
      readonly size: LogSize | null
    }
  | { readonly kind: 'fetched'; readonly id: number; readonly entries: readonly Entry[] }
  | { readonly kind: 'fetch-refused'; readonly id: number; readonly reason: ReadRefusal }
  /** Durable: nothing at or below this index is in the log. */
  | { readonly kind: 'compacted'; readonly index: LogIndex }
  /** Instead of any answer; nothing follows. The member must stop. */
  | LogFailed
  | { readonly kind: 'stopped' }

/** What is known of a damaged log. */
export type DamageSummary = {
  /** The log begins there, or later where the damage swallowed that. */
  readonly base: SnapshotMeta
  readonly lastIndex: LogIndex
  /** The latest that is intact: where peers are. */
  readonly configuration: Configuration
  readonly logId: string
  /** Why the log is refused where it cannot be repaired, in one line. */
  readonly refusal: string
}

/** What a log takes on its disk. */
export type LogSize = { readonly segments: number; readonly bytes: number }

export type ApiToLog = {
  readonly kind: 'read'
  readonly id: number
  readonly from: LogIndex
  /** Included. The reader asks for no more than it knows to be committed. */
  readonly to: LogIndex
  /** At least one entry is answered, then up to this many bytes. */
  readonly bytesMax: number
}

export type LogToApi =
  | { readonly kind: 'read-done'; readonly id: number; readonly entries: readonly Entry[] }
  | { readonly kind: 'read-refused'; readonly id: number; readonly reason: ReadRefusal }
  | LogFailed

/** `cut`: replaced by state. `missing`: not written yet. */
export type ReadRefusal = 'cut' | 'missing'

export type LogFailed = {
  readonly kind: 'failed'
  readonly code: LogErrorCode
  /** One line. */
  readonly message: string
}
