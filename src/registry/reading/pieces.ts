import type { StoredObject } from '../../store/object-store.ts'
import type { Batches } from './slices.ts'

export type ListForm = {
  /** Up to and including `"items":[`. */
  readonly head: string
  /** Whether each item has its own kind and apiVersion. */
  readonly typedItems: boolean
}

type Pieces = Iterable<Uint8Array> | AsyncIterable<Uint8Array>

/**
 * Returns the JSON of a list in pieces of about `pieceBytes`. Items are stored bytes, copied once
 * into the current piece; the next piece is made on demand.
 */
export function listPieces(form: ListForm, batches: Batches, pieceBytes: number): Pieces {
  const writer = new PieceWriter(form, pieceBytes)
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

/** Fills one piece after another. */
class PieceWriter {
  readonly #pieceBytes: number
  readonly #typedItems: boolean
  #piece: Buffer
  #at: number
  #first = true

  constructor({ head, typedItems }: ListForm, pieceBytes: number) {
    this.#pieceBytes = pieceBytes
    this.#typedItems = typedItems
    this.#piece = Buffer.allocUnsafe(Math.max(pieceBytes, head.length * 3))
    this.#at = this.#piece.write(head)
  }

  /** Yields the pieces that are full. */
  *add(batch: readonly StoredObject[]): Generator<Uint8Array, void> {
    for (const stored of batch) {
      let end = this.#copy(stored)
      if (end > this.#piece.length) {
        yield this.#piece.subarray(0, this.#at)
        this.#piece = Buffer.allocUnsafe(Math.max(this.#pieceBytes, end - this.#at))
        this.#at = 0
        end = this.#copy(stored)
      }
      this.#at = end
      this.#first = false
    }
  }

  /** Copies an item to the piece, if it fits. @returns where it ends, also if it does not fit */
  #copy(stored: StoredObject): number {
    let at = this.#at
    if (!this.#first) this.#piece[at++] = comma
    this.#piece[at++] = openBrace
    return at + stored.copyTo(this.#piece, at, this.#typedItems ? openBraceBytes : stored.itemOffset)
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
const openBraceBytes = 1
const tail = Buffer.from(']}\n')
