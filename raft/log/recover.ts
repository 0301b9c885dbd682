import { assert, present } from '../../base/assert.ts'
import { logIndex } from '../core/types.ts'
import type { LogDisk } from '../ports.ts'
import { sameBase } from './configuration-codec.ts'
import { endMarkName, readEndMark } from './end-mark.ts'
import type { EndMark } from './end-mark.ts'
import { EntryIndex } from './entry-index.ts'
import { damaged, LogError, missingSegment, replaceMember } from './errors.ts'
import { decodeGroupHeader } from './group-decoder.ts'
import type { PlacedRecord } from './group-decoder.ts'
import {
  groupBytes,
  groupHeaderBytes,
  isUnfinished,
  preambleBytes,
  segmentName,
  segmentNumber,
} from './layout.ts'
import { LogShape } from './log-shape.ts'
import { GroupScanner } from './scan.ts'
import type { ScannedGroup } from './scan.ts'
import { checkPreamble, SegmentWindow } from './segment.ts'
import type { LogOwner, Segment } from './segment.ts'

/** The recovered files of a log, and the place of the next group. */
export type RecoveredFiles = {
  readonly logId: Uint8Array
  /** Ascending and consecutive; the last one is not sealed. */
  readonly segments: Segment[]
  readonly shape: LogShape
  readonly index: EntryIndex
  readonly chain: number
  /** Sequence of the next group. */
  readonly sequence: number
  readonly repaired: string | null
}

const windowBytes = 1024 * 1024

/**
 * Reads the whole log. An interrupted write, an unfinished segment and a damaged end mark are
 * removed; any other difference from what was written is refused.
 *
 * @param owner the expected owner of the log
 * @returns null without a log
 * @throws LogError
 */
export function recover(disk: LogDisk, owner: LogOwner): RecoveredFiles | null {
  const names = disk.list()
  const numbers = names
    .map(segmentNumber)
    .filter((number) => number !== null)
    .sort((a, b) => a - b)
  const end = readEndMark(disk)
  if (numbers.length === 0 && end !== null) {
    throw missingSegment(segmentName(end === 'damaged' ? 1 : end.segment))
  }
  const files = numbers.length === 0 ? null : new Recovery(disk, owner, lastRun(numbers)).run(numbers, end)
  for (const name of names.filter(isUnfinished)) disk.remove(name)
  return files
}

/**
 * Returns the last consecutive numbers. Compaction removes the oldest segments first, but a crash
 * may bring some of them back: segments before a gap had been removed.
 */
export function lastRun(numbers: readonly number[]): readonly number[] {
  let start = numbers.length - 1
  while (start > 0 && numbers[start - 1] === (numbers[start] as number) - 1) start--
  return numbers.slice(start)
}

class Recovery {
  readonly #disk: LogDisk
  readonly #owner: LogOwner
  readonly #run: readonly number[]
  readonly #segments: Segment[] = []
  /** Repairs, executed once everything was checked: a refused log is not modified. */
  readonly #repairs: { readonly report: string | null; readonly action: () => void }[] = []
  #shape: LogShape | null = null
  #index = new EntryIndex(logIndex(1))
  #logId: Uint8Array | null = null
  #chain: number | null = null
  #sequence: number | null = null

  constructor(disk: LogDisk, owner: LogOwner, run: readonly number[]) {
    this.#disk = disk
    this.#owner = owner
    this.#run = run
  }

  run(all: readonly number[], end: EndMark | null | 'damaged'): RecoveredFiles {
    try {
      for (const [at, number] of this.#run.entries()) {
        const sealed = this.#segment(number)
        const next = this.#run[at + 1]
        if (!sealed && next !== undefined) this.#removeUnfinished(number, next, this.#run[at + 2])
        if (!sealed) break
        if (next === undefined) throw missingSegment(segmentName(number + 1))
      }
      const shape = present(this.#shape, 'a segment was read')
      if (this.#index.first > shape.base.index + 1) {
        throw missingSegment(segmentName((this.#run[0] as number) - 1))
      }
      if (end === 'damaged') {
        const report = `file ${endMarkName} of the log is damaged; the log was read without it`
        this.#repairs.push({ report, action: () => this.#disk.remove(endMarkName) })
      } else if (end !== null) this.#checkEnd(end)
      for (const { action } of this.#repairs) action()
      this.#makeDurable()
      for (const number of all.filter((n) => !this.#run.includes(n))) this.#disk.remove(segmentName(number))
      this.#disk.syncDirectory()
      return {
        logId: present(this.#logId, 'a preamble was read'),
        segments: this.#segments,
        shape,
        index: this.#index,
        chain: present(this.#chain, 'a group was read'),
        sequence: present(this.#sequence, 'a group was read'),
        repaired: this.#repairs.map(({ report }) => report).find((report) => report !== null) ?? null,
      }
    } catch (cause) {
      for (const segment of this.#segments) segment.file.close()
      throw cause
    }
  }

  /** Checks that no write is missing that was durable when the log was closed. */
  #checkEnd(end: EndMark): void {
    if (!sameBytes(end.logId, present(this.#logId, 'a preamble was read'))) {
      throw new LogError('foreign', `file ${endMarkName} of the log belongs to another log; ${replaceMember}`)
    }
    const sequence = present(this.#sequence, 'a group was read')
    const same = sequence > end.sequence || (sequence === end.sequence && this.#chain === end.chain)
    if (same) return
    const last = present(this.#segments.at(-1), 'a segment was read')
    throw damaged(last.name, last.end, 'writes that were present when the log was closed are missing')
  }

  /** Reads one segment. Returns whether it is sealed. */
  #segment(number: number): boolean {
    const name = segmentName(number)
    const file = this.#disk.open(name, 'existing')
    const segment: Segment = { number, name, file, end: preambleBytes, size: 0, lastGroup: preambleBytes }
    this.#segments.push(segment)
    const window = new SegmentWindow(file, windowBytes)
    const logId = this.#identify(name, number, window)
    this.#logId = logId
    const scanner = new GroupScanner({
      name,
      number,
      logId,
      window,
      chain: this.#chain,
      sequence: this.#sequence,
    })
    const sealed = this.#groups(segment, scanner)
    if (segment.end === preambleBytes) throw damaged(name, preambleBytes, 'its head is not as it was written')
    this.#chain = scanner.chain
    this.#sequence = scanner.sequence
    segment.size = file.size()
    return sealed
  }

  /** Checks the preamble. Returns the log ID, which every segment contains. */
  #identify(name: string, number: number, window: SegmentWindow): Uint8Array {
    const logId = checkPreamble(
      name,
      { number, owner: this.#owner },
      window.bytes(0, Math.min(preambleBytes, window.size)),
    )
    if (this.#logId !== null && !sameBytes(this.#logId, logId)) {
      throw new LogError('foreign', `log ${name} belongs to another log; remove this file`)
    }
    return logId
  }

  #groups(segment: Segment, scanner: GroupScanner): boolean {
    const { name, file, number } = segment
    for (;;) {
      const found = scanner.next(segment.end)
      if (found.kind === 'end') return false
      if (found.kind === 'interrupted' && segment.end > preambleBytes) {
        this.#repairs.push({
          report: `removed an interrupted write of ${found.bytes} bytes at byte ${segment.end} of log ${name}`,
          action: () => {
            file.truncate(segment.end)
            file.sync()
            segment.size = segment.end
          },
        })
        return false
      }
      if (found.kind === 'interrupted') throw damaged(name, segment.end, 'its head is not as it was written')
      const isHead = segment.end === preambleBytes
      if (isHead && !isWholeHead(found))
        throw damaged(name, found.offset, 'another write is in the place of its head')
      for (const placed of found.records) {
        if (placed.record.kind === 'seal') {
          if (placed.record.next !== number + 1)
            throw damaged(name, found.offset, 'its seal names another segment')
          scanner.forgetSeal(found)
        } else if (isHead) this.#head(name, found, placed)
        else this.#record(segment, found, placed)
      }
      segment.lastGroup = found.offset
      segment.end = found.offset + found.length
      if (found.records.some((placed) => placed.record.kind === 'seal')) return true
    }
  }

  /**
   * Reads a record of a head. The first head contains the base of the log; later heads must agree
   * with what was read before them.
   */
  #head(name: string, group: ScannedGroup, { record }: PlacedRecord): void {
    const shape = this.#shape
    const first = this.#segments.length === 1
    const disagrees = (): LogError =>
      damaged(name, group.offset, 'its head does not continue the segment before it')
    switch (record.kind) {
      case 'base':
        if (first) this.#shape = new LogShape(record.meta)
        else if (shape === null || !sameBase(record.meta, shape.base)) throw disagrees()
        return
      case 'tail':
        if (shape === null) throw disagrees()
        if (first) {
          shape.skipTo(record)
          this.#index = new EntryIndex(logIndex(record.index + 1))
        } else if (record.index !== shape.lastIndex || record.term !== shape.lastTerm) throw disagrees()
        return
      case 'hard-state':
        if (shape === null) throw disagrees()
        shape.setHardState(record.hardState)
        return
      default:
        throw damaged(name, group.offset, `its head holds a ${record.kind}`)
    }
  }

  #record(segment: Segment, group: ScannedGroup, placed: PlacedRecord): void {
    const shape = present(this.#shape, 'a head comes first')
    const { record } = placed
    const wrong = (what: string): LogError => damaged(segment.name, group.offset + placed.offset, what)
    switch (record.kind) {
      case 'entry': {
        const { index } = record.entry
        if (index <= shape.base.index || index > shape.lastIndex + 1)
          throw wrong(`entry ${index} is out of order`)
        shape.put(record.entry)
        const { length, seed } = placed
        this.#index.put(index, {
          segment: segment.number,
          offset: group.offset + placed.offset,
          length,
          seed,
        })
        return
      }
      case 'hard-state':
        shape.setHardState(record.hardState)
        return
      case 'base':
        if (record.meta.index <= shape.base.index || record.meta.index > shape.lastIndex) {
          throw wrong('a base outside the log')
        }
        shape.compact(record.meta)
        this.#index.compact(logIndex(record.meta.index + 1))
        return
      case 'snapshot':
        shape.reset(record.meta)
        this.#index.reset(logIndex(record.meta.index + 1))
        return
      default:
        throw wrong(`a ${record.kind} outside a head`)
    }
  }

  /**
   * Removes an unfinished segment. A segment is created before its predecessor is sealed, and
   * nothing is appended to it before that. So a segment after an unsealed one is the newest and
   * contains only its head; it is created again when needed.
   */
  #removeUnfinished(unsealed: number, next: number, afterNext: number | undefined): void {
    const name = segmentName(next)
    const file = this.#disk.open(name, 'existing')
    try {
      const window = new SegmentWindow(file, windowBytes)
      this.#identify(name, next, window)
      const header = decodeGroupHeader(window.bytes(preambleBytes, groupHeaderBytes), 0)
      const end = preambleBytes + (header === null ? 0 : groupBytes(header.bodyBytes))
      if (header === null || afterNext !== undefined || window.lastNonZero(end) !== null) {
        const { end: at } = present(this.#segments.at(-1), 'the unsealed segment was read')
        throw damaged(segmentName(unsealed), at, `it ends before the place where ${name} begins`)
      }
    } finally {
      file.close()
    }
    this.#repairs.push({ report: null, action: () => this.#disk.remove(name) })
  }

  /**
   * Makes everything that was read durable. A write whose sync was interrupted, or whose sync
   * failed and left clean pages in the cache, can be read and may not be durable. Only the last
   * group of a segment can be such a write, so the last groups of the last two segments are written
   * again.
   */
  #makeDurable(): void {
    for (const segment of this.#segments.slice(-2)) {
      const { file, lastGroup, end } = segment
      const bytes = file.read(lastGroup, end - lastGroup)
      assert(bytes.length > 0, 'a segment has a group')
      file.write(lastGroup, bytes)
      file.sync()
    }
  }
}

const headKinds = ['base', 'tail', 'hard-state'] as const

/**
 * Returns whether the group is a complete head. The first group that is read does not continue
 * another one, so its content is checked.
 */
function isWholeHead({ records }: ScannedGroup): boolean {
  return (
    records.length === headKinds.length && records.every(({ record }, at) => record.kind === headKinds[at])
  )
}

function sameBytes(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, at) => byte === other[at])
}
