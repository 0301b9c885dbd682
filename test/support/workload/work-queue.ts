import { setTimeout as sleep } from 'node:timers/promises'
import { failureOf } from './member-clients.ts'

/** Pauses after failures of one key, in ms: each is twice the one before. */
const backoffMs = { first: 5, max: 2000 }

/**
 * The queue of a controller. A key is worked on by one worker at a time, and again if it was added
 * in between. A failed request repeats the key after a pause; any other error is a bug of the test.
 */
export class WorkQueue {
  readonly #work: (key: string) => Promise<void>
  readonly #onBug: (cause: unknown) => void
  readonly #workers: number
  readonly #waiting = new Set<string>()
  readonly #running = new Map<string, Promise<void>>()
  readonly #failures = new Map<string, number>()
  #isStarted = false
  #isStopped = false

  constructor(of: {
    readonly workers: number
    readonly work: (key: string) => Promise<void>
    readonly onBug: (cause: unknown) => void
  }) {
    this.#workers = of.workers
    this.#work = of.work
    this.#onBug = of.onBug
  }

  add(key: string): void {
    if (this.#isStopped) return
    this.#waiting.add(key)
    this.#next()
  }

  /** Work begins: the caches are complete. */
  start(): void {
    this.#isStarted = true
    this.#next()
  }

  /** Begins no further work; resolves when the work in progress has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#waiting.clear()
    await Promise.all(this.#running.values())
  }

  #next(): void {
    for (const key of this.#waiting) {
      if (this.#isStopped || !this.#isStarted || this.#running.size >= this.#workers) return
      if (this.#running.has(key)) continue
      this.#waiting.delete(key)
      this.#running.set(key, this.#run(key))
    }
  }

  async #run(key: string): Promise<void> {
    try {
      await this.#work(key)
      this.#failures.delete(key)
    } catch (cause) {
      if (failureOf(cause) === null) this.#onBug(cause)
      else void this.#repeat(key)
    }
    this.#running.delete(key)
    this.#next()
  }

  async #repeat(key: string): Promise<void> {
    const failures = this.#failures.get(key) ?? 0
    this.#failures.set(key, failures + 1)
    await sleep(Math.min(backoffMs.first * 2 ** failures, backoffMs.max))
    this.add(key)
  }
}
