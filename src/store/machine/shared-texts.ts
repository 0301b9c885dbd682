/**
 * Texts that many stored objects have in common, in memory once: the `managedFields` of objects of
 * one shape differ only in times. Sharing affects only memory.
 *
 * A text is shared from the second time it is seen. A shared text is forgotten once no object
 * refers to it. Texts seen once are remembered up to a number of bytes; the memory of texts that no
 * two objects have is limited by that.
 */
export class SharedTexts {
  readonly #shared = new Map<string, WeakRef<SharedText>>()
  readonly #unused = new FinalizationRegistry<string>((text) => {
    if (this.#shared.get(text)?.deref() === undefined) this.#shared.delete(text)
  })
  readonly #limits: SharedTextLimits
  /** Texts seen once: the newer and the older half. */
  #newer = new Set<string>()
  #older = new Set<string>()
  #newerBytes = 0

  constructor(limits: SharedTextLimits) {
    this.#limits = limits
  }

  /** Number of texts that are shared now. */
  get size(): number {
    return this.#shared.size
  }

  /** @param text one character for each byte. @returns null: it is not worth sharing, or not yet */
  find(text: string): SharedText | null {
    if (text.length < this.#limits.bytesMin || text.length > this.#limits.bytesMax) return null
    const known = this.#shared.get(text)?.deref()
    if (known !== undefined) return known
    if (!this.#newer.has(text) && !this.#older.has(text)) {
      this.#remember(text)
      return null
    }
    if (this.#newer.delete(text)) this.#newerBytes -= text.length
    this.#older.delete(text)
    const shared = { bytes: Buffer.from(text, 'latin1') }
    const name = copyOf(text)
    this.#shared.set(name, new WeakRef(shared))
    this.#unused.register(shared, name)
    return shared
  }

  #remember(text: string): void {
    if (this.#newerBytes + text.length > this.#limits.rememberedBytesMax / 2) {
      this.#older = this.#newer
      this.#newer = new Set()
      this.#newerBytes = 0
    }
    this.#newer.add(copyOf(text))
    this.#newerBytes += text.length
  }
}

/** A slice of a longer text keeps all of it in memory; a copy does not. */
function copyOf(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1')
}

export type SharedText = { readonly bytes: Buffer }

export type SharedTextLimits = {
  /** Bytes of a text. Shorter or longer: it stays in its object. */
  readonly bytesMin: number
  readonly bytesMax: number
  /** Bytes of the texts seen once. More: the older half is forgotten. */
  readonly rememberedBytesMax: number
}
