import type { Clock, Timer } from '../../base/clock.ts'

export type DeadlineSweepOptions = {
  readonly clock: Clock
  readonly periodMs: number
  /** Whether anything waits. */
  readonly isNeeded: () => boolean
  /** Ends what is overdue, and repeats what may be lost. */
  readonly sweep: () => void
}

/** Looks after what waits for answers, once a period, while anything does. */
export class DeadlineSweep {
  readonly #options: DeadlineSweepOptions
  #timer: Timer | null = null
  #stopped = false

  constructor(options: DeadlineSweepOptions) {
    this.#options = options
  }

  /** Call whenever something begins to wait. */
  arm(): void {
    const { clock, periodMs, isNeeded, sweep } = this.#options
    if (this.#timer !== null || this.#stopped || !isNeeded()) return
    // If this thread stood still, answers that came meanwhile are read before anything is ended for
    // want of one.
    this.#timer = clock.after(periodMs, () => {
      clock.soon(() => {
        this.#timer = null
        if (this.#stopped) return
        sweep()
        this.arm()
      })
    })
  }

  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
    this.#timer = null
  }
}
