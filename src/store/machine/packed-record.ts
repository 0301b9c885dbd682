import { SharedTexts } from './shared-texts.ts'
import type { SharedText } from './shared-texts.ts'

/**
 * The record of a version as memory holds it: without the texts that it has in common with other
 * records. Those are in `managedFields`, between the times of its entries:
 *
 *   …,"managedFields":[{"manager":"m",…,"time":"2026-01-02T03:04:05Z","fieldsType":…}]},"spec":…
 *     └───────────── text ────────────────────┘└────── own ─────────┘└──── text ───┘
 *
 * It does not matter where a record is cut: `slice` returns the identical bytes. Only this class
 * sees the bytes without the texts; log, database, snapshots and readers have them all.
 */
export class PackedRecord {
  readonly #own: Buffer
  /** The texts. null: the record shares no text. */
  readonly #texts: readonly SharedText[] | null
  /** The position of each text in the own bytes, ascending. */
  readonly #offsets: readonly number[] | null
  /** Bytes of the whole record. */
  readonly byteLength: number

  /** @param from where the search for texts begins */
  constructor(record: Buffer, from: number) {
    const cuts = cutsOf(record, from)
    this.#own = cuts.length === 0 ? record : withoutTexts(record, cuts)
    // Lists without spare capacity: there may be two for each object.
    this.#texts = cuts.length === 0 ? null : cuts.map(({ shared }) => shared)
    this.#offsets = cuts.length === 0 ? null : cuts.map(({ offset }) => offset)
    this.byteLength = record.byteLength
  }

  /** Bytes that no other record shares. */
  get ownBytes(): number {
    return this.#own.byteLength
  }

  /**
   * Returns the bytes from an offset on: a view if the record shares no text, else a copy.
   *
   * @param from before the texts
   */
  slice(from: number): Uint8Array {
    const own = this.#own
    if (this.#texts === null) return own.subarray(from)
    const whole = Buffer.allocUnsafe(this.byteLength - from)
    let at = 0
    for (const part of this.parts(from)) {
      whole.set(part, at)
      at += part.byteLength
    }
    return whole
  }

  /** Returns the bytes from an offset on, in parts, without copying. */
  parts(from: number): readonly Uint8Array[] {
    const own = this.#own
    const parts: Uint8Array[] = []
    let ownAt = from
    this.#texts?.forEach((shared, at) => {
      const offset = this.#offsets?.[at] ?? ownAt
      parts.push(own.subarray(ownAt, offset), shared.bytes)
      ownAt = offset
    })
    parts.push(own.subarray(ownAt))
    return parts
  }

  /** Returns the part of the record before all texts, without copying. */
  head(bytes: number): Uint8Array {
    return this.#own.subarray(0, bytes)
  }
}

type Cut = {
  /** Position of the text in the own bytes. */
  readonly offset: number
  readonly shared: SharedText
}

const texts = new SharedTexts({ bytesMin: 64, bytesMax: 16 * 1024, rememberedBytesMax: 2 * 1024 * 1024 })

function cutsOf(record: Buffer, from: number): readonly Cut[] {
  const listAt = record.indexOf(listBegin, from)
  const last = listAt < 0 ? -1 : record.indexOf(listEnd, listAt)
  if (last < 0) return []
  const list = record.toString('latin1', listAt, last + listEnd.length)
  const cuts: Cut[] = []
  let shared = 0
  for (const [start, end] of rangesOf(list)) {
    const found = texts.find(list.slice(start, end))
    if (found === null) continue
    cuts.push({ offset: listAt + start - shared, shared: found })
    shared += end - start
  }
  return cuts
}

function withoutTexts(record: Buffer, cuts: readonly Cut[]): Buffer {
  const bytes = cuts.reduce((sum, { shared }) => sum + shared.bytes.byteLength, 0)
  // Not pooled: a version may live for years and would keep its neighbours alive.
  const own = Buffer.allocUnsafeSlow(record.byteLength - bytes)
  let [at, recordAt] = [0, 0]
  for (const { offset, shared } of cuts) {
    const start = recordAt + offset - at
    at += record.copy(own, at, recordAt, start)
    recordAt = start + shared.bytes.byteLength
  }
  record.copy(own, at, recordAt)
  return own
}

type Range = readonly [start: number, end: number]

/** Returns the ranges of the list whose texts other records may share. */
function rangesOf(list: string): readonly Range[] {
  const ranges: Range[] = []
  let at = 0
  while (ranges.length < rangesMax - 1) {
    const time = list.indexOf(timeBegin, at)
    if (time < 0 || time + timeBegin.length + timeLength >= list.length) break
    ranges.push([at, time + timeBegin.length])
    at = time + timeBegin.length + timeLength
  }
  ranges.push([at, list.length])
  return ranges
}

/** Ranges of one record. More: the rest is one text. */
const rangesMax = 16
const listBegin = Buffer.from('"managedFields":[')
const listEnd = Buffer.from('}]}')
const timeBegin = '"time":"'
const timeLength = '2026-01-02T03:04:05Z'.length
