import { CodedError } from '../../base/coded-error.ts'

/** `usage`: invalid command line, exit code 2. `failed`: exit code 1. */
export class CliError extends CodedError<'usage' | 'failed'> {}

/** `undecided`: the recording of `verify` proves neither an anomaly nor the absence of one. */
export const exitCodes = Object.freeze({ done: 0, failed: 1, usage: 2, undecided: 3 })
