import { Buffer } from 'node:buffer'
import { base64Bytes } from '../schema/scalar.ts'

/** Wire types of protobuf. API objects do not use groups and 32-bit values. */
export const WIRE_VARINT = 0
export const WIRE_BIT64 = 1
export const WIRE_BYTES = 2

/** Texts up to this length are written byte by byte, which is faster than a native call. */
const SHORT_TEXT_MAX = 40
const CAPACITY_FIRST = 1024

/**
 * Writes a message from its end to its beginning, so that the length of a nested message is known
 * when it has to be written, without moving or measuring anything first. Callers write the value of
 * a field, then its length, then its tag.
 *
 * @source protobuf encoding; upstream's generated code writes in the same direction
 */
export class BackwardWriter {
  #bytes: Buffer = Buffer.allocUnsafe(CAPACITY_FIRST)
  /** Position of the first written byte. */
  #at = CAPACITY_FIRST

  /** Bytes written so far. */
  get length(): number {
    return this.#bytes.length - this.#at
  }

  /** Returns a copy. The writer must not be used afterwards. */
  finish(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#bytes.subarray(this.#at))
  }

  /** @param number of the field. @param wire one of the `WIRE_` constants */
  tag(number: number, wire: number): void {
    this.varint(number * 8 + wire)
  }

  /** Turns everything written since the length was `before` into the value of a field. */
  nested(number: number, before: number): void {
    this.varint(this.length - before)
    this.tag(number, WIRE_BYTES)
  }

  /** @param value an integer of 64 bits; negative ones take ten bytes */
  varint(value: number | bigint): void {
    if (typeof value === 'bigint') {
      this.#largeVarint(BigInt.asUintN(64, value))
    } else if (value >= 0 && value < 0x80) {
      this.#grow(1)
      this.#bytes[--this.#at] = value
    } else if (value >= 0) {
      this.#longVarint(value)
    } else {
      this.#largeVarint(BigInt.asUintN(64, BigInt(value)))
    }
  }

  double(value: number): void {
    this.#grow(8)
    this.#at -= 8
    this.#bytes.writeDoubleLE(value, this.#at)
  }

  raw(bytes: Uint8Array): void {
    this.#grow(bytes.length)
    this.#at -= bytes.length
    this.#bytes.set(bytes, this.#at)
  }

  /** Writes UTF-8, without its length. */
  text(value: string): void {
    if (value.length <= SHORT_TEXT_MAX && this.#shortText(value)) return
    const size = Buffer.byteLength(value)
    this.#grow(size)
    this.#at -= size
    this.#bytes.write(value, this.#at, size, size === value.length ? 'latin1' : 'utf8')
  }

  /**
   * Writes the bytes that a base64 text encodes, without their length.
   *
   * @param value as `conform` leaves it
   */
  base64(value: string): void {
    const size = base64Bytes(value)
    this.#grow(size)
    this.#at -= size
    this.#bytes.write(value, this.#at, size, 'base64')
  }

  /** @returns false if the text is not plain ASCII; then nothing is written */
  #shortText(value: string): boolean {
    this.#grow(value.length)
    const start = this.#at - value.length
    for (let at = 0; at < value.length; at++) {
      const code = value.charCodeAt(at)
      if (code > 0x7f) return false
      this.#bytes[start + at] = code
    }
    this.#at = start
    return true
  }

  #longVarint(value: number): void {
    let size = 1
    for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) size++
    this.#grow(size)
    this.#at -= size
    let rest = value
    for (let at = this.#at; size > 1; at++, size--) {
      this.#bytes[at] = (rest % 0x80) + 0x80
      rest = Math.floor(rest / 0x80)
      if (size === 2) this.#bytes[at + 1] = rest
    }
  }

  #largeVarint(value: bigint): void {
    let size = 1
    for (let rest = value; rest >= 0x80n; rest >>= 7n) size++
    this.#grow(size)
    this.#at -= size
    for (let at = 0; at < size; at++) {
      const bits = Number((value >> BigInt(7 * at)) & 0x7fn)
      this.#bytes[this.#at + at] = at < size - 1 ? bits | 0x80 : bits
    }
  }

  #grow(bytes: number): void {
    if (bytes <= this.#at) return
    const { length } = this
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#bytes.length + bytes))
    this.#bytes.copy(larger, larger.length - length, this.#at)
    this.#at = larger.length - length
    this.#bytes = larger
  }
}
