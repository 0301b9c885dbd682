import { Deferred } from '../../base/deferred.ts'
import type { Clock } from '../../base/clock.ts'
import { tooManyRequests } from '../api/errors/standard-errors.ts'
import { limits } from '../config/limits.ts'
import type { WatchStream } from '../registry/calls/verb.ts'

/**
 * What keeps the thread for long is done a little at a time: large objects are evaluated as many at once as fit, the largest
 * alone, none begins in the turn in which another one began, and behind each that ended others have their turns. Users who
 * wait take turns, and each one's requests keep their order, so nobody waits behind all that somebody else asked for. Small
 * ones never wait here.
 *
 * As long as the requests that wait, which flow control bounds.
 */
export class HeavyWork {
  readonly #clock: Clock
  /** By user, the one whose turn is next first. Nobody is here without a request. */
  readonly #waiting = new Map<string, Set<Waiting>>()
  #bytes = 0
  /** Nothing heavy begins now. */
  #isPausing = false
  #pauseUntilMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * @param of `bytes` of memory that the task takes, about; one that `isHeavy` does not know begins at once
   * @throws ApiError `TooManyRequests` when it did not come to its turn in time
   */
  async run<T>({ user, bytes, deadlineMs }: HeavyTask, task: () => Promise<T>): Promise<T> {
    if (!isHeavy(bytes)) return task()
    const weight = Math.min(bytes, limits.heavyWorkBytesMax)
    await this.#enter(user, weight, deadlineMs)
    const beganMs = this.#clock.monotonicMs()
    let isCounted = true
    const release = (): void => {
      if (!isCounted) return
      isCounted = false
      this.#bytes -= weight
      const tookMs = this.#clock.monotonicMs() - beganMs
      // Others need several turns for one small request: they have a quarter of the time that a long one took.
      this.#pause(tookMs < LONG_MS ? 0 : Math.min(tookMs / 4, PAUSE_MS_MAX))
    }
    // By then it waits for something else than this thread, as for a quorum.
    const timer = this.#clock.after(limits.heavyWorkMsMax, release)
    try {
      return await task()
    } finally {
      timer.cancel()
      release()
    }
  }

  /** One piece after the other, each as a task that takes all there is. */
  async *pieces(
    user: string,
    pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
    deadlineMs: () => number,
  ): AsyncGenerator<Uint8Array, void> {
    const puller = Symbol.iterator in pieces ? pieces[Symbol.iterator]() : pieces[Symbol.asyncIterator]()
    try {
      for (;;) {
        const next = await this.run(wholeOf(user, deadlineMs()), async () => puller.next())
        if (next.done === true) return
        yield next.value
      }
    } finally {
      await puller.return?.()
    }
  }

  /** The same of a watch: each time it is pulled. */
  watch(user: string, stream: WatchStream, deadlineMs: () => number): WatchStream {
    return {
      next: () => this.run(wholeOf(user, deadlineMs()), async () => stream.next()),
      onMore: (wake) => stream.onMore(wake),
      fail: (error) => stream.fail(error),
      close: () => stream.close(),
    }
  }

  async #enter(user: string, weight: number, deadlineMs: number): Promise<void> {
    if (this.#waiting.size === 0 && this.#fits(weight)) {
      this.#begin(weight)
      return
    }
    const waiting: Waiting = { weight, turn: new Deferred() }
    const queue = this.#waiting.get(user) ?? new Set()
    this.#waiting.set(user, queue.add(waiting))
    const timer = this.#clock.after(Math.max(0, deadlineMs - this.#clock.monotonicMs()), () => {
      if (this.#leave(user, waiting)) waiting.turn.reject(tooManyRequests(1))
    })
    try {
      await waiting.turn.promise
    } finally {
      timer.cancel()
    }
  }

  /** @returns false when it waits no more */
  #leave(user: string, waiting: Waiting): boolean {
    const queue = this.#waiting.get(user)
    if (queue?.delete(waiting) !== true) return false
    if (queue.size === 0) this.#waiting.delete(user)
    return true
  }

  #begin(weight: number): void {
    this.#bytes += weight
    this.#pause(0)
  }

  /** Behind a turn, and so much time at least. */
  #pause(ms: number): void {
    this.#pauseUntilMs = Math.max(this.#pauseUntilMs, this.#clock.monotonicMs() + ms)
    if (!this.#isPausing) this.#waitForEnd()
  }

  #waitForEnd(): void {
    this.#isPausing = true
    const end = (): void => {
      this.#isPausing = false
      if (this.#pauseUntilMs - this.#clock.monotonicMs() >= 1) this.#waitForEnd()
      else this.#next()
    }
    const leftMs = this.#pauseUntilMs - this.#clock.monotonicMs()
    // Timers are no finer than that.
    if (leftMs >= 1) this.#clock.after(leftMs, end)
    else this.#clock.soon(end)
  }

  /** Lets the first of the user begin whose turn it is, unless it is too large beside what is not done yet. */
  #next(): void {
    const [first] = this.#waiting
    if (first === undefined) return
    const [user, queue] = first
    const [waiting] = queue
    if (waiting === undefined || !this.#fits(waiting.weight)) return
    this.#leave(user, waiting)
    // The others come first now.
    if (this.#waiting.delete(user)) this.#waiting.set(user, queue)
    this.#begin(waiting.weight)
    waiting.turn.resolve()
  }

  #fits(weight: number): boolean {
    if (this.#isPausing) return false
    return this.#bytes === 0 || this.#bytes + weight <= limits.heavyWorkBytesMax
  }
}

/** Whether a task of so many bytes has to wait for its turn. */
export function isHeavy(bytes: number): boolean {
  return bytes > limits.heavyWorkBytesMin
}

const LONG_MS = 20
const PAUSE_MS_MAX = 250

export type HeavyTask = { readonly user: string; readonly bytes: number; readonly deadlineMs: number }

function wholeOf(user: string, deadlineMs: number): HeavyTask {
  return { user, bytes: limits.heavyWorkBytesMax, deadlineMs }
}

type Waiting = { readonly weight: number; readonly turn: Deferred<void> }
