/*
 * How a log lies on disk. All numbers are little-endian; u64 are whole numbers below 2^53.
 *
 *   segment file, `000000000007.log`
 *   +-----------+-----------------+-----------------+----------------------------------+
 *   | preamble  | group 0 (head)  | group 1 ...     | zeros, written ahead             |
 *   | 512       | n x 512         | n x 512         |                                  |
 *   +-----------+-----------------+-----------------+----------------------------------+
 *
 *   preamble    magic 8 | format u32 | checksum u32 | log id 8 | segment number u32 | owner u64 | zeros
 *
 *   group       one group commit: one write, one sync. Begins on a sector, so that no write ever touches
 *               a sector that was promised durable before.
 *     header    magic u32 | own checksum u32 | seed u32 | body bytes u32 | sparse sectors u32 |
 *               segment number u32 | sequence u64 | log id 8 | records u32 | mark u32
 *     body      records, then a mark u32
 *     padding   eight or more bytes, none of them zero, to the next sector; says nothing else
 *
 *   record      checksum u32 (of what follows, continuing the previous record's) | body bytes u32 |
 *               kind u32 | body
 *
 *     command         index u64 | term u64 | data
 *     empty           index u64 | term u64
 *     configuration   index u64 | term u64 | JSON
 *     hard-state      term u64 | vote u64 (0: none) | commit u64
 *     base            index u64 | term u64 | JSON   everything up to here was cut
 *     snapshot        index u64 | term u64 | JSON   everything was replaced by state
 *     tail            index u64 | term u64          in a head: the last entry of earlier segments
 *     seal            number u32                    nothing follows in this segment; that one continues
 *
 * Every segment's head states base, hard state and tail anew, so that earlier segments can go. The
 * next segment is complete and durable under its name before the seal is written; hence a sealed
 * segment without successor, or a torn group in a sealed one, is loss and not an interrupted write.
 *
 * The place of a group was zero before. An interrupted write leaves whole sectors of it zero, or
 * all bytes from one on. So a group that is not whole is an interrupted write only when its padding
 * is still zero, or when more of its sectors are zero than one changed byte each could have made so
 * ("sparse sectors" counts those that hold one other byte, or none), and nothing lies behind it.
 * Nobody was told it was durable; it is taken away. Anything else that is not as it was written is
 * rot, and may be a promise.
 */

export const sectorBytes = 512
export const preambleBytes = sectorBytes
export const groupHeaderBytes = 48
export const recordHeaderBytes = 12
/** Index and term, in front of each entry's own bytes. */
export const entryHeaderBytes = 16
export const markBytes = 4

/** Dense, so that what never arrived is never taken for it. */
export const mark = 0xa5b7c9db
export const paddingByte = 0xdb
/** As many bytes at the end of a group are padding at least: more than rot turns into zeros. */
export const paddingBytesMin = 8
/** Of one group with everything around it. */
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

/** @param bodyBytes records and mark @returns length of a group on disk, whole sectors */
export function groupBytes(bodyBytes: number): number {
  return sectorsUp(groupHeaderBytes + bodyBytes + paddingBytesMin)
}

/** Twelve digits last longer than any disk and sort as numbers do. */
export function segmentName(number: number): string {
  return `${String(number).padStart(12, '0')}.log`
}

export function unfinishedName(number: number): string {
  return `${String(number).padStart(12, '0')}.new`
}

/** @returns null when the name is no segment's */
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

/** @returns null when it is 2^53 or more, which nobody wrote */
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

/** Sectors that one changed byte may turn to zeros, or that are. @param bytes whole sectors */
export function countSparseSectors(bytes: Uint8Array): number {
  return countSectors(bytes, 1)
}

/** Sectors with at most `most` bytes that are not zero. */
function countSectors(bytes: Uint8Array, most: number): number {
  let count = 0
  for (let start = 0; start < bytes.length; start += sectorBytes) {
    let found = 0
    for (let at = start; at < start + sectorBytes && found <= most; at++) if (bytes[at] !== 0) found++
    if (found <= most) count++
  }
  return count
}
