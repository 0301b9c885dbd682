import { noSnapshot } from '../core/types.ts'
import type { LogDisk } from '../ports.ts'
import { readEndMark } from './end-mark.ts'
import type { EndMark } from './end-mark.ts'
import { LogError } from './errors.ts'
import { decodeGroup, decodeGroupHeader } from './group-decoder.ts'
import { groupBytes, groupHeaderBytes, preambleBytes, sectorBytes, segmentName } from './layout.ts'
import { checkPreamble, SegmentWindow } from './segment.ts'
import type { LogOwner } from './segment.ts'
import { IntactRun } from './intact-run.ts'
import type { IntactGroup } from './intact-run.ts'

/**
 * The intact parts of a damaged log: everything before the first damage, and everything after the
 * last.
 */
export type Salvage = {
  readonly logId: Uint8Array
  /** null when the beginning of the log is damaged. */
  readonly before: IntactRun | null
  /** It reaches the end of the log, so no later write is missing. */
  readonly after: IntactRun
}

const windowBytes = 1024 * 1024

/**
 * Reads a log that recovery refused. It changes nothing on disk.
 *
 * @param run numbers of the segments, consecutive, ascending
 * @returns null when it is not known what is missing: nothing after the damage is intact, the
 *   newest writes may be lost, or the intact parts contradict each other
 * @throws LogError `io`; `foreign`, `newer-format`, `older-format` of a segment
 */
export function salvage(disk: LogDisk, owner: LogOwner, run: readonly number[]): Salvage | null {
  const end = readEndMark(disk)
  if (end === 'damaged') return null
  const scan = new SalvageScan(disk, owner, end)
  for (const [at, number] of run.entries()) {
    const sealed = scan.segment(number)
    // The log continues in a segment that is missing, and everything in it is lost.
    if (at === run.length - 1 && sealed) return null
  }
  return scan.result(run[0] === 1)
}

class SalvageScan {
  readonly #disk: LogDisk
  readonly #owner: LogOwner
  readonly #end: EndMark | null
  #logId: Uint8Array | null
  #identified = false
  #before: IntactRun | null = null
  /** The unbroken run up to the current position; null: the position is damaged. */
  #current: IntactRun | null = null
  #broken = false
  /** Highest sequence of an intact group outside of the current run. */
  #sequenceElsewhere = 0
  #contradiction = false

  constructor(disk: LogDisk, owner: LogOwner, end: EndMark | null) {
    this.#disk = disk
    this.#owner = owner
    this.#end = end
    this.#logId = end?.logId ?? null
  }

  /** Reads one segment. Returns whether it ends with an intact seal. */
  segment(number: number): boolean {
    const name = segmentName(number)
    const file = this.#disk.open(name, 'existing')
    try {
      const window = new SegmentWindow(file, windowBytes)
      this.#preamble(name, number, window)
      return this.#groups(number, window)
    } finally {
      file.close()
    }
  }

  /**
   * @param fromTheStart whether the first segment of the log was read, whose base is `noSnapshot`
   */
  result(fromTheStart: boolean): Salvage | null {
    const after = this.#current
    if (after === null || this.#logId === null || this.#contradiction) return null
    if (!this.#broken || !this.#identified) return null
    // Corruption may put a copy of an old group in the place of the newest one, which is lost then.
    if (after.sequence - 1 <= this.#sequenceElsewhere) return null
    const before = this.#before
    if (before !== null && after.firstSequence < before.sequence) return null
    const end = this.#end
    if (end !== null && !reaches(after, end)) return null
    if (fromTheStart && before === null && after.base === null) after.base = noSnapshot
    return { logId: this.#logId, before, after }
  }

  #preamble(name: string, number: number, window: SegmentWindow): void {
    const bytes = window.bytes(0, Math.min(preambleBytes, window.size))
    try {
      const logId = checkPreamble(name, { number, owner: this.#owner }, bytes)
      this.#logId ??= logId.slice()
      if (logId.some((byte, at) => byte !== this.#logId?.[at])) this.#contradiction = true
      this.#identified = true
    } catch (cause) {
      if (!(cause instanceof LogError) || cause.code !== 'damaged') throw cause
      this.#break()
      if (this.#end !== null) this.#identified = true
    }
  }

  #groups(number: number, window: SegmentWindow): boolean {
    const last = window.lastNonZero(preambleBytes)
    const used = last === null ? preambleBytes : last + 1
    if (used === preambleBytes) this.#break()
    for (let at = preambleBytes; at < used;) {
      const { group, length } = this.#groupAt(number, window, at)
      at += length
      if (group === null) this.#break()
      else {
        this.#intact(group)
        if (group.records.some(({ record }) => record.kind === 'seal')) {
          if (at < used) this.#break()
          return true
        }
      }
    }
    return false
  }

  /** Returns the group, null if it is damaged; and the distance to the next position to examine. */
  #groupAt(
    number: number,
    window: SegmentWindow,
    at: number,
  ): { readonly group: IntactGroup | null; readonly length: number } {
    const header = decodeGroupHeader(window.bytes(at, groupHeaderBytes), 0)
    if (header === null) return { group: null, length: sectorBytes }
    const belongs = header.segment === number && header.logId.every((byte, i) => byte === this.#logId?.[i])
    if (!belongs) return { group: null, length: sectorBytes }
    const length = groupBytes(header.bodyBytes)
    const records = decodeGroup(window.bytes(at, length), header)
    if (records === null) return { group: null, length }
    const { seed, sequence } = header
    const isHead = at === preambleBytes
    return { group: { segment: number, offset: at, isHead, seed, sequence, records }, length }
  }

  #intact(group: IntactGroup): void {
    if (this.#current !== null && !this.#current.follows(group)) this.#break()
    if (this.#current === null) {
      this.#current = new IntactRun(group)
      if (!this.#broken && group.isHead) this.#before = this.#current
    }
    if (this.#current.take(group) !== null) this.#contradiction = true
  }

  #break(): void {
    this.#broken = true
    if (this.#current === null) return
    this.#sequenceElsewhere = Math.max(this.#sequenceElsewhere, this.#current.sequence - 1)
    this.#current = null
  }
}

/** Returns whether no write is missing that was durable when the log was closed. */
function reaches({ sequence, chain }: IntactRun, end: EndMark): boolean {
  return sequence > end.sequence || (sequence === end.sequence && chain === end.chain)
}
