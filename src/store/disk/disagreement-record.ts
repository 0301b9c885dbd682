import { DatabaseError } from '../store-errors.ts'
import { hash128, hashBytes, newHash, readHash, sameHash, writeHash } from '../machine/hash.ts'
import type { Disagreement } from '../quarantine.ts'
import type { KeyValueChange, KeyValueStore } from './key-value-store.ts'
import { disagreementKey } from './machine-keys.ts'

/*
 * Records that other members have another state. The record is in the database of the disputed
 * state, so that this state is not served after a restart either. It is not part of the digest,
 * because it is local to this member:
 *
 *   0      16
 *   | hash | kind 1 | reason, UTF-8 |     the hash covers everything after it
 */

/** `reason` is one line for the operator. */
export type DisagreementRecord = { readonly disagreement: Disagreement; readonly reason: string }

const kindNumber = { outvoted: 0, undecided: 1 } as const satisfies Record<Disagreement, number>

/** @param record null: removes the record */
export function disagreementChange(record: DisagreementRecord | null): KeyValueChange {
  if (record === null) return { kind: 'delete', key: disagreementKey }
  const reason = Buffer.from(record.reason, 'utf8')
  const value = Buffer.alloc(hashBytes + 1 + reason.byteLength)
  value.writeUInt8(kindNumber[record.disagreement], hashBytes)
  value.set(reason, hashBytes + 1)
  writeHash(hash128(value, hashBytes, newHash()), value, 0)
  return { kind: 'put', key: disagreementKey, value }
}

/** @throws DatabaseError `damaged`, `io` */
export async function readDisagreement(store: KeyValueStore): Promise<DisagreementRecord | null> {
  const [record] = await store.getMany([disagreementKey])
  if (record === null || record === undefined) return null
  const bytes = Buffer.from(record.buffer, record.byteOffset, record.byteLength)
  const isWhole = bytes.length > hashBytes
  if (!isWhole || !sameHash(readHash(bytes, 0, newHash()), hash128(bytes, hashBytes, newHash()))) {
    throw new DatabaseError('damaged', 'the record of a disagreement does not pass its check')
  }
  const isOutvoted = bytes.readUInt8(hashBytes) === kindNumber.outvoted
  const reason = bytes.toString('utf8', hashBytes + 1)
  return { disagreement: isOutvoted ? 'outvoted' : 'undecided', reason }
}
