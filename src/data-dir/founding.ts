import { createHash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { segmentNumber } from '../../raft/index.ts'
import type { InitialMember } from '../config/address.ts'
import { readFileIfThere, replaceFile } from '../pki/files.ts'
import { StartError } from '../config/start-error.ts'
import { foundingFileName } from './layout.ts'

/**
 * Returns the fingerprint of the initial members that this member's log begins with. It is stored
 * next to the log, because the flag is ignored once the log exists, and its addresses may be
 * corrected later.
 *
 * @param directory the data directory
 * @param logDirectory the directory of the log
 * @returns empty where there is nothing to compare: a single member, or a log without this file
 * @throws StartError `data-directory` when the file is damaged
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
      log.warn({ path }, 'the file is missing: peers cannot check whether all began with the same members')
    }
    return print ?? ''
  }
  const print = members.length > 1 ? fingerprintOf(members) : ''
  if (print !== '') replaceFile(path, `${print} ${checkOf(print)}\n`, 'public')
  return print
}

/**
 * Returns whether the directory contains a log. A process that ended before its first write leaves
 * an empty directory.
 */
export function hasLog(logDirectory: string): boolean {
  if (!existsSync(logDirectory)) return false
  try {
    return readdirSync(logDirectory).some((name) => segmentNumber(name) !== null)
  } catch {
    // It cannot be read: opening the log reports the cause.
    return true
  }
}

/** Returns the fingerprint of names and addresses, in any order. */
export function fingerprintOf(members: readonly InitialMember[]): string {
  const lines = members.map(
    ({ name, peerAddress, clientAddress }) => `${name}=${peerAddress}/${clientAddress}`,
  )
  return createHash('sha256').update(lines.sort().join('\n')).digest('hex').slice(0, 32)
}

/** Returns null when the file is missing. */
function kept(path: string): string | null {
  const text = readFileIfThere(path)
  if (text === null) return null
  const [, print, check] = /^([0-9a-f]{32}) ([0-9a-f]{8})\n$/.exec(text) ?? []
  if (print === undefined || check !== checkOf(print)) {
    throw new StartError(
      'data-directory',
      `${path} is damaged: remove it; it only lets peers see whether all began with the same --initial-members`,
    )
  }
  return print
}

/** Detects damage: with another fingerprint, the other members would refuse this one. */
function checkOf(print: string): string {
  return createHash('sha256').update(print).digest('hex').slice(0, 8)
}
