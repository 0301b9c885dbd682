import { Failure } from '../../base/failure.ts'

/** `usage`: asked in a way that means nothing, exit code 2. `failed`: could not be done, exit code 1. */
export class CliFailure extends Failure<'usage' | 'failed'> {}

/** `undecided`: what `verify` recorded proves neither an anomaly nor that there is none. */
export const exitCodes = Object.freeze({ done: 0, failed: 1, usage: 2, undecided: 3 })
