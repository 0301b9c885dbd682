import { join } from 'node:path'
import type { Logger } from 'pino'
import { readFileIfThere, replaceFile } from '../pki/files.ts'
import { StartFailure } from './errors.ts'

const fileName = 'lease-promise'

/**
 * Returns for how long, in ms, this member may have promised a leader to elect nobody else, and keeps it in the data
 * directory before this process promises anything. A promise outlives the process that gave it: one that comes back with a
 * shorter `--election-timeout` still owes the longer one, so the file is only lowered once that was waited out.
 *
 * @throws StartFailure `data-directory` when the file says no number
 */
export function promisedMs(directory: string, electionMs: number): number {
  const path = join(directory, fileName)
  const text = readFileIfThere(path)
  const recorded = text === null ? 0 : Number(text.trim())
  if (text !== null && !/^\d{1,9}\s*$/.test(text)) {
    throw new StartFailure(
      'data-directory',
      `${path} does not hold the election timeout of the last start in ms: write the longest that this member was started with`,
    )
  }
  if (electionMs > recorded) record(path, electionMs)
  return Math.max(electionMs, recorded)
}

/**
 * All that an earlier process promised is over, and this one promises no more than `electionMs`. Where that cannot be
 * written, the next start waits longer than it has to, and nothing else happens.
 */
export function forgetPromise(directory: string, electionMs: number, log: Pick<Logger, 'warn'>): void {
  try {
    record(join(directory, fileName), electionMs)
  } catch (cause) {
    log.warn(
      { cause: cause instanceof Error ? cause.message : String(cause) },
      'the lease promise was not lowered',
    )
  }
}

function record(path: string, ms: number): void {
  replaceFile(path, `${ms}\n`, 'public')
}
