import { SharedTexts } from './shared-texts.ts'
import type { SharedText } from './shared-texts.ts'

/** Where a record has a text that other records have, too. */
export type Cut = {
  /** Position of the text in the record without such texts. */
  readonly position: number
  readonly shared: SharedText
}

const texts = new SharedTexts({ bytesMin: 64, bytesMax: 16 * 1024, rememberedBytesMax: 2 * 1024 * 1024 })

/**
 * Finds the texts that a record has in common with other records. Those are in `managedFields`,
 * between the times of its entries:
 *
 *   …,"managedFields":[{"manager":"m",…,"time":"2026-01-02T03:04:05Z","fieldsType":…}]},"spec":…
 *     └───────────── text ────────────────────┘└────── own ─────────┘└──── text ───┘
 *
 * @param from where the search begins
 */
export function sharedTextsIn(record: Buffer, from: number): readonly Cut[] {
  const listAt = record.indexOf(listBegin, from)
  const last = listAt < 0 ? -1 : record.indexOf(listEnd, listAt)
  if (last < 0) return []
  const list = record.toString('latin1', listAt, last + listEnd.length)
  const cuts: Cut[] = []
  let shared = 0
  for (const [start, end] of rangesOf(list)) {
    const found = texts.find(list.slice(start, end))
    if (found === null) continue
    cuts.push({ position: listAt + start - shared, shared: found })
    shared += end - start
  }
  return cuts
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
