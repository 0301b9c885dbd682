import { assert } from '../../raft/base/assert.ts'
import type { Clock } from '../../raft/base/clock.ts'
import { encodeProtobufMessage } from '../api/codec/protobuf-encode.ts'
import {
  PROTOBUF_TAIL,
  protobufListHead,
  protobufListItemBytes,
  protobufListItemHead,
} from '../api/codec/protobuf-envelope.ts'
import type { JsonObject } from '../api/json.ts'
import { parseBytes } from './encode.ts'
import type { RegistryLimits } from './limits.ts'
import type { Form } from './representation.ts'
import { turnOfOthers } from './slices.ts'
import type { Batches } from './slices.ts'

type Parts = { readonly clock: Clock; readonly limits: RegistryLimits }

/**
 * A list as one message of protobuf, in pieces of about `pieceBytes`. A message begins with its length, so all objects are
 * encoded before the first piece leaves; what is beyond `heldBytesMax` is not kept but encoded once more when its piece is
 * asked for.
 *
 * @param batches are walked twice where not all is kept
 */
export async function* protobufPieces(
  form: Form,
  metadata: JsonObject,
  batches: Batches,
  parts: Parts,
): AsyncGenerator<Uint8Array, void> {
  const { pieceBytes, heldBytesMax } = parts.limits
  const held: Uint8Array[] = []
  let heldBytes = 0
  let itemsBytes = 0
  for await (const message of messages(form, batches, 0, parts)) {
    itemsBytes += protobufListItemBytes(message.length)
    if (itemsBytes > heldBytesMax) continue
    held.push(message)
    heldBytes = itemsBytes
  }
  const piece = new Piece(pieceBytes)
  piece.add(protobufListHead({ ...form.listType, metadata, itemsBytes }))
  for (const message of held) {
    piece.add(protobufListItemHead(message.length))
    piece.add(message)
    if (piece.full) yield piece.take()
  }
  if (itemsBytes > heldBytes) {
    let left = itemsBytes - heldBytes
    for await (const message of messages(form, batches, held.length, parts)) {
      left -= protobufListItemBytes(message.length)
      piece.add(protobufListItemHead(message.length))
      piece.add(message)
      if (piece.full) yield piece.take()
    }
    assert(left === 0, 'versions do not change')
  }
  piece.add(PROTOBUF_TAIL)
  yield piece.take()
}

/** @param skipped so many objects at the beginning */
async function* messages(
  { schema, shown }: Form,
  batches: Batches,
  skipped: number,
  { clock, limits }: Parts,
): AsyncGenerator<Uint8Array, void> {
  let readBytes = 0
  let at = 0
  for await (const batch of batches) {
    for (const stored of batch) {
      if (at++ < skipped) continue
      const { bytes } = stored
      if (readBytes > limits.readTurnBytes) {
        readBytes = 0
        await turnOfOthers(clock)
      }
      readBytes += bytes.byteLength
      yield encodeProtobufMessage(schema, shown(parseBytes(bytes)))
    }
  }
}

/** What leaves together. */
class Piece {
  readonly #bytesMax: number
  #parts: Uint8Array[] = []
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get full(): boolean {
    return this.#bytes >= this.#bytesMax
  }

  add(part: Uint8Array): void {
    this.#parts.push(part)
    this.#bytes += part.length
  }

  take(): Uint8Array {
    const whole = Buffer.concat(this.#parts, this.#bytes)
    this.#parts = []
    this.#bytes = 0
    return whole
  }
}
