import { Deferred } from '../../raft/base/deferred.ts'
import type { Clock } from '../../raft/base/clock.ts'
import { tooManyRequests } from '../api/api-errors.ts'
import { limits } from '../config/limits.ts'
import type { WatchStream } from '../registry/answer.ts'

/**
 * What keeps the thread for long is done a little at a time: large objects are evaluated as many at once as fit, the largest
 * alone, in the order in which they came, and between two of them others have their turn. Small ones never wait here.
 *
 * As long as the requests that wait, which flow control bounds.
 */
export class HeavyWork {
  readonly #clock: Clock
  readonly #waiting = new Set<Waiting>()
  #bytes = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * @param bytes of memory that the task takes, about
   * @throws ApiError `TooManyRequests` when it did not come to its turn in time
   */
  async run<T>(bytes: number, deadlineMs: number, task: () => Promise<T>): Promise<T> {
    if (bytes <= limits.heavyWorkBytesMin) return task()
    const weight = Math.min(bytes, limits.heavyWorkBytesMax)
    await this.#enter(weight, deadlineMs)
    const beganMs = this.#clock.monotonicMs()
    try {
      return await task()
    } finally {
      this.#bytes -= weight
      // Others need several turns for one small request: they have a quarter of the time that this took.
      const tookMs = this.#clock.monotonicMs() - beganMs
      this.#clock.after(Math.min(tookMs / 4, PAUSE_MS_MAX), () => this.#next())
    }
  }

  /** One piece after the other, each as a task that takes all there is. */
  async *pieces(
    pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
    deadlineMs: () => number,
  ): AsyncGenerator<Uint8Array, void> {
    const puller = Symbol.iterator in pieces ? pieces[Symbol.iterator]() : pieces[Symbol.asyncIterator]()
    try {
      for (;;) {
        const next = await this.run(limits.heavyWorkBytesMax, deadlineMs(), async () => puller.next())
        if (next.done === true) return
        yield next.value
      }
    } finally {
      await puller.return?.()
    }
  }

  /** The same of a watch: each time it is pulled. */
  watch(stream: WatchStream, deadlineMs: () => number): WatchStream {
    return {
      next: () => this.run(limits.heavyWorkBytesMax, deadlineMs(), async () => stream.next()),
      onMore: (wake) => stream.onMore(wake),
      fail: (error) => stream.fail(error),
      close: () => stream.close(),
    }
  }

  async #enter(weight: number, deadlineMs: number): Promise<void> {
    if (this.#waiting.size === 0 && this.#fits(weight)) {
      this.#bytes += weight
      return
    }
    const waiting: Waiting = { weight, turn: new Deferred() }
    this.#waiting.add(waiting)
    const timer = this.#clock.after(Math.max(0, deadlineMs - this.#clock.monotonicMs()), () => {
      if (this.#waiting.delete(waiting)) waiting.turn.reject(tooManyRequests(1))
    })
    try {
      await waiting.turn.promise
    } finally {
      timer.cancel()
    }
  }

  #next(): void {
    for (const waiting of this.#waiting) {
      if (!this.#fits(waiting.weight)) return
      this.#waiting.delete(waiting)
      this.#bytes += waiting.weight
      waiting.turn.resolve()
    }
  }

  #fits(weight: number): boolean {
    return this.#bytes === 0 || this.#bytes + weight <= limits.heavyWorkBytesMax
  }
}

const PAUSE_MS_MAX = 250

type Waiting = { readonly weight: number; readonly turn: Deferred<void> }
