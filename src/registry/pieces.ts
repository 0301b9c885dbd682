import type { StoredObject } from '../store/object-store.ts'
import type { Batches } from './slices.ts'

type Pieces = Iterable<Uint8Array> | AsyncIterable<Uint8Array>

/**
 * The JSON of a list, in pieces of about `pieceBytes`. Items are the stored bytes behind kind and
 * apiVersion, copied once into the piece that leaves; the next piece is made when it is asked for.
 *
 * @param head up to and with `"items":[`
 */
export function listPieces(head: string, batches: Batches, pieceBytes: number): Pieces {
  const writer = new PieceWriter(head, pieceBytes)
  return Symbol.iterator in batches ? piecesNow(writer, batches) : piecesLater(writer, batches)
}

function* piecesNow(
  writer: PieceWriter,
  batches: Iterable<readonly StoredObject[]>,
): Generator<Uint8Array, void> {
  for (const batch of batches) yield* writer.add(batch)
  yield* writer.end()
}

async function* piecesLater(
  writer: PieceWriter,
  batches: AsyncIterable<readonly StoredObject[]>,
): AsyncGenerator<Uint8Array, void> {
  for await (const batch of batches) yield* writer.add(batch)
  yield* writer.end()
}

/** Fills one piece after the other. */
class PieceWriter {
  readonly #pieceBytes: number
  #piece: Buffer
  #at: number
  #first = true

  constructor(head: string, pieceBytes: number) {
    this.#pieceBytes = pieceBytes
    this.#piece = Buffer.allocUnsafe(Math.max(pieceBytes, head.length * 3))
    this.#at = this.#piece.write(head)
  }

  /** Pieces that are full. */
  *add(batch: readonly StoredObject[]): Generator<Uint8Array, void> {
    for (const { bytes, itemOffset } of batch) {
      const length = bytes.length - itemOffset + 2
      if (this.#at + length > this.#piece.length) {
        yield this.#piece.subarray(0, this.#at)
        this.#piece = Buffer.allocUnsafe(Math.max(this.#pieceBytes, length))
        this.#at = 0
      }
      if (!this.#first) this.#piece[this.#at++] = comma
      this.#first = false
      this.#piece[this.#at++] = openBrace
      this.#piece.set(itemOffset === 0 ? bytes : bytes.subarray(itemOffset), this.#at)
      this.#at += bytes.length - itemOffset
    }
  }

  *end(): Generator<Uint8Array, void> {
    if (this.#at + tail.length > this.#piece.length) {
      yield this.#piece.subarray(0, this.#at)
      yield tail
      return
    }
    this.#piece.set(tail, this.#at)
    yield this.#piece.subarray(0, this.#at + tail.length)
  }
}

const comma = 0x2c
const openBrace = 0x7b
const tail = Buffer.from(']}\n')
