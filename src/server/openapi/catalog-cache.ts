/**
 * A value computed from the catalog, recomputed on request when the catalog has changed. Concurrent
 * callers share one computation, and wait for at most one more if the catalog changed in between.
 */
export class CatalogCache<T> {
  readonly #versionNow: () => number
  readonly #make: () => Promise<T>
  #made: { readonly version: number; readonly value: T } | null = null
  #making: Promise<void> | null = null

  /** @param make computes the value from the current catalog */
  constructor(versionNow: () => number, make: () => Promise<T>) {
    this.#versionNow = versionNow
    this.#make = make
  }

  /** Returns a value at least as new as the catalog at the time of the call. */
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
