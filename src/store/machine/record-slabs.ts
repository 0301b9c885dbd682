import { assert, present } from '../../../base/assert.ts'
import { sharedTextsIn } from './shared-texts-of-record.ts'
import type { Cut } from './shared-texts-of-record.ts'
import type { SharedText } from './shared-texts.ts'

/** The version that a record belongs to. */
export interface RecordOwner {
  /** Called when the record is at another place: from then on, it is read there. */
  movedTo(slab: Slab, at: number): void
}

/**
 * The records of one state, one after another in slabs. A buffer for each record would cost several
 * hundred bytes more, in the heap and outside of it.
 *
 * The bytes of a record never change or move once they are in a slab, so readers may keep views of
 * them. When less than half of a full slab is in use, the rest is copied to the open slab. The
 * engine frees the old slab when no reader has a view of it.
 */
export class RecordSlabs {
  #open: Slab

  constructor() {
    this.#open = new Slab(this, 0)
  }

  /**
   * Copies a record to a slab, without the texts that it has in common with other records.
   *
   * @param from where the search for such texts begins
   */
  add(owner: RecordOwner, record: Buffer, from: number): void {
    const cuts = sharedTextsIn(record, from)
    const ownBytes = cuts.reduce((bytes, { shared }) => bytes - shared.bytes.byteLength, record.byteLength)
    this.#slabFor(entryBytes(ownBytes, cuts.length)).append(owner, record, cuts)
  }

  /** Called when a record in `slab` was released. */
  released(slab: Slab): void {
    if (slab !== this.#open) this.#reclaim(slab)
  }

  #slabFor(bytes: number): Slab {
    if (bytes > slabBytes >>> 3) return new Slab(this, bytes)
    while (this.#open.freeBytes < bytes) {
      const full = this.#open
      full.close()
      this.#open = new Slab(this, slabBytes)
      this.#reclaim(full)
    }
    return this.#open
  }

  #reclaim(slab: Slab): void {
    if (slab.usedBytes >= slab.bytes.byteLength >>> 1) return
    for (const { owner, at } of slab.takeAll()) {
      this.#slabFor(slab.entryBytesAt(at)).appendFrom(slab, at, owner)
    }
  }
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
  readonly #slabs: RecordSlabs
  /** Texts that the records share. They stay in memory as long as the slab. */
  readonly #texts: SharedText[] = []
  /** Only until it is full. */
  #numberOf: Map<SharedText, number> | null = new Map()
  /** By number of the record. null: released. */
  #owners: (RecordOwner | null)[] = []
  #end = 0
  #usedBytes = 0

  constructor(slabs: RecordSlabs, bytes: number) {
    this.#slabs = slabs
    // Not pooled: it may live for years and would keep its neighbours alive.
    this.bytes = Buffer.allocUnsafeSlow(bytes)
  }

  get freeBytes(): number {
    return this.bytes.byteLength - this.#end
  }

  /** Bytes of records that were not released. */
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
    let to = at + prefixBytes + cutBytes * cuts.length
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

  /** Copies the record at `from` of another slab. */
  appendFrom(other: Slab, from: number, owner: RecordOwner): void {
    const at = this.#end
    const end = at + other.bytes.copy(this.bytes, at, from, from + other.entryBytesAt(from))
    for (let place = 0; place < other.#cutsAt(from); place++) {
      const { position, shared } = other.#cut(from, place)
      this.#writeCut(at, place, position, shared)
    }
    this.#adopt(owner, at, end)
  }

  /** Called once by the owner of the record: nothing but views that were read before need it. */
  release(at: number): void {
    const number = this.bytes.readUInt16LE(at + numberAt)
    present(this.#owners[number], 'a record is released once')
    this.#owners[number] = null
    this.#usedBytes -= this.entryBytesAt(at)
    this.#slabs.released(this)
  }

  /** Returns the records that were not released, which the caller moves to other slabs. */
  takeAll(): readonly { readonly owner: RecordOwner; readonly at: number }[] {
    const taken: { readonly owner: RecordOwner; readonly at: number }[] = []
    let at = 0
    for (const owner of this.#owners) {
      if (owner !== null) taken.push({ owner, at })
      at += this.entryBytesAt(at)
    }
    this.#owners = []
    this.#usedBytes = this.bytes.byteLength
    return taken
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
   * Returns the bytes of a record from an offset on: a view if the record shares no text, else a
   * copy.
   *
   * @param from before the texts
   */
  slice(at: number, from: number): Uint8Array {
    const parts = this.parts(at, from)
    const [first] = parts
    if (parts.length === 1 && first !== undefined) return first
    const whole = Buffer.allocUnsafe(this.byteLengthOf(at) - from)
    let length = 0
    for (const part of parts) {
      whole.set(part, length)
      length += part.byteLength
    }
    return whole
  }

  /** Returns the bytes of a record from an offset on, in parts, without copying. */
  parts(at: number, from: number): readonly Uint8Array[] {
    const { bytes } = this
    const cuts = this.#cutsAt(at)
    const start = ownStart(at, cuts)
    const parts: Uint8Array[] = []
    let begin = start + from
    for (let place = 0; place < cuts; place++) {
      const { position, shared } = this.#cut(at, place)
      parts.push(bytes.subarray(begin, start + position), shared.bytes)
      begin = start + position
    }
    parts.push(bytes.subarray(begin, start + bytes.readUInt32LE(at)))
    return parts
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
    const cut = at + prefixBytes + cutBytes * place
    const shared = present(
      this.#texts[this.bytes.readUInt32LE(cut + 4)],
      'a slab has the texts of its records',
    )
    return { position: this.bytes.readUInt32LE(cut), shared }
  }

  #writeCut(at: number, place: number, position: number, shared: SharedText): void {
    const cut = at + prefixBytes + cutBytes * place
    this.bytes.writeUInt32LE(position, cut)
    this.bytes.writeUInt32LE(this.#numberOfText(shared), cut + 4)
  }

  #numberOfText(shared: SharedText): number {
    const numbers = present(this.#numberOf, 'records are added to an open slab')
    const known = numbers.get(shared)
    if (known !== undefined) return known
    const number = this.#texts.push(shared) - 1
    numbers.set(shared, number)
    return number
  }
}

/** Copying half of it takes about 0.1 ms. */
const slabBytes = 256 * 1024
const [wholeAt, cutsAt, numberAt, prefixBytes, cutBytes] = [4, 8, 10, 12, 8]

function ownStart(at: number, cuts: number): number {
  return at + prefixBytes + cutBytes * cuts
}

function entryBytes(ownBytes: number, cuts: number): number {
  return prefixBytes + cutBytes * cuts + ownBytes
}
