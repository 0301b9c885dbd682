import { present } from '../../base/assert.ts'
import { logIndex } from '../core/types.ts'
import type { Entry, LogIndex } from '../core/types.ts'
import type { EntryIndex, EntryPlace } from './entry-index.ts'
import { damagedInUse } from './errors.ts'
import { decodeRecord } from './group-decoder.ts'
import type { Segment } from './segment.ts'

/** Two records with at most this many bytes between them are read together. */
const gapBytesMax = 64 * 1024

/** Returns the places of the entries from `from` on that one read of one file can return. */
export function placesFrom(
  index: EntryIndex,
  from: LogIndex,
  to: number,
  bytesMax: number,
): readonly EntryPlace[] {
  const first = index.place(from)
  const places = [first]
  let end = first.offset + first.length
  let bytes = first.length
  for (let at = from + 1; at <= to; at++) {
    const next = index.place(logIndex(at))
    bytes += next.length
    if (next.segment !== first.segment || bytes > bytesMax) break
    if (next.offset < end || next.offset - end > gapBytesMax) break
    end = next.offset + next.length
    places.push(next)
  }
  return places
}

/**
 * Reads the entries at `places`, of which the first has index `from`.
 *
 * @throws LogError `damaged`, `io`
 */
export function readRun(
  segments: readonly Segment[],
  from: LogIndex,
  places: readonly EntryPlace[],
): readonly Entry[] {
  const first = places[0] as EntryPlace
  const last = places.at(-1) as EntryPlace
  const segment = present(
    segments.find(({ number }) => number === first.segment),
    'the segment of an entry is open',
  )
  const bytes = segment.file.read(first.offset, last.offset + last.length - first.offset)
  return places.map(({ offset, length, seed }, at) => {
    const start = offset - first.offset
    const record = decodeRecord(bytes, start, Math.min(start + length, bytes.length), seed)?.record
    if (record?.kind !== 'entry' || record.entry.index !== from + at) {
      throw damagedInUse(segment.name, offset, `entry ${from + at} is not as it was written`)
    }
    return record.entry
  })
}
