import { CodedError } from '../../base/coded-error.ts'

/** `usage`: invalid command line, exit code 2. `failed`: exit code 1. */
export class CliError extends CodedError<'usage' | 'failed'> {}

/** `undecided`: the recording of `verify` proves neither an anomaly nor the absence of one. */
export const exitCodes = Object.freeze({ done: 0, failed: 1, usage: 2, undecided: 3 })

/**
 * Returns why a file could not be read: the code of the system, such as `ENOENT`, where there is
 * one.
 */
export function fileErrorReason(cause: unknown): string {
  return cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause)
}
