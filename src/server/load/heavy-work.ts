import { Deferred } from '../../../base/deferred.ts'
import type { Clock } from '../../../base/clock.ts'
import { tooManyRequests } from '../../api/errors/standard-errors.ts'
import { limits } from '../../config/limits.ts'
import type { WatchStream } from '../../registry/calls/verb.ts'

/**
 * Schedules work that occupies the thread for long. Large objects are evaluated concurrently only
 * as far as their memory fits, the largest alone; no task begins in the event-loop turn in which
 * another began, and other work gets a turn after each task. Users are served round robin and each
 * user's requests in order, so no user waits for all requests of another. Small tasks never wait.
 *
 * The queue is bounded by the calls in progress, watches included, which flow control limits.
 */
export class HeavyWork {
  readonly #clock: Clock
  /** By user, in round-robin order. A user without a waiting request has no entry. */
  readonly #waiting = new Map<string, Set<Waiting>>()
  #bytes = 0
  /** No heavy task may begin now. */
  #isPausing = false
  #pauseUntilMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Runs a task when it is its turn.
   * @param of `bytes` is the estimated memory of the task; one that `isHeavy` does not cover begins
   * at once
   * @throws ApiError `TooManyRequests` when its turn did not come in time
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
      // A small request needs several turns: after a long task, other work gets a quarter of the
      // time that the task took.
      this.#pause(tookMs < LONG_MS ? 0 : Math.min(tookMs / 4, PAUSE_MS_MAX))
    }
    // After `heavyWorkMsMax` the task most likely waits for something other than this thread, such
    // as a quorum.
    const timer = this.#clock.after(limits.heavyWorkMsMax, release)
    try {
      return await task()
    } finally {
      timer.cancel()
      release()
    }
  }

  /** Produces each piece as a task that takes all of the memory limit. */
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

  /** Runs each pull of a watch as a task that takes all of the memory limit. */
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

  /** Returns false if the task does not wait any longer. */
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

  /** Lets no heavy task begin until the next turn, and for at least this time. */
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
    // The resolution of timers is 1 ms.
    if (leftMs >= 1) this.#clock.after(leftMs, end)
    else this.#clock.soon(end)
  }

  /**
   * Starts the first task of the next user, unless it is too large to run with those in progress.
   */
  #next(): void {
    const [first] = this.#waiting
    if (first === undefined) return
    const [user, queue] = first
    const [waiting] = queue
    if (waiting === undefined || !this.#fits(waiting.weight)) return
    this.#leave(user, waiting)
    // The other users come first now.
    if (this.#waiting.delete(user)) this.#waiting.set(user, queue)
    this.#begin(waiting.weight)
    waiting.turn.resolve()
  }

  #fits(weight: number): boolean {
    if (this.#isPausing) return false
    return this.#bytes === 0 || this.#bytes + weight <= limits.heavyWorkBytesMax
  }
}

/** Whether a task of this many bytes has to wait for its turn. */
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
