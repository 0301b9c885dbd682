import { CodedError } from '../../base/coded-error.ts'

/**
 * Errors of a log. After any code but `compacted` and `missing`, an open log cannot be used any
 * more: the member must stop. At the start, `damaged` and `missing-segment` may be repaired
 * (`RepairableLog`).
 *
 * - `damaged`: bytes on disk are not what was written; a vote or acknowledged entries may be lost
 * - `missing-segment`: a file that the log needs does not exist
 * - `foreign`: a file belongs to something else, or to another log
 * - `newer-format`: written by a later version of this program
 * - `older-format`: written by a version whose logs this program does not read
 * - `disk-full`: no space for a write
 * - `io`: the operating system refused for another reason
 * - `altered`: an entry changed in memory before it was written; nothing of it was written
 * - `dead`: an earlier operation failed; what is on disk is unknown until the log is opened again
 * - `compacted`: the entry was compacted; its effect is in the state machine
 * - `missing`: the entry was not written yet
 */
export type LogErrorCode =
  | 'damaged'
  | 'missing-segment'
  | 'foreign'
  | 'newer-format'
  | 'older-format'
  | 'disk-full'
  | 'io'
  | 'altered'
  | 'dead'
  | 'compacted'
  | 'missing'

/** The message is one line that names the file and, if there is one, the remedy. */
export class LogError extends CodedError<LogErrorCode> {}

/**
 * The remedy for a log that may have lost a vote or an entry. An older copy of the log lacks them
 * too.
 */
export const replaceMember =
  'it may have lost a vote or an entry, so this member does not start; do not restore an older copy of it, which lacks ' +
  'them too: it must be replaced by a new member'

export function damaged(file: string, offset: number, what: string): LogError {
  return new LogError('damaged', `log ${file} is damaged at byte ${offset}: ${what}; ${replaceMember}`)
}

/**
 * Returns the error for damage found while the log is open: what was lost is known only at the next
 * start.
 */
export function damagedInUse(file: string, offset: number, what: string): LogError {
  const remedy = 'restart this member: it repairs its log, or reports why it cannot'
  return new LogError('damaged', `log ${file} is damaged at byte ${offset}: ${what}; ${remedy}`)
}

export function missingSegment(file: string): LogError {
  return new LogError('missing-segment', `log ${file} is missing; ${replaceMember}`)
}
