import { damaged } from './errors.ts'
import { decodeGroup, decodeGroupHeader } from './group-decoder.ts'
import type { GroupHeader, PlacedRecord } from './group-decoder.ts'
import { countSparseSectors, countZeroSectors, groupBytes, groupHeaderBytes } from './layout.ts'
import { isZero, paddingBytesMin, sectorBytes } from './layout.ts'
import type { SegmentWindow } from './segment.ts'

export type ScannedGroup = {
  readonly kind: 'group'
  /** Offset in the file; records are placed relative to it. */
  readonly offset: number
  /** Whole sectors. */
  readonly length: number
  /** The bytes of the records are valid until the next group is read. */
  readonly records: readonly PlacedRecord[]
}

export type ScanResult =
  | ScannedGroup
  | { readonly kind: 'end' }
  /** An interrupted write at the end of the segment, `bytes` long. It was never acknowledged. */
  | { readonly kind: 'interrupted'; readonly bytes: number }

/** Reads the groups of one segment, and distinguishes an interrupted write from damage. */
export class GroupScanner {
  readonly #name: string
  readonly #number: number
  readonly #logId: Uint8Array
  readonly #window: SegmentWindow
  #chain: number | null
  #sequence: number | null

  /**
   * @param options `chain` and `sequence` are null for the first group, which is not verified by a
   *   previous one
   */
  constructor(options: {
    readonly name: string
    readonly number: number
    readonly logId: Uint8Array
    readonly window: SegmentWindow
    readonly chain: number | null
    readonly sequence: number | null
  }) {
    this.#name = options.name
    this.#number = options.number
    this.#logId = options.logId
    this.#window = options.window
    this.#chain = options.chain
    this.#sequence = options.sequence
  }

  get chain(): number | null {
    return this.#chain
  }

  /** Sequence of the next group. */
  get sequence(): number | null {
    return this.#sequence
  }

  /**
   * Removes a seal from the chain: the head of the next segment was written before the seal, so it
   * continues the chain without it.
   */
  forgetSeal(group: ScannedGroup): void {
    this.#chain = group.records[0]?.seed ?? this.#chain
    this.#sequence = (this.#sequence ?? 1) - 1
  }

  /**
   * Reads the group at offset `at`.
   *
   * @throws LogError `damaged`
   */
  next(at: number): ScanResult {
    if (at >= this.#window.size) return { kind: 'end' }
    const header = decodeGroupHeader(this.#window.bytes(at, groupHeaderBytes), 0)
    if (header === null) return this.#withoutHeader(at)
    this.#checkPlace(at, header)
    const length = groupBytes(header.bodyBytes)
    const bytes = this.#window.bytes(at, length)
    const records = decodeGroup(bytes, header)
    if (records === null) return this.#broken(at, header, bytes)
    this.#chain = records.at(-1)?.chain ?? header.seed
    this.#sequence = header.sequence + 1
    return { kind: 'group', offset: at, length, records }
  }

  #checkPlace(at: number, header: GroupHeader): void {
    const sameLog = header.logId.every((byte, place) => byte === this.#logId[place])
    if (!sameLog || header.segment !== this.#number)
      throw damaged(this.#name, at, 'a write meant for another place')
    const follows =
      (this.#sequence === null || header.sequence === this.#sequence) &&
      (this.#chain === null || header.seed === this.#chain)
    if (!follows) throw damaged(this.#name, at, 'a write that does not follow the one before it')
  }

  /** The header is intact, so the length is known; the records are not intact. */
  #broken(at: number, header: GroupHeader, bytes: Uint8Array): ScanResult {
    const sectorsMissing = countZeroSectors(bytes) > header.sparseSectors
    const endMissing = isZero(bytes, bytes.length - paddingBytesMin, bytes.length)
    if (!sectorsMissing && !endMissing) throw damaged(this.#name, at, 'a record is not as it was written')
    if (this.#window.lastNonZero(at + bytes.length) !== null) {
      throw damaged(this.#name, at, 'sectors are missing and more was written after them')
    }
    return { kind: 'interrupted', bytes: bytes.length }
  }

  #withoutHeader(at: number): ScanResult {
    const last = this.#window.lastNonZero(at)
    if (last === null) return { kind: 'end' }
    const interrupted: ScanResult = { kind: 'interrupted', bytes: last + 1 - at }
    if (countSparseSectors(this.#window.bytes(at, sectorBytes)) === 1) {
      // Either nothing was written here, or the first sector of a group is missing. A later group
      // would prove that this one was durable.
      for (let sector = at + sectorBytes; sector <= last; sector += sectorBytes) {
        const later = decodeGroupHeader(this.#window.bytes(sector, groupHeaderBytes), 0)
        if (later !== null) throw damaged(this.#name, at, 'a sector is missing and more was written after it')
      }
      return interrupted
    }
    // The end of the header is missing, and so is everything after it.
    if (last + 1 - at < groupHeaderBytes) return interrupted
    throw damaged(this.#name, at, 'the header of a write is not as it was written')
  }
}
