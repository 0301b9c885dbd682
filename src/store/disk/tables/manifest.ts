import { Malformed, VarintReader } from './varint-reader.ts'

/** A table that belongs to the database. */
export type LiveTable = { readonly number: number; readonly bytes: number }

/**
 * Returns the tables that belong to a database. Its directory may have other ones, which were half
 * written when a process ended.
 *
 * @param manifest bytes of the file; an incomplete record at the end was never committed
 * @throws Malformed
 * @source LevelDB, log_format.md and impl.md
 */
export function liveTables(manifest: Uint8Array): readonly LiveTable[] {
  const live = new Map<number, LiveTable>()
  for (const edit of records(manifest)) applyEdit(live, edit)
  return [...live.values()]
}

/**
 * Yields records, which are stored in fragments that do not cross block boundaries. LevelDB
 * verifies their checksums itself.
 */
function* records(file: Uint8Array): Generator<Uint8Array, void> {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength)
  let pieces: Uint8Array[] = []
  for (let at = 0; at + HEADER_BYTES <= file.byteLength;) {
    const left = BLOCK_BYTES - (at % BLOCK_BYTES)
    if (left < HEADER_BYTES) {
      at += left
      continue
    }
    const length = view.getUint16(at + 4, true)
    const type = view.getUint8(at + 6)
    const end = at + HEADER_BYTES + length
    if (end > file.byteLength) return
    if (type < FULL || type > LAST) throw new Malformed(`a record has the unknown type ${type}`)
    if (type === FULL || type === FIRST) pieces = []
    pieces.push(file.subarray(at + HEADER_BYTES, end))
    if (type === FULL || type === LAST) yield Buffer.concat(pieces)
    at = end
  }
}

function applyEdit(live: Map<number, LiveTable>, edit: Uint8Array): void {
  const reader = new VarintReader(edit)
  while (!reader.isAtEnd) {
    const tag = reader.number()
    switch (tag) {
      case TAG.comparator:
        reader.prefixed()
        break
      case TAG.logNumber:
      case TAG.nextFileNumber:
      case TAG.lastSequence:
      case TAG.previousLogNumber:
        reader.number()
        break
      case TAG.compactPointer:
        reader.number()
        reader.prefixed()
        break
      case TAG.deletedFile:
        reader.number()
        live.delete(reader.number())
        break
      case TAG.newFile: {
        reader.number()
        const table = { number: reader.number(), bytes: reader.number() }
        reader.prefixed()
        reader.prefixed()
        live.set(table.number, table)
        break
      }
      default:
        throw new Malformed(`an edit has the unknown tag ${tag}`)
    }
  }
}

const BLOCK_BYTES = 32 * 1024
/** Checksum, length, type. */
const HEADER_BYTES = 7
const FULL = 1
const FIRST = 2
const LAST = 4
const TAG = {
  comparator: 1,
  logNumber: 2,
  nextFileNumber: 3,
  lastSequence: 4,
  compactPointer: 5,
  deletedFile: 6,
  newFile: 7,
  previousLogNumber: 9,
} as const
