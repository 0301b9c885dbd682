import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { InitialMember } from '../config/address.ts'
import { readFileIfThere, replaceFile } from '../pki/files.ts'
import { StartFailure } from './errors.ts'

const fileName = 'founding'

/**
 * Fingerprint of the list of members that this member's log begins with. Kept beside the log, because the flag is not
 * looked at once the log has begun: an address may be corrected there later.
 *
 * @param directory of the member; @param log its log
 * @returns empty: begun before this was kept, or alone, so there is nothing to compare
 * @throws StartFailure `data-directory` when the file is damaged
 */
export function foundingOf(directory: string, log: string, members: readonly InitialMember[]): string {
  const path = join(directory, fileName)
  if (existsSync(log)) return kept(path)
  const print = members.length > 1 ? fingerprintOf(members) : ''
  if (print !== '') replaceFile(path, `${print} ${checkOf(print)}\n`, 'public')
  return print
}

/** Of names and addresses, in whatever order they are listed. */
export function fingerprintOf(members: readonly InitialMember[]): string {
  const lines = members.map(
    ({ name, peerAddress, clientAddress }) => `${name}=${peerAddress}/${clientAddress}`,
  )
  return createHash('sha256').update(lines.sort().join('\n')).digest('hex').slice(0, 32)
}

function kept(path: string): string {
  const text = readFileIfThere(path)
  if (text === null) return ''
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
