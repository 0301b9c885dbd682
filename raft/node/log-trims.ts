import type { Clock } from '../../base/clock.ts'
import type { LogIndex } from '../core/types.ts'

/**
 * Time limit for an answer in ms. The raft thread answers at once, or when the log thread has
 * written the log.
 */
const answerMsMax = 30_000

/** Requests to remove old entries from the files of the log. */
export class LogTrims {
  readonly #clock: Clock
  readonly #send: (request: number, through: LogIndex) => void
  /** Resolves the promise of each request. */
  readonly #waiting = new Map<number, (isDone: boolean) => void>()
  #last = 0

  constructor(clock: Clock, send: (request: number, through: LogIndex) => void) {
    this.#clock = clock
    this.#send = send
  }

  /**
   * Sends a request.
   *
   * @returns false: it was not possible now, or the outcome is not known
   */
  trim(through: LogIndex): Promise<boolean> {
    const request = ++this.#last
    return new Promise((resolve) => {
      const timer = this.#clock.after(answerMsMax, () => this.answered(request, false))
      this.#waiting.set(request, (isDone) => {
        timer.cancel()
        resolve(isDone)
      })
      this.#send(request, through)
    })
  }

  answered(request: number, isDone: boolean): void {
    const resolve = this.#waiting.get(request)
    this.#waiting.delete(request)
    resolve?.(isDone)
  }

  stop(): void {
    for (const request of [...this.#waiting.keys()]) this.answered(request, false)
  }
}
