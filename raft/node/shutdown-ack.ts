import type { Clock } from '../../base/clock.ts'
import { Deferred } from '../../base/deferred.ts'
import { ConsensusError } from '../protocol/node-errors.ts'

/** The acknowledgement of a member's other threads that they stopped and the log is closed. */
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
   * Waits for the acknowledgement. A stalled disk must not block the process forever; after the
   * time limit the process ends as in a crash.
   *
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

/** Time limit in ms for the log to write pending entries and to close. */
const closeMsMax = 5000
