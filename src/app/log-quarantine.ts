import type { Quarantine } from '../store/quarantine.ts'

/** From this many quarantines in a row on, the hardware is suspect. */
const suspectTimes = 3

/**
 * Logs one line for the operator: what is wrong, how often it happened, and the remedy.
 *
 * @param path of the databases
 * @param name of this member
 */
export function logQuarantine(
  quarantine: Quarantine,
  {
    path,
    name,
    log,
  }: {
    readonly path: string
    readonly name: string
    readonly log: { error(fields: object, message: string): void }
  },
): void {
  if (quarantine.cause === 'disagreement') {
    const repair = `orchctl member repair ${name}`
    const command = quarantine.disagreement === 'outvoted' ? repair : `${repair} --from MEMBER`
    log.error(
      { ...quarantine, path },
      'other members have another state: the state of this member is kept and not served. Find out which is right, ' +
        `then run ${command}, or repair the others --from ${name}`,
    )
    return
  }
  const { times, waitMs } = quarantine
  const fields = { ...quarantine, path }
  if (times < suspectTimes) {
    log.error(fields, 'the state is quarantined: nothing is served until another one is installed')
    return
  }
  log.error(
    fields,
    `the state was wrong ${times} times in a row: memory or disk of this machine is suspect, replace it; ` +
      `another state is requested in ${waitMs / 1000} s`,
  )
}
