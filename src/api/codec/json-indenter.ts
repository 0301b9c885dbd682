/**
 * Indents JSON for humans, two spaces per level, in a streaming fashion. It does not validate, so
 * the JSON must be well-formed; only white space between tokens changes.
 */
export class JsonIndenter {
  #depth = 0
  /** Whether the last token was an opening bracket. An empty pair of brackets stays on one line. */
  #opened = false
  #inString = false
  #escaped = false
  #out = new Uint8Array(0)
  #length = 0

  /** @returns the indented form of `piece`, as a copy */
  write(piece: Uint8Array): Uint8Array {
    this.#out = new Uint8Array(piece.length * 2 + 64)
    this.#length = 0
    for (const byte of piece) {
      if (this.#inString) this.#inside(byte)
      else if (byte > SPACE) this.#between(byte)
    }
    return this.#out.subarray(0, this.#length)
  }

  #inside(byte: number): void {
    this.#put(byte)
    if (this.#escaped) this.#escaped = false
    else if (byte === BACKSLASH) this.#escaped = true
    else if (byte === QUOTE) this.#inString = false
  }

  #between(byte: number): void {
    const closing = byte === CLOSE_BRACE || byte === CLOSE_BRACKET
    if (closing) this.#depth--
    if (closing !== this.#opened) this.#newLine()
    this.#opened = false
    this.#put(byte)
    switch (byte) {
      case QUOTE:
        this.#inString = true
        break
      case OPEN_BRACE:
      case OPEN_BRACKET:
        this.#depth++
        this.#opened = true
        break
      case COMMA:
        this.#newLine()
        break
      case COLON:
        this.#put(SPACE)
        break
      default:
        if (closing && this.#depth === 0) this.#put(NEW_LINE)
    }
  }

  #newLine(): void {
    this.#put(NEW_LINE)
    for (let left = 2 * Math.min(this.#depth, LEVELS_MAX); left > 0; left--) this.#put(SPACE)
  }

  #put(byte: number): void {
    if (this.#length === this.#out.length) {
      const larger = new Uint8Array(this.#out.length * 2)
      larger.set(this.#out)
      this.#out = larger
    }
    this.#out[this.#length++] = byte
  }
}

/**
 * Deeper levels are indented no further: many small values at a great depth would grow a
 * hundredfold.
 */
const LEVELS_MAX = 16

const NEW_LINE = 0x0a
const SPACE = 0x20
const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_BRACKET = 0x5b
const BACKSLASH = 0x5c
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
