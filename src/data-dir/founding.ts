import { createHash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { segmentNumber } from '../../raft/index.ts'
import type { InitialMember } from '../config/address.ts'
import { readFileIfThere, replaceFile } from '../pki/files.ts'
import { StartFailure } from '../config/start-failure.ts'
import { foundingFileName } from './layout.ts'

/**
 * Fingerprint of the list of members that this member's log begins with. Kept beside the log, because the flag is not
 * looked at once the log has begun: an address may be corrected there later.
 *
 * @param directory of the member; @param logDirectory of its log
 * @returns empty: begun before this was kept, or alone, so there is nothing to compare
 * @throws StartFailure `data-directory` when the file is damaged
 */
export function foundingOf(
  directory: string,
  logDirectory: string,
  members: readonly InitialMember[],
  log: Pick<Logger, 'warn'>,
): string {
  const path = join(directory, foundingFileName)
  if (hasLog(logDirectory)) {
    const print = kept(path)
    if (print === null && members.length > 1) {
      log.warn({ path }, 'the file is missing: peers cannot tell whether all began with the same members')
    }
    return print ?? ''
  }
  const print = members.length > 1 ? fingerprintOf(members) : ''
  if (print !== '') replaceFile(path, `${print} ${checkOf(print)}\n`, 'public')
  return print
}

/** Whether a log began there. A directory alone is what a process leaves that ended before it wrote. */
export function hasLog(logDirectory: string): boolean {
  if (!existsSync(logDirectory)) return false
  try {
    return readdirSync(logDirectory).some((name) => segmentNumber(name) !== null)
  } catch {
    // Something is there; what is wrong with it is said by whoever opens the log.
    return true
  }
}

/** Of names and addresses, in whatever order they are listed. */
export function fingerprintOf(members: readonly InitialMember[]): string {
  const lines = members.map(
    ({ name, peerAddress, clientAddress }) => `${name}=${peerAddress}/${clientAddress}`,
  )
  return createHash('sha256').update(lines.sort().join('\n')).digest('hex').slice(0, 32)
}

/** @returns null when it is missing */
function kept(path: string): string | null {
  const text = readFileIfThere(path)
  if (text === null) return null
  const [, print, check] = /^([0-9a-f]{32}) ([0-9a-f]{8})\n$/.exec(text) ?? []
  if (print === undefined || check !== checkOf(print)) {
    throw new StartFailure(
      'data-directory',
      `${path} is damaged: remove it; it only lets peers see whether all began with the same --initial-members`,
    )
  }
  return print
}

/** Sees rot: another fingerprint would keep this member out of its own cluster. */
function checkOf(print: string): string {
  return createHash('sha256').update(print).digest('hex').slice(0, 8)
}
