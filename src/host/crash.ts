import { BrokenInvariant } from '../../base/assert.ts'
import { Failure } from '../../base/failure.ts'

/** Exit status of a program that contradicted itself: a bug, worth a report. (EX_SOFTWARE of sysexits.) */
export const brokenExitCode = 70
/** Exit status of a member that cannot go on: its disk, a port, a file. */
export const failedExitCode = 1

export type CrashOutput = {
  readonly log: { readonly fatal: (fields: object, message: string) => void }
  readonly exit: (code: number) => void
}

/**
 * Ends the process after something nobody may catch: says why, and goes. State is safe: what was acknowledged is in
 * the log of a majority, and a crash is an event every member is built for.
 */
export function crash(cause: unknown, { log, exit }: CrashOutput): void {
  const broken = cause instanceof BrokenInvariant
  log.fatal(words(cause), broken ? 'broken invariant: this is a bug' : 'cannot go on')
  exit(broken ? brokenExitCode : failedExitCode)
}

/** What is expected to go wrong says enough by its words; where a program went wrong, only its stack says. */
function words(cause: unknown): object {
  if (typeof cause === 'string') return { cause }
  if (!(cause instanceof Failure)) return { err: cause }
  return { code: String(cause.code), cause: cause.message }
}
