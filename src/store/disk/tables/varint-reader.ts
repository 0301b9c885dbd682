/** What is read is not what the format allows. */
export class Malformed extends Error {}

/**
 * Reads LevelDB's own notation: numbers of seven bits a byte, lowest first, and texts behind their
 * length.
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

  /** A whole number up to 2^53 - 1: no file is larger. @throws Malformed */
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

  /** So many bytes, not copied. @throws Malformed */
  take(count: number): Uint8Array {
    if (count > this.#bytes.byteLength - this.#at) throw new Malformed('the bytes end early')
    return this.#bytes.subarray(this.#at, (this.#at += count))
  }

  /** Bytes behind their length. @throws Malformed */
  prefixed(): Uint8Array {
    return this.take(this.number())
  }
}

/** Of the eighth byte; a ninth would be beyond what a number here can be. */
const FACTOR_MAX = 128 ** 7
