import { CodedError } from '../../base/coded-error.ts'

/**
 * - `history`: a history file cannot be written, is damaged, or is not a history; the message names
 *   the file, and the line when it was read
 * - `too-long`: the history exceeds the limits of the checks
 * - `no-answer`: no endpoint completed a request that the recording needs at its start
 * - `faults`: a fault file is malformed
 */
export class VerifyError extends CodedError<'history' | 'too-long' | 'no-answer' | 'faults'> {}
