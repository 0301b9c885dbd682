import type { Clock, Timer } from '../../base/clock.ts'

export type DeadlineSweepOptions = {
  readonly clock: Clock
  readonly periodMs: number
  /** Returns whether any request waits. */
  readonly isNeeded: () => boolean
  /** Ends overdue requests, and repeats those that may be lost. */
  readonly sweep: () => void
}

/** Runs a sweep once a period while requests wait for responses. */
export class DeadlineSweep {
  readonly #options: DeadlineSweepOptions
  #timer: Timer | null = null
  #stopped = false

  constructor(options: DeadlineSweepOptions) {
    this.#options = options
  }

  /** Sets the timer if necessary. To be called whenever a request begins to wait. */
  arm(): void {
    const { clock, periodMs, isNeeded, sweep } = this.#options
    if (this.#timer !== null || this.#stopped || !isNeeded()) return
    // After a stall of this thread, responses that arrived during it are read before any request
    // times out.
    const timer = clock.after(periodMs, () => {
      clock.soon(() => {
        if (this.#timer !== timer) return
        this.#timer = null
        sweep()
        this.arm()
      })
    })
    this.#timer = timer
  }

  /** Cancels the timer if no request waits, so that an idle process does not wake for nothing. */
  rest(): void {
    if (this.#timer === null || this.#options.isNeeded()) return
    this.#timer.cancel()
    this.#timer = null
  }

  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
    this.#timer = null
  }
}
