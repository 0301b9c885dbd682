import { crc32c, masked } from './crc32c.ts'
import { unsnap } from './snappy.ts'
import { Malformed, VarintReader } from './varint-reader.ts'

/** Position of a block in its file, without its trailer. */
export type BlockPlace = { readonly offset: number; readonly size: number }

/** Bytes after each block: the compression type, and a checksum of the block and the type. */
export const trailerBytes = 5
export const footerBytes = 48

/** Reads the last bytes of a table. @throws Malformed @source LevelDB, table_format.md */
export function readFooter(footer: Uint8Array): {
  readonly metaIndex: BlockPlace
  readonly index: BlockPlace
} {
  const magic = footer.subarray(footerBytes - MAGIC.length)
  if (!MAGIC.every((byte, at) => magic[at] === byte)) throw new Malformed('it does not end as a table does')
  const reader = new VarintReader(footer)
  return { metaIndex: readPlace(reader), index: readPlace(reader) }
}

/** @param stored a block with its trailer */
export function isIntact(stored: Uint8Array): boolean {
  const view = new DataView(stored.buffer, stored.byteOffset, stored.byteLength)
  const covered = stored.byteLength - CHECKSUM_BYTES
  return masked(crc32c(stored.subarray(0, covered))) === view.getUint32(covered, true)
}

/**
 * Returns the positions in an index block, in order.
 *
 * @param stored an intact block with its trailer
 * @throws Malformed
 */
export function readIndex(stored: Uint8Array): readonly BlockPlace[] {
  const block = contentsOf(stored)
  if (block.byteLength < 4) throw new Malformed('an index is empty')
  const view = new DataView(block.buffer, block.byteOffset, block.byteLength)
  const restarts = view.getUint32(block.byteLength - 4, true)
  const entriesEnd = block.byteLength - 4 * (restarts + 1)
  if (entriesEnd < 0) throw new Malformed('an index has more restarts than bytes')
  const reader = new VarintReader(block.subarray(0, entriesEnd))
  const places: BlockPlace[] = []
  while (!reader.isAtEnd) {
    // Length of the key prefix shared with the previous entry; keys are not needed here.
    reader.number()
    const keyBytes = reader.number()
    const valueBytes = reader.number()
    reader.take(keyBytes)
    places.push(readPlace(new VarintReader(reader.take(valueBytes))))
  }
  return places
}

function contentsOf(stored: Uint8Array): Uint8Array {
  const contents = stored.subarray(0, stored.byteLength - trailerBytes)
  const compression = stored[contents.byteLength]
  if (compression === NOT_COMPRESSED) return contents
  if (compression === SNAPPY) return unsnap(contents, INDEX_BYTES_MAX)
  throw new Malformed(`it has the unknown compression type ${compression}`)
}

function readPlace(reader: VarintReader): BlockPlace {
  return { offset: reader.number(), size: reader.number() }
}

const CHECKSUM_BYTES = 4
/** Maximum bytes of a decompressed index. A table of 8 MiB with keys of 1 KiB has one of 2 MiB. */
const INDEX_BYTES_MAX = 64 * 1024 * 1024
const NOT_COMPRESSED = 0
const SNAPPY = 1
const MAGIC = [0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb] as const
