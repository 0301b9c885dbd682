import type { Quarantine } from '../store/quarantine.ts'

/** From so many times in a row on it is hardly chance. */
const suspectTimes = 3

/**
 * One line for the operator: what is wrong, how often it was, and what to do where a repair does not help.
 *
 * @param path of the databases
 */
export function tellQuarantine(
  { cause, reason, atLeast, times, waitMs }: Quarantine,
  path: string,
  log: { error(fields: object, message: string): void },
): void {
  const fields = { cause, reason, atLeast, times, waitMs, path }
  if (times < suspectTimes) {
    log.error(fields, 'the state is not to be trusted: nothing is served until another is here')
    return
  }
  log.error(
    fields,
    `the state came out wrong ${times} times in a row: memory or disk of this machine is suspect, replace it; ` +
      `another state is asked for in ${waitMs / 1000} s`,
  )
}
