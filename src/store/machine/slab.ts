import { assert, present } from '../../../base/assert.ts'
import type { Cut } from './shared-texts-of-record.ts'
import type { SharedText } from './shared-texts.ts'

/** The version that a record belongs to. */
export interface RecordOwner {
  /** Called when the record is at another place: from then on, it is read there. */
  movedTo(slab: Slab, at: number): void
}

/**
 * Consecutive records. A text that several of them share is in memory once, see `SharedTexts`. It
 * does not matter where a record is cut: `slice` returns the identical bytes.
 *
 *   0           4             8      10       12
 *   | own bytes | whole bytes | cuts | number | cut, cut, … | the record without the texts | next …
 *
 * A cut has the position of a text in the record without the texts, and the number of the text.
 */
export class Slab {
  readonly bytes: Buffer
  /** Texts that the records share, by number. null: no record in use has it anymore. */
  readonly #texts: (SharedText | null)[] = []
  /** Number of the cuts with each text in records in use. */
  readonly #textUses: number[] = []
  /** The numbers of the texts in use, until the slab is closed. */
  #numberOf: Map<SharedText, number> | null = new Map()
  /** By number of the record. null: released or moved. */
  #owners: (RecordOwner | null)[] = []
  #end = 0
  #usedBytes = 0
  /** Number and place of the first record that may be in use, while the slab is emptied. */
  #next = 0
  #nextAt = 0

  constructor(bytes: number) {
    // Not pooled: it may live for years and would keep its neighbours alive.
    this.bytes = Buffer.allocUnsafeSlow(bytes)
  }

  get freeBytes(): number {
    return this.bytes.byteLength - this.#end
  }

  /** Bytes of the records in use, without their texts. */
  get usedBytes(): number {
    return this.#usedBytes
  }

  /** Called when no record is added anymore. */
  close(): void {
    this.#numberOf = null
  }

  append(owner: RecordOwner, record: Buffer, cuts: readonly Cut[]): void {
    const { bytes } = this
    const at = this.#end
    let to = ownStart(at, cuts.length)
    let from = 0
    for (const [place, { position, shared }] of cuts.entries()) {
      const end = ownStart(at, cuts.length) + position
      this.#writeCut(at, place, position, shared)
      record.copy(bytes, to, from, from + end - to)
      from += end - to + shared.bytes.byteLength
      to = end
    }
    to += record.copy(bytes, to, from)
    bytes.writeUInt32LE(to - ownStart(at, cuts.length), at)
    bytes.writeUInt32LE(record.byteLength, at + wholeAt)
    bytes.writeUInt16LE(cuts.length, at + cutsAt)
    this.#adopt(owner, at, to)
  }

  /** Copies a record of another slab, and moves its owner. */
  moveFrom(other: Slab, from: number): void {
    const at = this.#end
    const end = at + other.bytes.copy(this.bytes, at, from, from + other.entryBytesAt(from))
    for (let place = 0; place < other.#cutsAt(from); place++) {
      const { position, shared } = other.#cut(from, place)
      this.#writeCut(at, place, position, shared)
    }
    this.#adopt(other.release(from), at, end)
  }

  /**
   * Called once for a record that is released or moved. It is not read here afterwards.
   *
   * @returns its owner
   */
  release(at: number): RecordOwner {
    const number = this.bytes.readUInt16LE(at + numberAt)
    const owner = present(this.#owners[number], 'a record is released once')
    this.#owners[number] = null
    this.#usedBytes -= this.entryBytesAt(at)
    for (let place = 0; place < this.#cutsAt(at); place++) this.#dropText(this.#textNumber(at, place))
    return owner
  }

  /** Returns the place of the first record in use. null: no record is in use. */
  nextUsed(): number | null {
    for (; this.#next < this.#owners.length; this.#next++) {
      if (this.#owners[this.#next] !== null) return this.#nextAt
      this.#nextAt += this.entryBytesAt(this.#nextAt)
    }
    return null
  }

  entryBytesAt(at: number): number {
    return entryBytes(this.bytes.readUInt32LE(at), this.#cutsAt(at))
  }

  /** Returns where the record without the texts begins: all before the first text, at least. */
  startOf(at: number): number {
    return ownStart(at, this.#cutsAt(at))
  }

  /** Bytes of the whole record. */
  byteLengthOf(at: number): number {
    return this.bytes.readUInt32LE(at + wholeAt)
  }

  /**
   * Returns the bytes of a record from an offset on. A view if the slab has no other record and no
   * texts; else a copy, because a view would keep the whole slab in memory.
   *
   * @param from before the texts
   */
  slice(at: number, from: number): Buffer {
    const { bytes } = this
    const cuts = this.#cutsAt(at)
    const start = ownStart(at, cuts)
    const end = start + bytes.readUInt32LE(at)
    if (cuts === 0 && end - at === bytes.byteLength) return bytes.subarray(start + from, end)
    const whole = Buffer.allocUnsafe(this.byteLengthOf(at) - from)
    this.copyTo(whole, 0, { at, from })
    return whole
  }

  /**
   * Copies the bytes of a record from an offset on, if they fit.
   *
   * @param to position in `target`
   * @param from before the texts
   * @returns their length, also if `target` is too short and has nothing of them
   */
  copyTo(
    target: Uint8Array,
    to: number,
    { at, from }: { readonly at: number; readonly from: number },
  ): number {
    const { bytes } = this
    const length = this.byteLengthOf(at) - from
    if (to + length > target.byteLength) return length
    const cuts = this.#cutsAt(at)
    const ownLength = bytes.readUInt32LE(at) - from
    const source = bytes.byteOffset + ownStart(at, cuts) + from
    // All bytes without the texts are copied to the end at once, and those before a text are moved
    // then: to move bytes is cheaper than to create one more view.
    let [filled, rest, position] = [to, to + length - ownLength, from]
    target.set(new Uint8Array(bytes.buffer, source, ownLength), rest)
    for (let place = 0; place < cuts; place++) {
      const { position: next, shared } = this.#cut(at, place)
      target.copyWithin(filled, rest, rest + next - position)
      filled += next - position
      rest += next - position
      position = next
      target.set(shared.bytes, filled)
      filled += shared.bytes.byteLength
    }
    return length
  }

  /**
   * Returns the bytes of a record from an offset on, up to its first text. They keep the slab in
   * memory: callers use them within the turn.
   *
   * @param from before the texts
   */
  beginning(at: number, from: number): Buffer {
    const start = this.startOf(at)
    const length = this.#cutsAt(at) === 0 ? this.bytes.readUInt32LE(at) : this.#cut(at, 0).position
    return this.bytes.subarray(start + from, start + length)
  }

  #adopt(owner: RecordOwner, at: number, end: number): void {
    assert(end <= this.bytes.byteLength, 'a record fits its slab')
    this.bytes.writeUInt16LE(this.#owners.length, at + numberAt)
    this.#owners.push(owner)
    this.#usedBytes += end - at
    this.#end = end
    owner.movedTo(this, at)
  }

  #cutsAt(at: number): number {
    return this.bytes.readUInt16LE(at + cutsAt)
  }

  #cut(at: number, place: number): Cut {
    const shared = present(
      this.#texts[this.#textNumber(at, place)] ?? undefined,
      'a slab has the texts of its records in use',
    )
    return { position: this.bytes.readUInt32LE(cutAt(at, place)), shared }
  }

  #textNumber(at: number, place: number): number {
    return this.bytes.readUInt32LE(cutAt(at, place) + 4)
  }

  #writeCut(at: number, place: number, position: number, shared: SharedText): void {
    const number = this.#numberOfText(shared)
    this.bytes.writeUInt32LE(position, cutAt(at, place))
    this.bytes.writeUInt32LE(number, cutAt(at, place) + 4)
    this.#textUses[number] = (this.#textUses[number] ?? 0) + 1
  }

  #numberOfText(shared: SharedText): number {
    const numbers = present(this.#numberOf, 'records are added to an open slab')
    const known = numbers.get(shared)
    if (known !== undefined) return known
    const number = this.#texts.push(shared) - 1
    this.#textUses.push(0)
    numbers.set(shared, number)
    return number
  }

  /** A text that no record in use has leaves memory, if no other slab has it. */
  #dropText(number: number): void {
    const uses = (this.#textUses[number] ?? 0) - 1
    this.#textUses[number] = uses
    if (uses > 0) return
    const shared = present(this.#texts[number] ?? undefined, 'a text in use is known')
    this.#texts[number] = null
    this.#numberOf?.delete(shared)
  }
}

const [wholeAt, cutsAt, numberAt, prefixBytes, cutBytes] = [4, 8, 10, 12, 8]

/** Returns the bytes that a record takes in a slab. */
export function entryBytes(ownBytes: number, cuts: number): number {
  return prefixBytes + cutBytes * cuts + ownBytes
}

function ownStart(at: number, cuts: number): number {
  return at + prefixBytes + cutBytes * cuts
}

function cutAt(at: number, place: number): number {
  return at + prefixBytes + cutBytes * place
}
