import { timeout } from '../api/api-errors.ts'
import { Deferred } from '../../raft/base/deferred.ts'
import type { Clock } from '../../raft/base/clock.ts'
import type { Key } from '../store/key.ts'

/**
 * Lets those who fight over one object go one after the other: only one of a crowd can win each race, and
 * the losing commands would fill the log. As long as the requests that wait, which the server bounds.
 */
export class Turns {
  readonly #clock: Clock
  /** Who waits for each key that somebody has. */
  readonly #waiting = new Map<Key, Set<Deferred<void>>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Resolves when it is the caller's turn; `leave` must follow. @throws ApiError `Timeout` at the deadline */
  async enter(key: Key, deadlineMs: number): Promise<void> {
    const waiting = this.#waiting.get(key)
    if (waiting === undefined) {
      this.#waiting.set(key, new Set())
      return
    }
    const turn = new Deferred<void>()
    waiting.add(turn)
    const timer = this.#clock.after(Math.max(0, deadlineMs - this.#clock.monotonicMs()), () => {
      if (waiting.delete(turn))
        turn.reject(timeout('too many others change this object, nothing was changed'))
    })
    try {
      await turn.promise
    } finally {
      timer.cancel()
    }
  }

  leave(key: Key): void {
    const waiting = this.#waiting.get(key)
    for (const next of waiting ?? []) {
      waiting?.delete(next)
      next.resolve()
      return
    }
    this.#waiting.delete(key)
  }
}
