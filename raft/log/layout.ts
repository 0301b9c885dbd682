/*
 * The layout of a log on disk. All numbers are little-endian; u64 are whole numbers below 2^53.
 *
 *   segment file, `000000000007.log`
 *   +-----------+-----------------+-----------------+----------------------------------+
 *   | preamble  | group 0 (head)  | group 1 ...     | zeros, written ahead             |
 *   | 512       | n x 512         | n x 512         |                                  |
 *   +-----------+-----------------+-----------------+----------------------------------+
 *
 *   preamble    magic 8 | format u32 | checksum u32 | log id 8 | segment number u32 | owner u64 |
 *               zeros
 *
 *   group       one group commit: one write, one sync. Begins on a sector, so that a write never
 *               touches a sector that was durable before.
 *     header    magic u32 | own checksum u32 | seed u32 | body bytes u32 | sparse sectors u32 |
 *               segment number u32 | sequence u64 | log id 8 | records u32 | mark u32
 *     body      records, then a mark u32
 *     padding   eight or more bytes, none of them zero, to the next sector; no other meaning
 *
 *   record      checksum u32 (of the rest, continuing the previous record's) | body bytes u32 |
 *               kind u32 | body
 *
 *     command         index u64 | term u64 | data
 *     empty           index u64 | term u64
 *     configuration   index u64 | term u64 | JSON
 *     hard-state      term u64 | vote u64 (0: none) | commit u64
 *     base            index u64 | term u64 | JSON   everything up to here was compacted
 *     snapshot        index u64 | term u64 | JSON   everything was replaced by a snapshot
 *     tail            index u64 | term u64          in a head: the last entry of earlier segments
 *     seal            number u32                    the log continues in the segment of this number
 *
 * Every segment's head repeats base, hard state and tail, so that earlier segments can be removed.
 * The next segment is complete and durable under its name before the seal is written; hence a
 * sealed segment without a successor, or a torn group in a sealed one, is a loss and not an
 * interrupted write.
 *
 * Before a group is written, its space contains only zeros. An interrupted write leaves whole
 * sectors of it zero, or all bytes from some byte on. So an incomplete group is an interrupted
 * write only if its padding is still zero, or if more of its sectors are zero than the header
 * counts as sparse (a sparse sector has at most one byte that is not zero, so one changed byte can
 * make it zero), and if nothing follows the group. Such a write was never acknowledged; it is
 * removed. Any other difference is corruption, and may concern an acknowledged write.
 */

export const sectorBytes = 512
export const preambleBytes = sectorBytes
export const groupHeaderBytes = 48
export const recordHeaderBytes = 12
/** Length of index and term, which precede the other bytes of an entry. */
export const entryHeaderBytes = 16
export const markBytes = 4

/** It has no zero bytes, so that a missing sector cannot be mistaken for it. */
export const mark = 0xa5b7c9db
export const paddingByte = 0xdb
/**
 * Minimum number of padding bytes at the end of a group: more than corruption of a single byte can
 * turn into zeros.
 */
export const paddingBytesMin = 8
/** Limit of one group including header and padding. */
export const groupBytesMax = 1024 * 1024 * 1024
export const groupMagic = 0x3147_4c4f
export const segmentMagic = new Uint8Array([0x4f, 0x52, 0x43, 0x48, 0x4c, 0x4f, 0x47, 0x0a])
export const formatVersion = 2
export const logIdBytes = 8

export const recordKind = {
  command: 1,
  empty: 2,
  configuration: 3,
  'hard-state': 4,
  base: 5,
  snapshot: 6,
  tail: 7,
  seal: 8,
} as const

export type RecordKind = keyof typeof recordKind

export function sectorsUp(bytes: number): number {
  return Math.ceil(bytes / sectorBytes) * sectorBytes
}

/**
 * Returns the length of a group on disk, in whole sectors.
 *
 * @param bodyBytes size of records and mark
 */
export function groupBytes(bodyBytes: number): number {
  return sectorsUp(groupHeaderBytes + bodyBytes + paddingBytesMin)
}

/** Returns the name of a segment. With twelve digits names always sort as their numbers do. */
export function segmentName(number: number): string {
  return `${String(number).padStart(12, '0')}.log`
}

export function unfinishedName(number: number): string {
  return `${String(number).padStart(12, '0')}.new`
}

/** @returns null when it is not the name of a segment */
export function segmentNumber(name: string): number | null {
  const found = /^(\d{12})\.log$/.exec(name)
  return found === null ? null : Number(found[1])
}

export function isUnfinished(name: string): boolean {
  return /^\d{12}\.new$/.test(name)
}

export function putU64(view: DataView, at: number, value: number): void {
  view.setUint32(at, value >>> 0, true)
  view.setUint32(at + 4, Math.floor(value / 0x1_0000_0000), true)
}

/** @returns null when the number is 2^53 or more, which is never written */
export function getU64(view: DataView, at: number): number | null {
  const value = view.getUint32(at + 4, true) * 0x1_0000_0000 + view.getUint32(at, true)
  return Number.isSafeInteger(value) ? value : null
}

export function isZero(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (bytes[at] !== 0) return false
  return true
}

/** @param bytes whole sectors */
export function countZeroSectors(bytes: Uint8Array): number {
  return countSectors(bytes, 0)
}

/**
 * Counts the sectors that are zero, or that one changed byte may turn to zeros.
 *
 * @param bytes whole sectors
 */
export function countSparseSectors(bytes: Uint8Array): number {
  return countSectors(bytes, 1)
}

/** Counts the sectors with at most `most` bytes that are not zero. */
function countSectors(bytes: Uint8Array, most: number): number {
  let count = 0
  for (let start = 0; start < bytes.length; start += sectorBytes) {
    let found = 0
    for (let at = start; at < start + sectorBytes && found <= most; at++) if (bytes[at] !== 0) found++
    if (found <= most) count++
  }
  return count
}
