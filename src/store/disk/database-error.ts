import { DatabaseError } from '../store-errors.ts'

/**
 * What the operating system says through the database when there is no room: ENOSPC, EDQUOT, EFBIG.
 */
const noRoom = /No space left on device|Disk quota exceeded|File too large/
/**
 * The disk falters. Where members share one, each of them would set its state aside at the same
 * moment.
 */
const diskFault = /Input\/output error|Stale file handle/
/**
 * Where the system refuses for reasons of its own: another database would fare no better. Any other
 * complaint about reading a file is about that file: gone, cut short, unreadable, none.
 */
const refusal = /Permission denied|not permitted|Read-only|Too many open files|Cannot allocate/i

/**
 * An error of the database library, in the store's own terms and with what to do where that is
 * known. Of an open that failed, the library's own cause says more.
 */
export function databaseErrorOf(cause: unknown): DatabaseError {
  const own = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause
  const code = own instanceof Error && 'code' in own ? String(own.code) : ''
  const message = own instanceof Error ? own.message : String(own)
  if (code === 'LEVEL_CORRUPTION') return new DatabaseError('damaged', message, { cause })
  if (noRoom.test(message)) {
    const remedy = 'make room and start this member again, nothing it acknowledged is lost'
    return new DatabaseError('full', `the disk is full (${message}); ${remedy}`, { cause })
  }
  if (diskFault.test(message)) {
    const remedy =
      'see to the disk and start this member again; without its directory db it fetches the state anew'
    return new DatabaseError('io', `${message}; ${remedy}`, { cause })
  }
  const isDamaged = code === 'LEVEL_IO_ERROR' && !refusal.test(message)
  return new DatabaseError(isDamaged ? 'damaged' : 'io', message, { cause })
}

/**
 * As above, for a write: what a disk does not take it would not take from another database either.
 */
export function writeErrorOf(cause: unknown): DatabaseError {
  const failure = databaseErrorOf(cause)
  const isOfDisk = cause instanceof Error && 'code' in cause && cause.code === 'LEVEL_IO_ERROR'
  return isOfDisk && failure.code === 'damaged'
    ? new DatabaseError('io', failure.message, { cause })
    : failure
}
