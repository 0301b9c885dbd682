/**
 * Something that is made of the catalog: anew when it is asked for and the catalog has changed, never otherwise. Whoever
 * asks while it is being made waits for that, and for at most one more when the catalog had changed by then.
 */
export class Derived<T> {
  readonly #versionNow: () => number
  readonly #make: () => Promise<T>
  #made: { readonly version: number; readonly value: T } | null = null
  #making: Promise<void> | null = null

  /** @param make of the catalog as it is when it is called */
  constructor(versionNow: () => number, make: () => Promise<T>) {
    this.#versionNow = versionNow
    this.#make = make
  }

  /** As new as the catalog at the time of the call, or newer. */
  async get(): Promise<T> {
    const wanted = this.#versionNow()
    for (;;) {
      if (this.#made !== null && this.#made.version >= wanted) return this.#made.value
      this.#making ??= this.#makeOne()
      await this.#making
    }
  }

  async #makeOne(): Promise<void> {
    const version = this.#versionNow()
    try {
      const value = await this.#make()
      this.#made = { version, value }
    } finally {
      this.#making = null
    }
  }
}
