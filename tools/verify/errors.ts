import { Failure } from '../../base/failure.ts'

/**
 * - `history`: a file is not a history, or damaged; the message names file and line
 * - `too-long`: a history beyond what is checked
 * - `no-answer`: no endpoint did what the recording needs before it can begin, or at its end
 * - `faults`: a file of faults is not understood
 */
export class VerifyFailure extends Failure<'history' | 'too-long' | 'no-answer' | 'faults'> {}
