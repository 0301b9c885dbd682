import { CodedError } from '../../base/coded-error.ts'

/**
 * - `compacted`: the revision is older than the history kept
 * - `future`: the revision was not reached yet, or not within the wait
 * - `timed-out`: no quorum answered in time; for a write see `StoreError.applied`
 * - `overloaded`: a bound was reached, nothing was done, try later
 * - `stopped`: this member is shutting down
 * - `too-large`: the command is larger than a log entry may be
 * - `unreadable`: the leader cannot decode the command, as it runs another version of the program
 * - `quarantined`: the state of this member is not trusted; another member can be asked
 */
export type StoreErrorCode =
  'compacted' | 'future' | 'timed-out' | 'overloaded' | 'stopped' | 'too-large' | 'unreadable' | 'quarantined'

export class StoreError extends CodedError<StoreErrorCode> {
  /**
   * For a write: whether it took effect. `unknown` when it was not confirmed in time, or when the
   * state was quarantined or this member stopped in between.
   */
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
 * Errors of the database. After `damaged`, `digest` and `behind-log` the database is quarantined,
 * and its state is rebuilt from the log or fetched from another member. `stale`, `unconfirmed` and
 * `suspect` concern one snapshot, and so do all others while a snapshot is received, except
 * `unsupported`. An `io` of a scrub, of a snapshot that is sent, or of the removal of a quarantined
 * database ends only that. The rest is final: the member must stop.
 *
 * - `damaged`: stored bytes fail their check, or are inconsistent
 * - `digest`: the digest of the whole database is wrong
 * - `behind-log`: the log was compacted beyond what the database has
 * - `beyond-log`: the log lost entries that the database has: the vote may be lost too
 * - `unsupported`: written by a newer program, or at a feature level that this member lacks
 * - `full`: the disk is full
 * - `io`: the disk refused for another reason, or nothing was written yet
 * - `stale`: a snapshot is older than the state of this member, or than what is required
 * - `unconfirmed`: other members have another state than the one to be sent
 * - `suspect`: other members have another state, so this one is kept until an operator decides
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

export class DatabaseError extends CodedError<DatabaseErrorCode> {}
