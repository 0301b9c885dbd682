import { DatabaseError } from '../store-errors.ts'
import { hash128, hashBytes, newHash, readHash, sameHash, writeHash } from '../machine/hash.ts'
import type { KeyValuePair } from './key-value-store.ts'

/*
 * A snapshot as a stream: the stored head first, then all pairs in key order, then the end. Each
 * frame has a hash; the digest in the head proves that the stream is complete.
 *
 *   0        4      20     21
 *   | length | hash | kind | payload ... |
 *
 * The length counts the whole frame; the hash covers everything after it.
 *
 *   head    | "orch-snapshot" | format 1 | stored head |
 *   pairs   | key bytes 1 | key | value bytes 4 | value | ...
 *   end     | number of pairs, 8, as a double |
 *
 * Numbers are little-endian.
 */

export type SnapshotFrame =
  | { readonly kind: 'head'; readonly storedHead: Uint8Array }
  | { readonly kind: 'pairs'; readonly pairs: readonly KeyValuePair[] }
  | { readonly kind: 'end'; readonly pairs: number }

const magic = Buffer.from('orch-snapshot\u0001', 'latin1')
const kindAt = 4 + hashBytes
const payloadAt = kindAt + 1
const kindNumber = { head: 0, pairs: 1, end: 2 } as const satisfies Record<SnapshotFrame['kind'], number>

/**
 * Maximum length of a frame, which has one large value or several small ones; a longer frame is
 * malformed.
 */
const frameBytesMax = 16 * 1024 * 1024

export function encodeFrame(frame: SnapshotFrame): Uint8Array {
  const parts = payloadOf(frame)
  const length = payloadAt + parts.reduce((sum, part) => sum + part.byteLength, 0)
  const bytes = Buffer.allocUnsafeSlow(length)
  bytes.writeUInt32LE(length, 0)
  bytes.writeUInt8(kindNumber[frame.kind], kindAt)
  let at = payloadAt
  for (const part of parts) {
    bytes.set(part, at)
    at += part.byteLength
  }
  writeHash(hash128(bytes, kindAt, newHash()), bytes, 4)
  return bytes
}

/** Splits a stream into frames, independent of chunk boundaries. */
export class FrameParser {
  #rest: Buffer = Buffer.alloc(0)

  /** Whether everything so far was whole frames. */
  get atBorder(): boolean {
    return this.#rest.length === 0
  }

  /**
   * Returns the frames that are complete. Their bytes are views of the chunk, or of a copy that
   * also has the rest of earlier chunks.
   * @throws DatabaseError `damaged`, `unsupported`
   */
  push(chunk: Uint8Array): SnapshotFrame[] {
    const arrived = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    let rest = this.#rest.length === 0 ? arrived : Buffer.concat([this.#rest, arrived])
    const frames: SnapshotFrame[] = []
    while (rest.length >= 4) {
      const length = rest.readUInt32LE(0)
      if (length < payloadAt || length > frameBytesMax) throw damaged('a frame has an invalid length')
      if (rest.length < length) break
      frames.push(decodeFrame(rest.subarray(0, length)))
      rest = rest.subarray(length)
    }
    this.#rest = rest
    return frames
  }
}

function payloadOf(frame: SnapshotFrame): Uint8Array[] {
  switch (frame.kind) {
    case 'head':
      return [magic, frame.storedHead]
    case 'pairs':
      return frame.pairs.flatMap(([key, value]) => [
        Uint8Array.of(key.byteLength),
        key,
        lengthOf(value),
        value,
      ])
    case 'end': {
      const count = Buffer.alloc(8)
      count.writeDoubleLE(frame.pairs)
      return [count]
    }
  }
}

function lengthOf(value: Uint8Array): Uint8Array {
  const length = Buffer.allocUnsafe(4)
  length.writeUInt32LE(value.byteLength)
  return length
}

function decodeFrame(bytes: Buffer): SnapshotFrame {
  const stored = readHash(bytes, 4, newHash())
  if (!sameHash(stored, hash128(bytes, kindAt, newHash()))) throw damaged('a frame does not pass its check')
  const payload = bytes.subarray(payloadAt)
  switch (bytes.readUInt8(kindAt)) {
    case kindNumber.head:
      if (!payload.subarray(0, magic.length).equals(magic)) {
        throw new DatabaseError('unsupported', 'the snapshot has a format this program does not know')
      }
      return { kind: 'head', storedHead: payload.subarray(magic.length) }
    case kindNumber.pairs:
      return { kind: 'pairs', pairs: pairsIn(payload) }
    case kindNumber.end:
      if (payload.length !== 8) throw damaged('its end is cut off')
      return { kind: 'end', pairs: payload.readDoubleLE(0) }
    default:
      throw new DatabaseError('unsupported', 'the snapshot has a frame of an unknown kind')
  }
}

function pairsIn(payload: Buffer): KeyValuePair[] {
  const pairs: KeyValuePair[] = []
  let at = 0
  while (at < payload.length) {
    const keyAt = at + 1
    const valueLengthAt = keyAt + payload.readUInt8(at)
    if (valueLengthAt + 4 > payload.length) throw damaged('a key is cut off')
    const valueAt = valueLengthAt + 4
    const end = valueAt + payload.readUInt32LE(valueLengthAt)
    if (end > payload.length) throw damaged('a value is cut off')
    pairs.push([payload.subarray(keyAt, valueLengthAt), payload.subarray(valueAt, end)])
    at = end
  }
  return pairs
}

function damaged(what: string): DatabaseError {
  return new DatabaseError('damaged', `the snapshot is damaged: ${what}`)
}
