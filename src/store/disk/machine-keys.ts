import { assert } from '../../../base/assert.ts'
import { revision } from '../revision.ts'
import type { Revision } from '../revision.ts'

/*
 * Keys of the state in the database. Numbers are big-endian, so that keys sort by number.
 *
 *   0      1                9
 *   | 0x01 |                     the head: all singular values; see `stored-head.ts`
 *   | 0x02 | session       |     outcomes of one proposer; see `machine/proposer-sessions.ts`
 *   | 0x03 | revision      |     one version and its event; see `machine/object-version.ts`
 *   | 0x04 |                     local to this member; see `disagreement-record.ts`
 *
 * Most of the data are versions. A new version always has the highest key of all versions, and the
 * versions that are removed next have about the lowest ones. So tables hardly overlap, and
 * compaction is cheap.
 * The index from key to revision exists in memory only. It is rebuilt by reading the versions in
 * order, which a start does anyway to verify them.
 */

export const headKey = Uint8Array.of(1)
export const disagreementKey = Uint8Array.of(4)
/** Half-open ranges. */
export const sessionRange = { from: Uint8Array.of(2), to: Uint8Array.of(3) } as const
export const versionRange = { from: Uint8Array.of(3), to: Uint8Array.of(4) } as const

export function sessionKey(session: number): Uint8Array {
  return numbered(2, session)
}

export function versionKey(at: Revision): Uint8Array {
  return numbered(3, at)
}

/** @returns null when it is not the key of a session */
export function sessionOf(key: Uint8Array): number | null {
  return key.byteLength === 9 && key[0] === 2 ? numberIn(key) : null
}

/** @returns null when it is not the key of a version */
export function revisionOf(key: Uint8Array): Revision | null {
  const number = key.byteLength === 9 && key[0] === 3 ? numberIn(key) : null
  return number === null ? null : revision(number)
}

function numbered(kind: number, number: number): Uint8Array {
  assert(Number.isSafeInteger(number) && number >= 0, 'a key holds a whole number from 0')
  const key = new Uint8Array(9)
  const view = new DataView(key.buffer)
  view.setUint8(0, kind)
  view.setUint32(1, Math.floor(number / 2 ** 32))
  view.setUint32(5, number >>> 0)
  return key
}

function numberIn(key: Uint8Array): number | null {
  const view = new DataView(key.buffer, key.byteOffset, key.byteLength)
  const number = view.getUint32(1) * 2 ** 32 + view.getUint32(5)
  return Number.isSafeInteger(number) ? number : null
}
