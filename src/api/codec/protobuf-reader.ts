import { Buffer, isUtf8 } from 'node:buffer'
import { bodyLimits } from '../limits.ts'
import { WIRE_BIT64, WIRE_BYTES, WIRE_VARINT } from './protobuf-writer.ts'
import { tooManyValues } from './value-count.ts'

/**
 * Thrown for bytes that are not a valid message of the expected type. The path uses the JSON names
 * of members.
 */
export class Malformed extends Error {
  /** Empty: outside of any member. */
  path = ''

  /** @param step the enclosing member, `[3]` of a list or `[key]` of a map */
  within(step: string): this {
    this.path = this.path === '' || this.path.startsWith('[') ? step + this.path : `${step}.${this.path}`
    return this
  }
}

const WIRE_BIT32 = 5
const TAG_MAX = 2 ** 32 - 1
const BITS_28 = 2 ** 28

/**
 * Reads a message field by field, and nested messages between `enter` and `leave`, without copying
 * either. Every method throws `Malformed` if the bytes have another type.
 *
 * @source protobuf encoding; groups, which API objects do not have, are rejected
 */
export class ProtobufReader {
  readonly #bytes: Buffer
  #at = 0
  #end: number
  // The last number read, as parts of 28, 28 and 8 bits, the lowest first, so that all of it is
  // exact.
  #low = 0
  #middle = 0
  #high = 0
  /** Whether the last byte that was read has the continuation bit. */
  #going = false
  #values = 0

  readonly #valuesMax: number

  constructor(bytes: Uint8Array, valuesMax: number = bodyLimits.valuesMax) {
    this.#valuesMax = valuesMax
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#end = bytes.byteLength
  }

  /** Whether the current message has bytes left. */
  get more(): boolean {
    return this.#at < this.#end
  }

  /** Counts decoded values. @throws ApiError RequestEntityTooLarge */
  countValues(more: number): void {
    this.#values += more
    if (this.#values > this.#valuesMax) throw tooManyValues('body', this.#valuesMax)
  }

  /** @returns the number of the next field times eight, plus its wire type */
  tag(): number {
    const tag = this.#unsigned()
    if (tag > TAG_MAX || tag < 8) throw new Malformed('a field has an invalid number')
    return tag
  }

  /** Skips the value of a field. */
  skip(wire: number): void {
    if (wire === WIRE_VARINT) this.#varint()
    else if (wire === WIRE_BYTES) this.#take(this.#unsigned())
    else if (wire === WIRE_BIT64) this.#take(8)
    else if (wire === WIRE_BIT32) this.#take(4)
    else throw new Malformed(`wire type ${wire} is not supported`)
  }

  /** Enters the message that is the value of a field. @returns the argument for `leave` */
  enter(wire: number): number {
    expect(wire, WIRE_BYTES)
    const length = this.#unsigned()
    const outer = this.#end
    if (length > outer - this.#at) throw new Malformed('it is cut short')
    this.#end = this.#at + length
    return outer
  }

  /** Leaves a nested message; the position is then after its end. */
  leave(outer: number): void {
    this.#at = this.#end
    this.#end = outer
  }

  /** Returns a view, not a copy. */
  bytes(wire: number): Buffer {
    expect(wire, WIRE_BYTES)
    const start = this.#take(this.#unsigned())
    return this.#bytes.subarray(start, this.#at)
  }

  text(wire: number): string {
    const bytes = this.bytes(wire)
    if (!isUtf8(bytes)) throw new Malformed('it is not valid UTF-8')
    return bytes.toString('utf8')
  }

  flag(wire: number): boolean {
    expect(wire, WIRE_VARINT)
    this.#varint()
    return this.#low !== 0 || this.#middle !== 0 || this.#high !== 0
  }

  /** Returns the lower 32 bits, like other protobuf decoders. */
  int32(wire: number): number {
    expect(wire, WIRE_VARINT)
    this.#varint()
    return (this.#low + (this.#middle & 0xf) * BITS_28) | 0
  }

  /** @returns bigint beyond 2^53 */
  int64(wire: number): number | bigint {
    expect(wire, WIRE_VARINT)
    this.#varint()
    const negative = this.#high >= 0x80
    const value = negative
      ? -1 - join(BITS_28 - 1 - this.#low, BITS_28 - 1 - this.#middle, 0xff - this.#high)
      : join(this.#low, this.#middle, this.#high)
    if (Number.isSafeInteger(value)) return value
    const exact = BigInt(this.#low) + (BigInt(this.#middle) << 28n) + (BigInt(this.#high) << 56n)
    return BigInt.asIntN(64, exact)
  }

  /** Reads a double. Throws for values that JSON cannot represent. */
  double(wire: number): number {
    expect(wire, WIRE_BIT64)
    const value = this.#bytes.readDoubleLE(this.#take(8))
    if (!Number.isFinite(value)) throw new Malformed(`number ${value} is not finite`)
    return value
  }

  #varint(): void {
    const first = this.#at < this.#end ? (this.#bytes[this.#at] ?? 0) : 0x80
    if (first < 0x80) {
      this.#at++
      this.#low = first
      this.#middle = 0
      this.#high = 0
      return
    }
    this.#low = this.#septets(4)
    this.#middle = this.#going ? this.#septets(4) : 0
    this.#high = this.#going ? this.#septets(2) : 0
    if (this.#going || this.#high > 0xff) throw new Malformed('a number has more than 64 bits')
  }

  /** Reads up to `count` bytes of a varint, seven bits each. */
  #septets(count: number): number {
    let value = 0
    let scale = 1
    for (let left = count; left > 0; left--) {
      if (this.#at >= this.#end) throw new Malformed('it is cut short')
      const byte = this.#bytes[this.#at++] ?? 0
      value += (byte & 0x7f) * scale
      scale *= 0x80
      this.#going = byte >= 0x80
      if (!this.#going) return value
    }
    return value
  }

  /**
   * Reads a tag or a length. Values that are too large for either are not exact, but stay too
   * large.
   */
  #unsigned(): number {
    this.#varint()
    return join(this.#low, this.#middle, this.#high)
  }

  /** @returns the position before the skipped bytes */
  #take(length: number): number {
    const start = this.#at
    if (length > this.#end - start) throw new Malformed('it is cut short')
    this.#at = start + length
    return start
  }
}

function join(low: number, middle: number, high: number): number {
  return low + (middle + high * BITS_28) * BITS_28
}

function expect(wire: number, wanted: number): void {
  if (wire !== wanted) throw new Malformed(`it is of another type (wire type ${wire}, not ${wanted})`)
}
