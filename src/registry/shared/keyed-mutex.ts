import { timeout } from '../../api/errors/standard-errors.ts'
import { Deferred } from '../../../base/deferred.ts'
import type { Clock } from '../../../base/clock.ts'
import type { Key } from '../../store/key.ts'

/**
 * Serializes concurrent writers of one object: only one of them can win each race, and losing
 * commands would fill the log. Holds one waiter per waiting request, whose number the server
 * bounds.
 */
export class KeyedMutex {
  readonly #clock: Clock
  /** The waiters for each key that is locked, in order. */
  readonly #waiting = new Map<Key, Set<Deferred<void>>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  isLocked(key: Key): boolean {
    return this.#waiting.has(key)
  }

  /** Whether others wait for the lock. */
  isAwaited(key: Key): boolean {
    return (this.#waiting.get(key)?.size ?? 0) > 0
  }

  /**
   * Resolves when the caller has the lock; `unlock` must follow. @throws ApiError `Timeout` at the
   * deadline
   */
  async lock(key: Key, deadlineMs: number): Promise<void> {
    const waiting = this.#waiting.get(key)
    if (waiting === undefined) {
      this.#waiting.set(key, new Set())
      return
    }
    const turn = new Deferred<void>()
    waiting.add(turn)
    const timer = this.#clock.after(Math.max(0, deadlineMs - this.#clock.monotonicMs()), () => {
      if (waiting.delete(turn))
        turn.reject(timeout('too many concurrent changes of this object; nothing was changed'))
    })
    try {
      await turn.promise
    } finally {
      timer.cancel()
    }
  }

  unlock(key: Key): void {
    const waiting = this.#waiting.get(key)
    for (const next of waiting ?? []) {
      waiting?.delete(next)
      next.resolve()
      return
    }
    this.#waiting.delete(key)
  }
}
