import { CodedError } from '../../base/coded-error.ts'

/**
 * - `history`: a file is not a history, or is damaged; the message names file and line
 * - `too-long`: the history exceeds the limits of the checks
 * - `no-answer`: no endpoint completed a request that the recording needs at its start or end
 * - `faults`: a fault file is malformed
 */
export class VerifyError extends CodedError<'history' | 'too-long' | 'no-answer' | 'faults'> {}
