import type { Clock, Timer } from '../../base/clock.ts'

/**
 * Keys to work on: each at most once in the queue, and none handed out twice at a time. A key added while it
 * is worked on comes again afterwards.
 */
export class WorkQueue {
  readonly #clock: Clock
  readonly #keysMax: number
  /** In order of arrival. */
  readonly #ready = new Set<string>()
  readonly #delayed = new Map<string, Timer>()
  readonly #working = new Set<string>()
  /** Added again while worked on. */
  readonly #again = new Set<string>()
  #onReady: (() => void) | null = null

  /** @param keysMax keys waiting, at least 1; when full, `add` refuses */
  constructor(parts: { readonly clock: Clock; readonly keysMax: number }) {
    this.#clock = parts.clock
    this.#keysMax = parts.keysMax
  }

  get size(): number {
    return this.#ready.size + this.#delayed.size + this.#again.size
  }

  /** @returns false when full: the key was not taken, a later resync brings it again */
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

  /** As `add`, `delayMs` from now; an `add` before that brings it at once. */
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

  /** The key that waits longest; null when none is ready. Ends with `done`. */
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
