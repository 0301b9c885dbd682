import type { NodeId } from '../core/types.ts'
import type { LogDisk, LogFile } from '../ports.ts'
import { checksum } from './checksum.ts'
import { damaged, LogError } from './errors.ts'
import {
  formatVersion,
  getU64,
  logIdBytes,
  preambleBytes,
  putU64,
  sectorBytes,
  segmentMagic,
  segmentName,
  unfinishedName,
} from './layout.ts'

/** One open file of the log. */
export type Segment = {
  readonly number: number
  readonly name: string
  readonly file: LogFile
  /** Offset in bytes of the end of the last group, a multiple of the sector size. */
  end: number
  /** Length of the file in bytes; everything from `end` on is zero. */
  size: number
  /** Offset in bytes of the start of the last group. */
  lastGroup: number
}

/** The member that the log belongs to. null: not checked. */
export type LogOwner = NodeId | null

export type NewSegment = {
  readonly number: number
  readonly logId: Uint8Array
  readonly owner: LogOwner
  /** The first group. */
  readonly head: Uint8Array
}

/**
 * Writes preamble and head under a temporary name, makes them durable and then renames the file, so
 * that a segment with its final name is complete.
 */
export function createSegment(disk: LogDisk, { number, logId, owner, head }: NewSegment): Segment {
  const name = segmentName(number)
  const file = disk.open(unfinishedName(number), 'create')
  const bytes = new Uint8Array(preambleBytes + head.length)
  bytes.set(encodePreamble(number, logId, owner), 0)
  bytes.set(head, preambleBytes)
  file.write(0, bytes)
  file.sync()
  disk.rename(unfinishedName(number), name)
  disk.syncDirectory()
  return { number, name, file, end: bytes.length, size: bytes.length, lastGroup: preambleBytes }
}

export function encodePreamble(number: number, logId: Uint8Array, owner: LogOwner): Uint8Array {
  const bytes = new Uint8Array(preambleBytes)
  const view = new DataView(bytes.buffer)
  bytes.set(segmentMagic, 0)
  view.setUint32(8, formatVersion, true)
  bytes.set(logId, 16)
  view.setUint32(24, number, true)
  putU64(view, 28, owner ?? 0)
  view.setUint32(12, preambleChecksum(bytes), true)
  return bytes
}

/**
 * Checks the preamble of a segment.
 *
 * @param name of the file, for error messages
 * @returns the log's id
 * @throws LogError `foreign`, `newer-format`, `older-format`, `damaged`
 */
export function checkPreamble(
  name: string,
  expected: { readonly number: number; readonly owner: LogOwner },
  bytes: Uint8Array,
): Uint8Array {
  if (bytes.length < preambleBytes) throw damaged(name, bytes.length, 'the file ends within its preamble')
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (view.getUint32(12, true) !== preambleChecksum(bytes)) {
    if (hasMostOfMagic(bytes)) throw damaged(name, 0, 'the preamble is not as it was written')
    throw new LogError('foreign', `log ${name} is not a log segment; choose another --data-dir or remove it`)
  }
  // The preamble has the same layout in every format, so the format number can be read.
  checkFormat(name, view.getUint32(8, true))
  const number = view.getUint32(24, true)
  if (number !== expected.number) {
    throw new LogError('foreign', `log ${name} is segment ${number} under another name; rename it back`)
  }
  const owner = getU64(view, 28)
  if (expected.owner !== null && owner !== expected.owner) {
    throw new LogError(
      'foreign',
      `log ${name} is that of member ${String(owner)}, this is member ${expected.owner}: ` +
        'give each member its own data directory',
    )
  }
  return bytes.slice(16, 16 + logIdBytes)
}

function checkFormat(name: string, version: number): void {
  if (version === formatVersion) return
  const [code, remedy] =
    version > formatVersion
      ? (['newer-format', 'start the newer program'] as const)
      : (['older-format', 'start the program that wrote it, or begin with another --data-dir'] as const)
  throw new LogError(
    code,
    `log ${name} has format ${version}, this program reads ${formatVersion}: ${remedy}`,
  )
}

function preambleChecksum(bytes: Uint8Array): number {
  return checksum(bytes.subarray(16, sectorBytes), checksum(bytes.subarray(0, 12), 0))
}

/**
 * Returns whether at least half of the magic matches: then the file is a corrupt segment, not a
 * foreign file.
 */
function hasMostOfMagic(bytes: Uint8Array): boolean {
  return segmentMagic.filter((byte, at) => bytes[at] === byte).length >= segmentMagic.length / 2
}

const zeros = new Uint8Array(1 << 16)

/**
 * Returns the place of the last byte that is not zero; null: all bytes are zero. It compares
 * blocks, not bytes: most of the newest segment is zero.
 */
function lastNonZeroIn(bytes: Uint8Array): number | null {
  for (let end = bytes.length; end > 0; end -= zeros.length) {
    const start = Math.max(0, end - zeros.length)
    const block = bytes.subarray(start, end)
    if (Buffer.compare(block, zeros.subarray(0, block.length)) === 0) continue
    return start + block.findLastIndex((byte) => byte !== 0)
  }
  return null
}

/**
 * Reads a segment from front to back through one buffer. Past the end of the file it returns zeros.
 */
export class SegmentWindow {
  readonly #file: LogFile
  readonly #windowBytes: number
  readonly size: number
  #bytes: Uint8Array = new Uint8Array(0)
  #start = 0

  constructor(file: LogFile, windowBytes: number) {
    this.#file = file
    this.#windowBytes = windowBytes
    this.size = file.size()
  }

  /** Returns a view, valid until the next call. */
  bytes(at: number, length: number): Uint8Array {
    if (at < this.#start || at + length > this.#start + this.#bytes.length) {
      const wanted = Math.max(length, this.#windowBytes)
      const found = at >= this.size ? new Uint8Array(0) : this.#file.read(at, wanted)
      this.#start = at
      if (found.length >= length) this.#bytes = found
      else {
        this.#bytes = new Uint8Array(length)
        this.#bytes.set(found)
      }
    }
    return this.#bytes.subarray(at - this.#start, at - this.#start + length)
  }

  /** Returns the offset of the last byte from `at` on that is not zero; null: all are zero. */
  lastNonZero(at: number): number | null {
    let last: number | null = null
    for (let start = at; start < this.size; start += this.#windowBytes) {
      const bytes = this.bytes(start, Math.min(this.#windowBytes, this.size - start))
      const place = lastNonZeroIn(bytes)
      if (place !== null) last = start + place
    }
    return last
  }
}
