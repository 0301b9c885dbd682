import type { Clock, Timer } from '../../base/clock.ts'

/**
 * A queue of keys: each at most once in the queue, and never processed twice at a time. A key added
 * while it is processed is queued again afterwards.
 */
export class WorkQueue {
  readonly #clock: Clock
  readonly #keysMax: number
  /** In order of arrival. */
  readonly #ready = new Set<string>()
  readonly #delayed = new Map<string, Timer>()
  readonly #working = new Set<string>()
  /** Keys added while they are processed. */
  readonly #again = new Set<string>()
  #onReady: (() => void) | null = null

  /** @param keysMax maximum number of waiting keys, at least 1; when full, `add` rejects */
  constructor(options: { readonly clock: Clock; readonly keysMax: number }) {
    this.#clock = options.clock
    this.#keysMax = options.keysMax
  }

  get size(): number {
    return this.#ready.size + this.#delayed.size + this.#again.size
  }

  /** Returns false when full: the key is dropped, and a later resync adds it again. */
  add(key: string): boolean {
    const waiting = this.#delayed.get(key)
    waiting?.cancel()
    this.#delayed.delete(key)
    if (this.#ready.has(key) || this.#again.has(key)) return true
    if (this.size >= this.#keysMax) return false
    if (this.#working.has(key)) {
      this.#again.add(key)
      return true
    }
    this.#ready.add(key)
    this.#onReady?.()
    return true
  }

  /** Like `add`, `delayMs` from now; an `add` before that queues it at once. */
  addAfter(key: string, delayMs: number): boolean {
    if (delayMs <= 0) return this.add(key)
    if (this.#ready.has(key) || this.#delayed.has(key) || this.#again.has(key)) return true
    if (this.size >= this.#keysMax) return false
    const timer = this.#clock.after(delayMs, () => {
      this.#delayed.delete(key)
      this.add(key)
    })
    this.#delayed.set(key, timer)
    return true
  }

  /**
   * Returns the key that has waited longest; null when none is ready. Its processing ends with
   * `done`.
   */
  take(): string | null {
    for (const key of this.#ready) {
      this.#ready.delete(key)
      this.#working.add(key)
      return key
    }
    return null
  }

  done(key: string): void {
    this.#working.delete(key)
    if (this.#again.delete(key)) this.add(key)
  }

  /** Called whenever a key becomes ready. One listener. */
  onReady(listener: (() => void) | null): void {
    this.#onReady = listener
  }

  clear(): void {
    for (const timer of this.#delayed.values()) timer.cancel()
    this.#delayed.clear()
    this.#ready.clear()
    this.#again.clear()
  }
}
