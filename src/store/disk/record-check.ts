import { DatabaseError } from '../store-errors.ts'
import { hash128, hashBytes, newHash, readHash, sameHash } from '../machine/hash.ts'

/**
 * Checks a stored version or session against its own hash, which it begins with and which covers
 * the rest.
 *
 * @throws DatabaseError `damaged`
 */
export function checkRecord(key: Uint8Array, record: Uint8Array): void {
  const isWhole =
    record.byteLength > hashBytes &&
    sameHash(readHash(record, 0, stored), hash128(record, hashBytes, computed))
  if (isWhole) return
  const name = Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('hex')
  throw new DatabaseError('damaged', `the stored value under ${name} does not pass its check`)
}

const stored = newHash()
const computed = newHash()
