import { logIndex, nodeId } from '../../../raft/index.ts'
import type { LogIndex } from '../../../raft/index.ts'
import { descentStretchesMax } from '../descent.ts'
import type { Descent, Stretch } from '../descent.ts'
import { StorageFailure } from '../errors.ts'
import { hash128, hashBytes, newHash, readHash, sameHash, writeHash } from '../machine/hash.ts'
import type { KeyValueChange, KeyValueStore } from './key-value-store.ts'
import { descentKey } from './machine-keys.ts'

/*
 * From whom a member copied its state. It lies in the database of that state and outside of its digest, because every
 * member has its own:
 *
 *   0      16
 *   | hash | each: by 8 | after 8 | up to 8 |     the hash covers all that follows it; by 0: several members
 *
 * Numbers are doubles, lowest byte first. No record: nothing was copied, or all of it is proven.
 */
const stretchBytes = 24

export function encodeDescent(descent: Descent): Uint8Array {
  const bytes = Buffer.alloc(hashBytes + descent.length * stretchBytes)
  let at = hashBytes
  for (const { by, after, upTo } of descent) {
    bytes.writeDoubleLE(by ?? 0, at)
    bytes.writeDoubleLE(after, at + 8)
    bytes.writeDoubleLE(upTo, at + 16)
    at += stretchBytes
  }
  writeHash(hash128(bytes, hashBytes, newHash()), bytes, 0)
  return bytes
}

/** @throws StorageFailure `damaged` */
export function decodeDescent(record: Uint8Array): Descent {
  const bytes = Buffer.from(record.buffer, record.byteOffset, record.byteLength)
  const count = (bytes.length - hashBytes) / stretchBytes
  if (!Number.isInteger(count) || count < 0 || count > descentStretchesMax) throw damaged()
  if (!sameHash(readHash(bytes, 0, newHash()), hash128(bytes, hashBytes, newHash()))) throw damaged()
  return Array.from({ length: count }, (_, place): Stretch => {
    const at = hashBytes + place * stretchBytes
    const by = indexAt(bytes, at)
    return { by: by === 0 ? null : nodeId(by), after: indexAt(bytes, at + 8), upTo: indexAt(bytes, at + 16) }
  })
}

export function descentChange(descent: Descent): KeyValueChange {
  return descent.length === 0
    ? { kind: 'delete', key: descentKey }
    : { kind: 'put', key: descentKey, value: encodeDescent(descent) }
}

/** @throws StorageFailure `damaged`, `io` */
export async function readDescent(store: KeyValueStore): Promise<Descent> {
  const [record] = await store.getMany([descentKey])
  return record === null || record === undefined ? [] : decodeDescent(record)
}

function indexAt(bytes: Buffer, at: number): LogIndex {
  const value = bytes.readDoubleLE(at)
  if (!Number.isSafeInteger(value) || value < 0) throw damaged()
  return logIndex(value)
}

function damaged(): StorageFailure {
  return new StorageFailure('damaged', 'the record of whom the state was copied from does not pass its check')
}
