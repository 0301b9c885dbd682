import type { LogDisk } from '../ports.ts'
import { checksum } from './checksum.ts'
import { formatVersion, getU64, logIdBytes, putU64 } from './layout.ts'

/*
 * The end mark records where a log ended when it was closed. An interrupted write and a lost end of
 * the log look alike, so without the mark a disk that lost the last writes of a stopped member
 * would go unnoticed. The mark is a lower bound: it stays valid while the log grows, and a log
 * without an end mark is readable.
 *
 *   file `end`
 *   magic 8 | format u32 | checksum u32 | log id 8 | segment number u32 | chain u32 | sequence u64
 */

export type EndMark = {
  readonly logId: Uint8Array
  readonly segment: number
  /** Checksum of the last record. */
  readonly chain: number
  /** Sequence of the next group. */
  readonly sequence: number
}

export const endMarkName = 'end'
const unfinishedEndMarkName = 'end.new'
const magic = new Uint8Array([0x4f, 0x52, 0x43, 0x48, 0x45, 0x4e, 0x44, 0x0a])
const markLength = 40

/**
 * Replaces the end mark atomically and durably.
 *
 * @throws LogError
 */
export function writeEndMark(disk: LogDisk, mark: EndMark): void {
  // A process that crashed here left such a file.
  if (disk.list().includes(unfinishedEndMarkName)) disk.remove(unfinishedEndMarkName)
  const file = disk.open(unfinishedEndMarkName, 'create')
  try {
    file.write(0, encode(mark))
    file.sync()
  } finally {
    file.close()
  }
  disk.rename(unfinishedEndMarkName, endMarkName)
  disk.syncDirectory()
}

/**
 * @returns null without an end mark, `damaged` when it is unreadable
 * @throws LogError
 */
export function readEndMark(disk: LogDisk): EndMark | null | 'damaged' {
  if (!disk.list().includes(endMarkName)) return null
  const file = disk.open(endMarkName, 'existing')
  try {
    return decode(file.read(0, markLength + 1)) ?? 'damaged'
  } finally {
    file.close()
  }
}

function encode({ logId, segment, chain, sequence }: EndMark): Uint8Array {
  const bytes = new Uint8Array(markLength)
  const view = new DataView(bytes.buffer)
  bytes.set(magic, 0)
  view.setUint32(8, formatVersion, true)
  bytes.set(logId, 16)
  view.setUint32(24, segment, true)
  view.setUint32(28, chain, true)
  putU64(view, 32, sequence)
  view.setUint32(12, ownChecksum(bytes), true)
  return bytes
}

function decode(bytes: Uint8Array): EndMark | null {
  if (bytes.length !== markLength || magic.some((byte, at) => bytes[at] !== byte)) return null
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const sequence = getU64(view, 32)
  if (view.getUint32(12, true) !== ownChecksum(bytes) || sequence === null) return null
  return {
    logId: bytes.slice(16, 16 + logIdBytes),
    segment: view.getUint32(24, true),
    chain: view.getUint32(28, true),
    sequence,
  }
}

function ownChecksum(bytes: Uint8Array): number {
  return checksum(bytes.subarray(16), checksum(bytes.subarray(0, 12), 0))
}
