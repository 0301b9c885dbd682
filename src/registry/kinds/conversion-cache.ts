/** Objects that webhooks converted, for all kinds. The least recently used are dropped. */
export class ConversionCache {
  readonly #bytesMax: number
  /** In the order of their last use. */
  readonly #objects = new Map<string, Uint8Array>()
  #bytes = 0
  #views = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Returns a prefix for the keys of one version of one definition. */
  nextPrefix(): string {
    return `${++this.#views}/`
  }

  get(key: string): Uint8Array | null {
    const found = this.#objects.get(key)
    if (found === undefined) return null
    this.#objects.delete(key)
    this.#objects.set(key, found)
    return found
  }

  /** An object that would take more than an eighth of the cache is not kept. */
  set(key: string, bytes: Uint8Array): void {
    const cost = costOf(key, bytes)
    if (cost > this.#bytesMax / 8) return
    this.#remove(key)
    this.#objects.set(key, bytes)
    this.#bytes += cost
    for (const oldest of this.#objects.keys()) {
      if (this.#bytes <= this.#bytesMax) return
      this.#remove(oldest)
    }
  }

  #remove(key: string): void {
    const found = this.#objects.get(key)
    if (found === undefined) return
    this.#objects.delete(key)
    this.#bytes -= costOf(key, found)
  }
}

/** Bytes of an entry besides its object and its key. */
const ENTRY_BYTES = 160

function costOf(key: string, { byteLength }: Uint8Array): number {
  return byteLength + key.length + ENTRY_BYTES
}
