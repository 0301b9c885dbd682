/** The plain content of an encrypted object. */
export type Plain = {
  /** Complete JSON, with the revision. */
  readonly bytes: Uint8Array
  readonly labels: Readonly<Record<string, string>> | null
}

/**
 * Plain contents that were decrypted, by the object. When full: the least recently used are
 * evicted, and decrypted again when they are read. Without the cache, each of a thousand watches
 * would decrypt each event.
 */
export class PlainCache {
  readonly #bytesMax: number
  /** Least recently used first. */
  readonly #entries = new Map<object, Plain>()
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get bytes(): number {
    return this.#bytes
  }

  get(of: object): Plain | null {
    const plain = this.#entries.get(of)
    if (plain === undefined) return null
    this.#entries.delete(of)
    this.#entries.set(of, plain)
    return plain
  }

  add(of: object, plain: Plain): void {
    this.#remove(of)
    this.#entries.set(of, plain)
    this.#bytes += costOf(plain)
    for (const [oldest] of this.#entries) {
      if (this.#bytes <= this.#bytesMax) break
      this.#remove(oldest)
    }
  }

  /** Removes everything, for example after a change of keys. */
  clear(): void {
    this.#entries.clear()
    this.#bytes = 0
  }

  #remove(of: object): void {
    const plain = this.#entries.get(of)
    if (plain === undefined) return
    this.#entries.delete(of)
    this.#bytes -= costOf(plain)
  }
}

const entryOverheadBytes = 300

function costOf({ bytes }: Plain): number {
  return bytes.byteLength + entryOverheadBytes
}
