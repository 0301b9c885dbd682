import type { Clock } from '../../base/clock.ts'
import { sleep } from './terminal.ts'

/** Checks of all members. With the pauses, several times as long as they need to take new files. */
const ATTEMPTS_MAX = 8
const PAUSE_MS = 500

/**
 * Returns the members that have not taken what the step before wrote. Members that use the files of
 * the directory take them within a second or two, so they are checked again for a moment.
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
