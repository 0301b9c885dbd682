import type { Clock } from './clock.ts'

export type Deadline = {
  readonly clock: Clock
  /** Monotonic time in ms. `Infinity`: there is no deadline. */
  readonly deadlineMs: number
  /** Returns the error to reject with at the deadline. */
  readonly late: () => Error
}

/**
 * Settles as the promise does, or rejects at the deadline, whichever is first. The work that the
 * promise waits for continues after the deadline.
 *
 * @throws the rejection of the promise, or `late()`
 */
export function beforeDeadline<T>(promise: Promise<T>, { clock, deadlineMs, late }: Deadline): Promise<T> {
  if (deadlineMs === Number.POSITIVE_INFINITY) return promise
  return new Promise((resolve, reject) => {
    const timer = clock.after(Math.max(0, deadlineMs - clock.monotonicMs()), () => reject(late()))
    promise.then(resolve, reject).finally(() => timer.cancel())
  })
}
