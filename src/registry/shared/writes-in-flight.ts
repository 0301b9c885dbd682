import type { Clock } from '../../../base/clock.ts'
import { beforeDeadline } from '../../../base/deadline.ts'
import { Deferred } from '../../../base/deferred.ts'
import { timeout } from '../../api/errors/standard-errors.ts'
import type { Key } from '../../store/key.ts'

/**
 * The objects that requests at this member are changing now: proposed, not decided. Holds one entry
 * per request, whose number the server bounds.
 */
export class WritesInFlight {
  readonly #clock: Clock
  readonly #ends = new Map<Key, Deferred<void>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  has(key: Key): boolean {
    return this.#ends.has(key)
  }

  /** Runs a write of an object. */
  async run<T>(key: Key, write: () => Promise<T>): Promise<T> {
    const end = this.#ends.get(key) ?? new Deferred<void>()
    this.#ends.set(key, end)
    try {
      return await write()
    } finally {
      if (this.#ends.get(key) === end) this.#ends.delete(key)
      end.resolve()
    }
  }

  /**
   * Resolves when one of the writes of an object that are in flight has ended; at once if there is
   * none.
   *
   * @throws ApiError `Timeout` at the deadline
   */
  async ended(key: Key, deadlineMs: number): Promise<void> {
    const end = this.#ends.get(key)
    if (end === undefined) return
    const late = (): Error => timeout('an earlier change of this object is not decided; nothing was changed')
    await beforeDeadline(end.promise, { clock: this.#clock, deadlineMs, late })
  }
}
