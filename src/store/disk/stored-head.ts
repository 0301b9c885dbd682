import { DatabaseError } from '../store-errors.ts'
import { hash128, hashBytes, newHash, readHash, sameHash, writeHash } from '../machine/hash.ts'
import type { Hash128 } from '../machine/hash.ts'
import { decodeHead } from '../machine/head.ts'
import type { Head } from '../machine/head.ts'

/*
 * The head as stored, with the digest of the whole state it belongs to:
 *
 *   0     16       32
 *   | hash | digest | head ... |         the hash covers all that follows it
 */

export function encodeStoredHead(head: Uint8Array, digest: Hash128): Uint8Array {
  const bytes = new Uint8Array(2 * hashBytes + head.byteLength)
  bytes.set(head, 2 * hashBytes)
  writeHash(digest, bytes, hashBytes)
  writeHash(hash128(bytes, hashBytes, newHash()), bytes, 0)
  return bytes
}

/** @throws DatabaseError `damaged`, `unsupported` */
export function decodeStoredHead(bytes: Uint8Array): { readonly head: Head; readonly digest: Hash128 } {
  const isWhole = bytes.byteLength > 2 * hashBytes
  if (!isWhole || !sameHash(readHash(bytes, 0, newHash()), hash128(bytes, hashBytes, newHash()))) {
    throw new DatabaseError('damaged', 'the stored head does not pass its check')
  }
  return { head: decodeHead(bytes.subarray(2 * hashBytes)), digest: readHash(bytes, hashBytes, newHash()) }
}
