import type { PersistTicket } from '../core/ready.ts'
import type { Configuration, Entry, LogIndex, SnapshotMeta } from '../core/types.ts'
import type { LogWrite, RecoveredLog } from '../ports.ts'
import type { LogErrorCode } from './errors.ts'
import type { EntryId } from './intact-run.ts'

/*
 * The messages between the log thread and the two other threads. Messages of one thread are handled
 * in order; consecutive writes that arrived together form one group commit.
 */

export type RaftToLog =
  /** Answered by `persisted` with this ticket or a later one. Tickets ascend. */
  | ({ readonly kind: 'write'; readonly ticket: PersistTicket } & LogWrite)
  /**
   * Reads entries: at least one, and more up to `bytesMax`. Answered by `fetched` or
   * `fetch-refused` with the same id.
   */
  | { readonly kind: 'fetch'; readonly id: number; readonly from: LogIndex; readonly bytesMax: number }
  /**
   * Removes everything up to `base.index`; nothing, if the log begins there or later. The log then
   * also tries to repair damage that the scrub found. Answered by `compacted`.
   */
  | { readonly kind: 'compact'; readonly base: SnapshotMeta }
  /**
   * Deletes compacted entries from the files; see `LogStore.trim`. Answered by `trimmed` with the
   * same request.
   */
  | { readonly kind: 'trim'; readonly request: number; readonly through: LogIndex }
  /**
   * Repairs the log, after `damaged` or `repair-wants`. Answered by `opened`, or by `repair-wants`
   * when entries are missing.
   * @param covered the snapshot metadata of the database
   * @param entries entries of a peer, as requested by `repair-wants`
   */
  | { readonly kind: 'repair'; readonly covered: SnapshotMeta; readonly entries: readonly Entry[] }
  /** Closes the log. Answered by `stopped`, the last message. */
  | { readonly kind: 'stop' }

export type LogToRaft =
  /** The first message of an intact log, or the answer to `repair`: the content of the log. */
  | { readonly kind: 'opened'; readonly recovered: RecoveredLog }
  /** The first message for a damaged log, which is not readable until it is repaired. */
  | ({ readonly kind: 'damaged' } & DamageSummary)
  /**
   * Entries are missing. The next `repair` must contain those from `first` to `anchor`, both
   * included.
   */
  | { readonly kind: 'repair-wants'; readonly first: LogIndex; readonly anchor: EntryId }
  /**
   * The scrub found damage, which `line` describes. The log can repair itself once a `compact` has
   * moved its base as far as possible.
   */
  | { readonly kind: 'damage-found'; readonly line: string }
  | { readonly kind: 'damage-repaired'; readonly line: string }
  /** The scrub has read all of the log. */
  | { readonly kind: 'scrubbed' }
  /** Every write up to and including this ticket is durable. */
  | {
      readonly kind: 'persisted'
      readonly ticket: PersistTicket
      /** Duration of the group commit. */
      readonly syncMs: number
      /** Number of writes in the group. */
      readonly writes: number
      /** null: not known. */
      readonly size: LogSize | null
    }
  | { readonly kind: 'fetched'; readonly id: number; readonly entries: readonly Entry[] }
  | { readonly kind: 'fetch-refused'; readonly id: number; readonly reason: ReadRefusal }
  /** The log durably begins after this index, or later. */
  | { readonly kind: 'compacted'; readonly index: LogIndex }
  /** `isDone`: the files contain no entry up to `through` any more. */
  | { readonly kind: 'trimmed'; readonly request: number; readonly isDone: boolean }
  /** The log failed: no response and no other message follows. The member must stop. */
  | LogFailed
  | { readonly kind: 'stopped' }

/** The known state of a damaged log. */
export type DamageSummary = {
  /** The latest base that was found; a later one may have been in the damaged part. */
  readonly base: SnapshotMeta
  readonly lastIndex: LogIndex
  /** The latest intact configuration: it names the peers. */
  readonly configuration: Configuration
  readonly logId: string
  /** The error with which the log is refused if it cannot be repaired, in one line. */
  readonly refusal: string
}

/** Size of a log on disk. */
export type LogSize = { readonly segments: number; readonly bytes: number }

export type ApiToLog = {
  readonly kind: 'read'
  readonly id: number
  readonly from: LogIndex
  /** The last entry to read. At most the commit index that the reader knows. */
  readonly to: LogIndex
  /** At least one entry is returned, then up to this many bytes. */
  readonly bytesMax: number
}

export type LogToApi =
  | { readonly kind: 'read-done'; readonly id: number; readonly entries: readonly Entry[] }
  | { readonly kind: 'read-refused'; readonly id: number; readonly reason: ReadRefusal }
  | LogFailed

/** Why an entry cannot be read; `missing`: it is not written yet. */
export type ReadRefusal = 'compacted' | 'missing'

export type LogFailed = {
  readonly kind: 'failed'
  readonly code: LogErrorCode
  /** One line. */
  readonly message: string
}
