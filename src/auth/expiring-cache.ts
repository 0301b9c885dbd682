import type { Clock } from '../../base/clock.ts'

/** A bounded map whose entries expire. When full: the oldest entry is removed. */
export class ExpiringCache<V> {
  readonly #entriesMax: number
  readonly #clock: Clock
  readonly #entries = new Map<string, { readonly value: V; readonly untilMs: number }>()

  constructor(entriesMax: number, clock: Clock) {
    this.#entriesMax = entriesMax
    this.#clock = clock
  }

  get size(): number {
    return this.#entries.size
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    if (this.#clock.monotonicMs() < entry.untilMs) return entry.value
    this.#entries.delete(key)
    return undefined
  }

  /** @param keptMs how long the entry is valid; 0: it is not kept */
  set(key: string, value: V, keptMs: number): void {
    this.#entries.delete(key)
    if (keptMs <= 0) return
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size < this.#entriesMax) break
      this.#entries.delete(oldest)
    }
    this.#entries.set(key, { value, untilMs: this.#clock.monotonicMs() + keptMs })
  }
}
