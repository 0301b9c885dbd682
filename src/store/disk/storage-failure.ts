import { StorageFailure } from '../errors.ts'

/** What the operating system says through the database when there is no room: ENOSPC, EDQUOT, EFBIG. */
const noRoom = /No space left on device|Disk quota exceeded|File too large/

/** An error of the database library, in the store's own terms and with what to do where that is known. */
export function storageFailure(cause: unknown): StorageFailure {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  const message = cause instanceof Error ? cause.message : String(cause)
  if (code === 'LEVEL_CORRUPTION') return new StorageFailure('damaged', message, { cause })
  if (!noRoom.test(message)) return new StorageFailure('io', message, { cause })
  const remedy = 'make room and start this member again, nothing it acknowledged is lost'
  return new StorageFailure('full', `the disk is full (${message}); ${remedy}`, { cause })
}
