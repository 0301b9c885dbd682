import { Failure } from '../../base/failure.ts'

/**
 * What can go wrong under a log. Every code but `cut` and `missing` is final: the member must stop.
 *
 * - `damaged`: bytes on disk are not what was written; durable promises may be lost with them
 * - `missing-segment`: a file the log needs is not there
 * - `foreign`: a file belongs to something else, or to another log
 * - `newer-format`: written by a later version of this program
 * - `older-format`: written by a version whose logs this program does not read
 * - `disk-full`: no room for a write
 * - `io`: the operating system refused for another reason
 * - `altered`: an entry changed in memory on its way here; nothing of it was written
 * - `dead`: an earlier operation failed; what is on disk is unknown until the log is opened anew
 * - `cut`: the entry was forgotten, its effect is in the state machine
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
  | 'cut'
  | 'missing'

/** The message is one line that names the file and, where there is one, the remedy. */
export class LogError extends Failure<LogErrorCode> {}

/**
 * What an operator does about a log that may have lost a vote or an entry. A copy of it from before
 * is as forgetful.
 */
export const replaceMember =
  'it may have lost a vote or an entry, so this member does not start; bring back no older copy of it, which has forgotten ' +
  'them too: it must be replaced by a new member'

export function damaged(file: string, offset: number, what: string): LogError {
  return new LogError('damaged', `log ${file} is damaged at byte ${offset}: ${what}; ${replaceMember}`)
}

/** Found while the log is open: what is lost of it is known at the next start only. */
export function damagedInUse(file: string, offset: number, what: string): LogError {
  const remedy = 'start this member again: it repairs its log, or says that it cannot'
  return new LogError('damaged', `log ${file} is damaged at byte ${offset}: ${what}; ${remedy}`)
}

export function missingSegment(file: string): LogError {
  return new LogError('missing-segment', `log ${file} is missing; ${replaceMember}`)
}
