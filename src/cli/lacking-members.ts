import type { Clock } from '../../base/clock.ts'
import { sleep } from './terminal.ts'

/** Maximum number of checks. With the pauses, they last longer than members need to apply files. */
const ATTEMPTS_MAX = 8
const PAUSE_MS = 500

/**
 * Returns the members that have not applied the files that the previous step wrote. Members that
 * use the files of the directory apply them within a second or two, so they are checked repeatedly.
 *
 * @param check returns the names of such members now
 */
export async function lackingMembers(
  clock: Pick<Clock, 'after'>,
  check: () => Promise<readonly string[]>,
): Promise<readonly string[]> {
  for (let attempt = 1; ; attempt++) {
    const lacking = await check()
    if (lacking.length === 0 || attempt === ATTEMPTS_MAX) return lacking
    await sleep(clock, PAUSE_MS)
  }
}
