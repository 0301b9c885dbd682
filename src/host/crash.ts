import { BrokenInvariant } from '../../base/assert.ts'
import { CodedError } from '../../base/coded-error.ts'

/** Exit status after a broken invariant: a bug, worth a report. (EX_SOFTWARE of sysexits.) */
export const brokenExitCode = 70
/** Exit status of a member that cannot continue: a disk, a port, a file. */
export const failedExitCode = 1

export type CrashOutput = {
  readonly log: { readonly fatal: (fields: object, message: string) => void }
  readonly exit: (code: number) => void
}

/**
 * Ends the process after an error that cannot be handled, and logs the cause. The state is safe:
 * acknowledged writes are in the logs of a majority, and members tolerate crashes.
 */
export function crash(cause: unknown, { log, exit }: CrashOutput): void {
  const broken = cause instanceof BrokenInvariant
  log.fatal(words(cause), broken ? 'broken invariant: this is a bug' : 'cannot continue')
  exit(broken ? brokenExitCode : failedExitCode)
}

/** An expected failure is described by its code and message; a bug by its stack. */
function words(cause: unknown): object {
  if (typeof cause === 'string') return { cause }
  if (!(cause instanceof CodedError)) return { err: cause }
  return { code: String(cause.code), cause: cause.message }
}
