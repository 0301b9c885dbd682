import type { Clock } from '../../base/clock.ts'
import { Deferred } from '../../base/deferred.ts'
import { ConsensusError } from '../protocol/node-errors.ts'

/** The last word of a member's other threads: its log is closed, and nothing follows. */
export class ShutdownAck {
  readonly #clock: Clock
  readonly #acked = new Deferred<void>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  complete(): void {
    this.#acked.resolve(undefined)
  }

  /**
   * A disk that stands still for ever must not keep the process for ever: it ends as a crash would
   * end it.
   * @throws ConsensusError `timed-out`
   */
  async wait(): Promise<void> {
    const cause = `the log was not closed within ${closeMsMax} ms: its disk does not answer`
    const late = this.#clock.after(closeMsMax, () =>
      this.#acked.reject(new ConsensusError('timed-out', cause)),
    )
    await this.#acked.promise.finally(() => late.cancel())
  }
}

/** How long the log may take to write what waits and close. */
const closeMsMax = 5000
