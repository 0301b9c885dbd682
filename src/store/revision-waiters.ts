import type { Clock, Timer } from '../../base/clock.ts'
import { Deferred } from '../../base/deferred.ts'
import { StoreError } from './store-errors.ts'
import type { Revision } from './revision.ts'

/** Requests that wait for a future revision. Few, so they are searched linearly. */
export class RevisionWaiters {
  readonly #clock: Clock
  readonly #waitersMax: number
  readonly #waiting = new Set<Waiter>()
  #closed = false

  constructor(options: { readonly clock: Clock; readonly waitersMax: number }) {
    this.#clock = options.clock
    this.#waitersMax = options.waitersMax
  }

  /**
   * @param options.reached the revision of memory
   * @throws StoreError `future`, `overloaded`, `stopped`
   */
  async wait(
    revision: Revision,
    options: { readonly reached: Revision; readonly deadlineMs: number },
  ): Promise<void> {
    if (revision <= options.reached) return
    if (this.#closed) throw new StoreError('stopped', 'this member is stopping')
    if (this.#waiting.size >= this.#waitersMax) throw new StoreError('overloaded', 'too many requests wait')
    const delayMs = options.deadlineMs - this.#clock.monotonicMs()
    if (delayMs <= 0) throw future(revision)
    const done = new Deferred<void>()
    const timer = this.#clock.after(delayMs, () => {
      this.#waiting.delete(waiter)
      done.reject(future(revision))
    })
    const waiter: Waiter = { revision, done, timer }
    this.#waiting.add(waiter)
    await done.promise
  }

  reached(revision: Revision): void {
    for (const waiter of this.#waiting) {
      if (waiter.revision > revision) continue
      this.#waiting.delete(waiter)
      waiter.timer.cancel()
      waiter.done.resolve()
    }
  }

  close(): void {
    this.#closed = true
    for (const waiter of this.#waiting) {
      waiter.timer.cancel()
      waiter.done.reject(new StoreError('stopped', 'this member is stopping'))
    }
    this.#waiting.clear()
  }
}

type Waiter = { readonly revision: Revision; readonly done: Deferred<void>; readonly timer: Timer }

function future(revision: Revision): StoreError {
  return new StoreError('future', `revision ${revision} was not reached in time`)
}
