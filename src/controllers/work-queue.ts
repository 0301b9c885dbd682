import type { Clock, Timer } from '../../base/clock.ts'

/** Is called with the time that each key waited, and with the time that it was processed. */
export type QueueObserver = {
  readonly waited: (ms: number) => void
  readonly worked: (ms: number) => void
}

/**
 * A queue of keys: each at most once in the queue, and never processed twice at a time. A key added
 * while it is processed is queued again afterwards.
 */
export class WorkQueue {
  readonly #clock: Clock
  readonly #keysMax: number
  /** In order of arrival, with its time in monotonic ms. */
  readonly #ready = new Map<string, number>()
  readonly #delayed = new Map<string, Timer>()
  /** Keys being processed, with the start in monotonic ms. */
  readonly #working = new Map<string, number>()
  /** Keys added while they are processed. */
  readonly #again = new Set<string>()
  #onReady: (() => void) | null = null
  #observer: QueueObserver | null = null
  #adds = 0
  #retries = 0
  #errors = 0

  /** @param keysMax maximum number of waiting keys, at least 1; when full, `add` returns false */
  constructor(options: { readonly clock: Clock; readonly keysMax: number }) {
    this.#clock = options.clock
    this.#keysMax = options.keysMax
  }

  /** Number of keys that are ready. */
  get depth(): number {
    return this.#ready.size
  }

  /** Number of keys that became ready so far. */
  get adds(): number {
    return this.#adds
  }

  /** Number of keys that were delayed so far. */
  get retries(): number {
    return this.#retries
  }

  /** Number of times that the processing of a key failed so far. */
  get errors(): number {
    return this.#errors
  }

  /** Returns for how long each key has been processed, in ms. */
  workingMs(): readonly number[] {
    const nowMs = this.#clock.monotonicMs()
    return [...this.#working.values()].map((sinceMs) => nowMs - sinceMs)
  }

  /** Sets the only observer. */
  observe(observer: QueueObserver): void {
    this.#observer = observer
  }

  get size(): number {
    return this.#ready.size + this.#delayed.size + this.#again.size
  }

  /** Whether no key is accepted that is not in the queue already. */
  get isFull(): boolean {
    return this.size >= this.#keysMax
  }

  /** Returns false when full: the key is dropped, and the caller has to add it again later. */
  add(key: string): boolean {
    const waiting = this.#delayed.get(key)
    waiting?.cancel()
    this.#delayed.delete(key)
    if (this.#ready.has(key) || this.#again.has(key)) return true
    if (this.isFull) return false
    if (this.#working.has(key)) {
      this.#again.add(key)
      return true
    }
    this.#ready.set(key, this.#clock.monotonicMs())
    this.#adds++
    this.#onReady?.()
    return true
  }

  /** Adds a key after `delayMs`; an `add` before that queues it at once. Returns as `add`. */
  addAfter(key: string, delayMs: number): boolean {
    if (delayMs <= 0) return this.add(key)
    if (this.#ready.has(key) || this.#delayed.has(key) || this.#again.has(key)) return true
    if (this.isFull) return false
    const timer = this.#clock.after(delayMs, () => {
      this.#delayed.delete(key)
      this.add(key)
    })
    this.#delayed.set(key, timer)
    this.#retries++
    return true
  }

  /**
   * Returns the key that has waited longest; null when none is ready. Its processing ends with
   * `done`.
   */
  take(): string | null {
    for (const [key, sinceMs] of this.#ready) {
      const nowMs = this.#clock.monotonicMs()
      this.#ready.delete(key)
      this.#working.set(key, nowMs)
      this.#observer?.waited(nowMs - sinceMs)
      return key
    }
    return null
  }

  /** Counts an error of the processing of a key, which still ends with `done`. */
  failed(): void {
    this.#errors++
  }

  done(key: string): void {
    const sinceMs = this.#working.get(key)
    if (sinceMs !== undefined) this.#observer?.worked(this.#clock.monotonicMs() - sinceMs)
    this.#working.delete(key)
    if (this.#again.delete(key)) this.add(key)
  }

  /** Sets the only listener, which is called whenever a key becomes ready. */
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
