import { assert } from '../../../base/assert.ts'
import { DatabaseError } from '../store-errors.ts'

/** Writes small records of the state: little-endian numbers and length-prefixed contents. */
export class ByteWriter {
  #buffer = Buffer.allocUnsafe(512)
  #length = 0

  u8(value: number): void {
    this.#reserve(1)
    this.#buffer[this.#length++] = value
  }

  u32(value: number): void {
    this.#reserve(4)
    this.#length = this.#buffer.writeUInt32LE(value, this.#length)
  }

  /** Any whole number from 0 to 2^53 - 1. */
  number(value: number): void {
    assert(Number.isSafeInteger(value) && value >= 0, `${value} is a whole number from 0`)
    this.#reserve(8)
    this.#length = this.#buffer.writeDoubleLE(value, this.#length)
  }

  text(value: string): void {
    this.bytes(Buffer.from(value, 'utf8'))
  }

  bytes(value: Uint8Array): void {
    this.u32(value.byteLength)
    this.raw(value)
  }

  raw(value: Uint8Array): void {
    this.#reserve(value.byteLength)
    this.#buffer.set(value, this.#length)
    this.#length += value.byteLength
  }

  /** Returns a copy of what was written and resets the writer. */
  take(): Uint8Array {
    const taken = Buffer.allocUnsafeSlow(this.#length)
    this.#buffer.copy(taken, 0, 0, this.#length)
    this.#length = 0
    return taken
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes
    if (needed <= this.#buffer.length) return
    const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#buffer.length))
    this.#buffer.copy(larger, 0, 0, this.#length)
    this.#buffer = larger
  }
}

/** Reads what `ByteWriter` wrote. @throws DatabaseError `damaged`: they end early or are invalid */
export class ByteReader {
  readonly #buffer: Buffer
  #at: number

  constructor(bytes: Uint8Array, from = 0) {
    this.#buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#at = from
  }

  get done(): boolean {
    return this.#at === this.#buffer.length
  }

  u8(): number {
    return this.#buffer.readUInt8(this.#advance(1))
  }

  u32(): number {
    return this.#buffer.readUInt32LE(this.#advance(4))
  }

  number(): number {
    const value = this.#buffer.readDoubleLE(this.#advance(8))
    if (!Number.isSafeInteger(value) || value < 0)
      throw new DatabaseError('damaged', 'a stored number is invalid')
    return value
  }

  text(): string {
    const length = this.u32()
    const from = this.#advance(length)
    return this.#buffer.toString('utf8', from, from + length)
  }

  /** A view, not a copy. */
  bytes(): Uint8Array {
    const length = this.u32()
    const from = this.#advance(length)
    return this.#buffer.subarray(from, from + length)
  }

  #advance(bytes: number): number {
    const from = this.#at
    if (from + bytes > this.#buffer.length) throw new DatabaseError('damaged', 'a stored record ends early')
    this.#at += bytes
    return from
  }
}
