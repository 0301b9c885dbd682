import type { StoredObject } from '../store/object-store.ts'

/**
 * The JSON of a list, in pieces of about `pieceBytes`. Items are the stored bytes behind kind and
 * apiVersion, copied once into the piece that leaves; the next piece is made when it is asked for.
 *
 * @param head up to and with `"items":[`
 */
export function* listPieces(
  head: string,
  items: Iterable<StoredObject>,
  pieceBytes: number,
): Generator<Uint8Array, void> {
  let piece = Buffer.allocUnsafe(Math.max(pieceBytes, head.length * 3))
  let at = piece.write(head)
  let first = true
  for (const item of items) {
    const { bytes, itemOffset } = item
    const length = bytes.length - itemOffset + 2
    if (at + length > piece.length) {
      yield piece.subarray(0, at)
      piece = Buffer.allocUnsafe(Math.max(pieceBytes, length))
      at = 0
    }
    if (!first) piece[at++] = comma
    first = false
    piece[at++] = openBrace
    piece.set(itemOffset === 0 ? bytes : bytes.subarray(itemOffset), at)
    at += bytes.length - itemOffset
  }
  if (at + tail.length > piece.length) {
    yield piece.subarray(0, at)
    yield tail
    return
  }
  piece.set(tail, at)
  yield piece.subarray(0, at + tail.length)
}

const comma = 0x2c
const openBrace = 0x7b
const tail = Buffer.from(']}\n')
