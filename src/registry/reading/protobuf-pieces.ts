import { assert } from '../../../base/assert.ts'
import type { Clock } from '../../../base/clock.ts'
import { encodeProtobufMessage } from '../../api/codec/protobuf-encode.ts'
import {
  PROTOBUF_TAIL,
  protobufListHead,
  protobufListItemBytes,
  protobufListItemHead,
} from '../../api/codec/protobuf-envelope.ts'
import type { JsonObject } from '../../api/json.ts'
import { parseBytes } from '../kinds/encode.ts'
import type { ByteBudget } from '../shared/byte-budget.ts'
import type { RegistryLimits } from '../shared/registry-limits.ts'
import type { Form } from '../representations/representation.ts'
import { yieldToEventLoop } from '../shared/yield-budget.ts'
import type { Batches } from './slices.ts'

type Parts = { readonly clock: Clock; readonly limits: RegistryLimits; readonly byteBudget: ByteBudget }

/**
 * Returns a list as one protobuf message, in pieces of about `pieceBytes`. A message begins with
 * its length, so all objects are encoded before the first piece is sent. The pieces are buffered
 * until then, up to `heldBytesMax` and the budget shared with other lists; the rest is encoded a
 * second time on demand.
 *
 * @param batches iterated twice if not everything was buffered
 */
export async function* protobufPieces(
  form: Form,
  metadata: JsonObject,
  batches: Batches,
  parts: Parts,
): AsyncGenerator<Uint8Array, void> {
  const { limits, byteBudget } = parts
  const piece = new Piece(limits.pieceBytes)
  const kept: Uint8Array[] = []
  let [fits, keptMessages, keptBytes, itemsBytes] = [true, 0, 0, 0]
  try {
    for await (const message of messages(form, batches, 0, parts)) {
      const bytes = protobufListItemBytes(message.length)
      itemsBytes += bytes
      fits &&= itemsBytes <= limits.heldBytesMax && byteBudget.acquire(bytes)
      if (!fits) continue
      keptMessages++
      keptBytes += bytes
      piece.addItem(message)
      if (piece.full) kept.push(piece.take())
    }
    let left = itemsBytes - keptBytes
    const head = protobufListHead({ ...form.listType, metadata, itemsBytes })
    const first = kept.shift()
    if (first === undefined) piece.addFirst(head)
    else yield Buffer.concat([head, first])
    // Each of these pieces is released when it is passed on, however slow the client is.
    for (let next = kept.shift(); next !== undefined; next = kept.shift()) {
      keptBytes -= next.length
      byteBudget.release(next.length)
      yield next
    }
    if (left > 0) {
      for await (const message of messages(form, batches, keptMessages, parts)) {
        left -= protobufListItemBytes(message.length)
        piece.addItem(message)
        if (piece.full) yield piece.take()
      }
      assert(left === 0, 'versions do not change')
    }
    piece.add(PROTOBUF_TAIL)
    yield piece.take()
  } finally {
    byteBudget.release(keptBytes)
  }
}

/** @param skipped number of objects to skip at the beginning */
async function* messages(
  { schema, shown }: Form,
  batches: Batches,
  skipped: number,
  { clock, limits }: Pick<Parts, 'clock' | 'limits'>,
): AsyncGenerator<Uint8Array, void> {
  let readBytes = 0
  let at = 0
  for await (const batch of batches) {
    for (const stored of batch) {
      if (at++ < skipped) continue
      const { bytes } = stored
      if (readBytes > limits.readTurnBytes) {
        readBytes = 0
        await yieldToEventLoop(clock)
      }
      readBytes += bytes.byteLength
      yield encodeProtobufMessage(schema, shown(parseBytes(bytes)))
    }
  }
}

/** Messages that are sent together. */
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

  /** Adds a part before all others. */
  addFirst(part: Uint8Array): void {
    this.#parts.unshift(part)
    this.#bytes += part.length
  }

  addItem(message: Uint8Array): void {
    this.add(protobufListItemHead(message.length))
    this.add(message)
  }

  take(): Uint8Array {
    const whole = Buffer.concat(this.#parts, this.#bytes)
    this.#parts = []
    this.#bytes = 0
    return whole
  }
}
