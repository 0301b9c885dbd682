import { Failure } from '../../base/failure.ts'

/**
 * - `compacted`: the revision is older than the history kept
 * - `future`: the revision was not reached within the wait
 * - `timed-out`: no quorum answered in time; for a write see `StoreError.applied`
 * - `overloaded`: a bound was reached, nothing was done, try later
 * - `stopped`: this member is shutting down
 * - `too-large`: the command exceeds one log entry
 * - `unreadable`: the leader cannot decode the command, as it runs another version of the program
 * - `quarantined`: the state of this member is not trusted; another member can be asked
 */
export type StoreErrorCode =
  'compacted' | 'future' | 'timed-out' | 'overloaded' | 'stopped' | 'too-large' | 'unreadable' | 'quarantined'

export class StoreError extends Failure<StoreErrorCode> {
  /** For a write: whether it took effect. `unknown` only when the caller's deadline came first. */
  readonly applied: 'no' | 'unknown'

  constructor(
    code: StoreErrorCode,
    message: string,
    options?: { readonly cause?: unknown; readonly applied?: 'no' | 'unknown' },
  ) {
    super(code, message, options)
    this.applied = options?.applied ?? 'no'
  }
}

/**
 * Of the database. `damaged`, `digest` and `behind-log` say that it is not to be trusted: it is set
 * aside and another member's state takes its place. The others are final: the member must stop.
 * Only while a snapshot is received a failure concerns nothing but that snapshot, which is refused.
 *
 * - `damaged`: stored bytes do not pass their check, or do not fit together
 * - `digest`: the database as a whole is not what was written
 * - `behind-log`: the log was cut beyond what the database holds
 * - `beyond-log`: the database holds what the log lost: this member may have lost its vote too
 * - `unsupported`: written by a newer program
 * - `full`: no room on the disk
 * - `io`: the disk refused for another reason
 * - `stale`: a snapshot of what this member has already
 * - `unconfirmed`: other members have another state than the one that was to be given away
 * - `suspect`: other members have another state, so this one is kept as it is until an operator
 *   decides
 */
export type DatabaseErrorCode =
  | 'damaged'
  | 'digest'
  | 'behind-log'
  | 'beyond-log'
  | 'unsupported'
  | 'full'
  | 'io'
  | 'stale'
  | 'unconfirmed'
  | 'suspect'

export class DatabaseError extends Failure<DatabaseErrorCode> {}
