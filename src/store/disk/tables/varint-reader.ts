/** The data violates the format. */
export class Malformed extends Error {}

/**
 * Reads LevelDB's encoding: little-endian varints of seven bits per byte, and length-prefixed
 * strings.
 */
export class VarintReader {
  readonly #bytes: Uint8Array
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.byteLength
  }

  /** Reads a whole number up to 2^53 - 1: no file is larger. @throws Malformed */
  number(): number {
    let value = 0
    for (let factor = 1; factor <= FACTOR_MAX; factor *= 128) {
      const byte = this.#bytes[this.#at++]
      if (byte === undefined) throw new Malformed('a number has no end')
      value += (byte & 0x7f) * factor
      if (!Number.isSafeInteger(value)) break
      if (byte < 0x80) return value
    }
    throw new Malformed('a number is too large')
  }

  /** Returns a view of the next bytes. @throws Malformed */
  take(count: number): Uint8Array {
    if (count > this.#bytes.byteLength - this.#at) throw new Malformed('the bytes end early')
    return this.#bytes.subarray(this.#at, (this.#at += count))
  }

  /** Reads length-prefixed bytes. @throws Malformed */
  prefixed(): Uint8Array {
    return this.take(this.number())
  }
}

/** Factor of the eighth byte; a ninth would exceed the safe integers. */
const FACTOR_MAX = 128 ** 7
