import type { Clock, Timer } from '../../base/clock.ts'
import type { WorkQueue } from './work-queue.ts'

export type KeyWalkOptions = {
  readonly clock: Clock
  readonly queue: Pick<WorkQueue, 'add' | 'isFull'>
  /** Returns every key that may need work. */
  readonly keys: () => Iterable<string>
  /** Delay after a walk, or after a missed key, before the next walk begins. */
  readonly pauseMs: number
}

/** Keys that are added in one turn of the event loop. */
const keysPerTurn = 10_000

/**
 * Adds every key to a bounded queue, as fast as the queue has space. A key that the queue did not
 * accept in between is found by the next walk, so that none is lost.
 */
export class KeyWalk {
  readonly #options: KeyWalkOptions
  /** The rest of the present walk. */
  #rest: Iterator<string> | null = null
  #isMissed = false
  #pause: Timer | null = null
  #isScheduled = false

  constructor(options: KeyWalkOptions) {
    this.#options = options
  }

  /** Whether keys that may need work are missing in the queue. */
  get isPending(): boolean {
    return this.#rest !== null || this.#isMissed
  }

  start(): void {
    this.#begin()
  }

  stop(): void {
    this.#pause?.cancel()
    this.#pause = null
    this.#rest = null
    this.#isMissed = false
  }

  /** Called when the queue did not accept a key. */
  missed(): void {
    this.#isMissed = true
    if (this.#rest === null) this.#beginLater()
  }

  /** To be called when the queue may have space again. */
  proceed(): void {
    if (this.#rest === null || this.#isScheduled) return
    this.#isScheduled = true
    this.#options.clock.soon(() => {
      this.#isScheduled = false
      this.#step()
    })
  }

  #begin(): void {
    this.#isMissed = false
    this.#rest = this.#options.keys()[Symbol.iterator]()
    this.#step()
  }

  #beginLater(): void {
    const { clock, pauseMs } = this.#options
    this.#pause ??= clock.after(pauseMs, () => {
      this.#pause = null
      if (this.#rest === null) this.#begin()
    })
  }

  #step(): void {
    const { queue } = this.#options
    for (let added = 0; added < keysPerTurn; added++) {
      if (this.#rest === null || queue.isFull) return
      const next = this.#rest.next()
      if (next.done === true) {
        this.#rest = null
        if (this.#isMissed) this.#beginLater()
        return
      }
      queue.add(next.value)
    }
    this.proceed()
  }
}
