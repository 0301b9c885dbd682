import { Malformed, VarintReader } from './varint-reader.ts'

/**
 * Decompresses a block.
 *
 * @param bytesMax maximum size of the result
 * @throws Malformed
 * @source the format description of Snappy
 */
export function unsnap(bytes: Uint8Array, bytesMax: number): Uint8Array {
  const reader = new VarintReader(bytes)
  const length = reader.number()
  if (length > bytesMax) throw new Malformed(`it claims ${length} bytes`)
  const out = new Uint8Array(length)
  let end = 0
  while (!reader.isAtEnd) {
    const tag = byteOf(reader)
    const kind = tag & 3
    if (kind === LITERAL) {
      const literal = reader.take(literalLength(reader, tag >>> 2))
      if (literal.byteLength > length - end) throw new Malformed('it has more than it claims')
      out.set(literal, end)
      end += literal.byteLength
      continue
    }
    const count = kind === NEAR_COPY ? ((tag >>> 2) & 7) + 4 : (tag >>> 2) + 1
    const back = kind === NEAR_COPY ? ((tag >>> 5) << 8) | byteOf(reader) : little(reader, kind === 2 ? 2 : 4)
    if (back === 0 || back > end || count > length - end)
      throw new Malformed('it copies bytes from outside of the output')
    // Byte by byte: a copy may overlap its own output.
    for (const stop = end + count; end < stop; end++) out[end] = out[end - back] as number
  }
  if (end !== length) throw new Malformed('it has less than it claims')
  return out
}

const LITERAL = 0
/** A copy of 4 to 11 bytes from at most 2,047 bytes back. */
const NEAR_COPY = 1
/** From this value on, the length of a literal follows the tag, in 1 to 4 bytes. */
const LONG_LITERAL = 60

function literalLength(reader: VarintReader, inTag: number): number {
  return inTag < LONG_LITERAL ? inTag + 1 : little(reader, inTag - LONG_LITERAL + 1) + 1
}

function byteOf(reader: VarintReader): number {
  return little(reader, 1)
}

/** Reads a little-endian number. */
function little(reader: VarintReader, count: number): number {
  let value = 0
  for (const [at, byte] of reader.take(count).entries()) value += byte * 256 ** at
  return value
}
