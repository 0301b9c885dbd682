import type { LogFile } from '../ports.ts'
import { LogError } from './errors.ts'
import { decodeGroupHeader, decodeRecord } from './group-decoder.ts'
import { groupBytes, groupHeaderBytes, mark, markBytes, paddingByte, preambleBytes } from './layout.ts'
import { recordHeaderBytes } from './layout.ts'

/** One file of an open log, up to the end of the last write. */
export type ScrubbedSegment = {
  readonly number: number
  readonly name: string
  readonly file: LogFile
  readonly end: number
  /** The expected first bytes of the file. */
  readonly preamble: Uint8Array
}

/** The position of a scrub. A group is read in parts, so that no turn takes long. */
export type ScrubPlace = {
  readonly segment: number
  readonly offset: number
  /**
   * The group whose records are being read; null: at the beginning of a group or of the preamble.
   */
  readonly group: { readonly recordsEnd: number; readonly end: number } | null
  /** Checksum of the previous record; null: not known. */
  readonly chain: number | null
}

export type ScrubTurn = {
  /** null: the pass is complete. */
  readonly next: ScrubPlace | null
  /** Number of bytes read. */
  readonly bytes: number
  /**
   * The damage that was found, in one line; null: none. After damage the rest of the file is
   * skipped, because the next group boundary is not known.
   */
  readonly finding: string | null
}

export const scrubStart: ScrubPlace = Object.freeze({ segment: 0, offset: 0, group: null, chain: null })

/**
 * Verifies the checksums of about `bytesMax` bytes of the files.
 *
 * @param segments ascending; those before `place` may have been removed since
 */
export function scrubTurn(
  segments: readonly ScrubbedSegment[],
  place: ScrubPlace,
  bytesMax: number,
): ScrubTurn {
  let next: ScrubPlace | null = place
  let bytes = 0
  while (next !== null && bytes < bytesMax) {
    const wanted: number = next.segment
    const segment = segments.find(({ number }) => number >= wanted)
    if (segment === undefined) return { next: null, bytes, finding: null }
    const here: ScrubPlace = segment.number === wanted ? next : { ...scrubStart, segment: segment.number }
    const step = scrubStep(segment, here, bytesMax)
    bytes += step.bytes
    next = step.next
    if (step.finding !== null) return { ...step, bytes }
  }
  return { next, bytes, finding: null }
}

function scrubStep(segment: ScrubbedSegment, place: ScrubPlace, bytesMax: number): ScrubTurn {
  const { offset, group } = place
  try {
    if (offset === 0) return preamble(segment, place)
    if (offset >= segment.end) return moved({ ...scrubStart, segment: segment.number + 1 }, 0)
    return group === null ? header(segment, place) : records(segment, place, group, bytesMax)
  } catch (cause) {
    if (cause instanceof LogError && cause.code === 'io') return damagedAt(segment, offset, cause.message)
    throw cause
  }
}

function preamble(segment: ScrubbedSegment, place: ScrubPlace): ScrubTurn {
  const bytes = segment.file.read(0, preambleBytes)
  if (!sameBytes(bytes, segment.preamble))
    return damagedAt(segment, 0, 'the preamble is not as it was written')
  return moved({ ...place, offset: preambleBytes }, bytes.length)
}

function header(segment: ScrubbedSegment, place: ScrubPlace): ScrubTurn {
  const { offset, chain } = place
  const found = decodeGroupHeader(segment.file.read(offset, groupHeaderBytes), 0)
  if (found === null || found.segment !== segment.number) {
    return damagedAt(segment, offset, 'the header of a write is not as it was written')
  }
  if (chain !== null && found.seed !== chain) {
    return damagedAt(segment, offset, 'a write that does not follow the one before it')
  }
  const recordsEnd = offset + groupHeaderBytes + found.bodyBytes - markBytes
  const group = { recordsEnd, end: offset + groupBytes(found.bodyBytes) }
  return moved({ ...place, offset: offset + groupHeaderBytes, group, chain: found.seed }, groupHeaderBytes)
}

function records(
  segment: ScrubbedSegment,
  place: ScrubPlace,
  group: NonNullable<ScrubPlace['group']>,
  bytesMax: number,
): ScrubTurn {
  const { offset } = place
  const broken = (): ScrubTurn => damagedAt(segment, offset, 'a record is not as it was written')
  if (offset >= group.recordsEnd) return groupEnd(segment, place, group)
  const wanted = Math.max(bytesMax, recordHeaderBytes)
  let bytes = segment.file.read(offset, Math.min(wanted, group.recordsEnd - offset))
  const length = recordBytes(bytes)
  if (length === null || offset + length > group.recordsEnd) return broken()
  if (length > bytes.length) bytes = segment.file.read(offset, length)
  let [at, chain] = [0, place.chain ?? 0]
  for (let next: number | null = length; next !== null && at + next <= bytes.length;) {
    const placed = decodeRecord(bytes, at, at + next, chain)
    if (placed === null) return damagedAt(segment, offset + at, 'a record is not as it was written')
    at += next
    chain = placed.chain
    next = recordBytes(bytes.subarray(at))
  }
  return moved({ ...place, offset: offset + at, chain }, bytes.length)
}

/** Checks the mark after the records, and the padding. */
function groupEnd(
  segment: ScrubbedSegment,
  place: ScrubPlace,
  { recordsEnd, end }: NonNullable<ScrubPlace['group']>,
): ScrubTurn {
  const bytes = segment.file.read(recordsEnd, end - recordsEnd)
  const isWhole =
    bytes.length === end - recordsEnd &&
    new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true) === mark &&
    bytes.subarray(markBytes).every((byte) => byte === paddingByte)
  if (!isWhole) return damagedAt(segment, recordsEnd, 'the end of a write is not as it was written')
  return moved({ ...place, offset: end, group: null }, bytes.length)
}

/** Returns the length of the record at the start of `bytes`; null: its header is incomplete. */
function recordBytes(bytes: Uint8Array): number | null {
  if (bytes.length < recordHeaderBytes) return null
  return recordHeaderBytes + new DataView(bytes.buffer, bytes.byteOffset).getUint32(4, true)
}

function moved(next: ScrubPlace, bytes: number): ScrubTurn {
  return { next, bytes, finding: null }
}

function damagedAt({ name, number }: ScrubbedSegment, at: number, what: string): ScrubTurn {
  const next = { ...scrubStart, segment: number + 1 }
  return { next, bytes: 0, finding: `log ${name} is damaged at byte ${at}: ${what}` }
}

function sameBytes(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, at) => byte === other[at])
}
