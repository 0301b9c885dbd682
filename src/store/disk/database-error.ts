import { DatabaseError } from '../store-errors.ts'

/** Messages of the operating system when the disk is full: ENOSPC, EDQUOT, EFBIG. */
const diskFull = /No space left on device|Disk quota exceeded|File too large/
/**
 * Messages of a failing disk. They do not count as damage of the database: otherwise, members that
 * share a disk would all quarantine their states at the same moment.
 */
const diskFault = /Input\/output error|Stale file handle/
/**
 * Refusals that another database would get, too. Any other error of reading a file concerns that
 * file: missing, truncated, unreadable.
 */
const refusal = /Permission denied|not permitted|Read-only|Too many open files|Cannot allocate/i

/**
 * Converts an error of the database library, with the remedy if there is one. For a failed open,
 * the library's cause is more specific.
 */
export function databaseErrorOf(cause: unknown): DatabaseError {
  const own = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause
  const code = own instanceof Error && 'code' in own ? String(own.code) : ''
  const message = own instanceof Error ? own.message : String(own)
  if (code === 'LEVEL_CORRUPTION') return new DatabaseError('damaged', message, { cause })
  if (diskFull.test(message)) {
    const remedy = 'free disk space and restart this member; nothing it acknowledged is lost'
    return new DatabaseError('full', `the disk is full (${message}); ${remedy}`, { cause })
  }
  if (diskFault.test(message)) {
    const remedy =
      'check the disk and restart this member; without its directory db it fetches the state again'
    return new DatabaseError('io', `${message}; ${remedy}`, { cause })
  }
  const isDamaged = code === 'LEVEL_IO_ERROR' && !refusal.test(message)
  return new DatabaseError(isDamaged ? 'damaged' : 'io', message, { cause })
}

/**
 * Converts an error of a write. An I/O error is the fault of the disk, not of the database: a write
 * to another database would fail, too.
 */
export function writeErrorOf(cause: unknown): DatabaseError {
  const failure = databaseErrorOf(cause)
  const isOfDisk = cause instanceof Error && 'code' in cause && cause.code === 'LEVEL_IO_ERROR'
  return isOfDisk && failure.code === 'damaged'
    ? new DatabaseError('io', failure.message, { cause })
    : failure
}
