import type { Clock, Timer } from '../../../base/clock.ts'

/** A clock that advances only on request. `soon` runs with the next `advance` or `settle`. */
export class ManualClock implements Clock {
  #nowMs = 1000
  #wallAheadMs = 1_700_000_000_000
  #order = 0
  #waiting: Waiting[] = []

  monotonicMs(): number {
    return this.#nowMs
  }

  wallMs(): number {
    return this.#wallAheadMs + this.#nowMs
  }

  /** Moves the wall clock alone, by `ms`. */
  jumpWall(ms: number): void {
    this.#wallAheadMs += ms
  }

  after(delayMs: number, action: () => void): Timer {
    const waiting: Waiting = { atMs: this.#nowMs + delayMs, order: this.#order++, periodMs: null, action }
    this.#waiting.push(waiting)
    return this.#timer(waiting)
  }

  every(periodMs: number, action: () => void): Timer {
    const waiting: Waiting = { atMs: this.#nowMs + periodMs, order: this.#order++, periodMs, action }
    this.#waiting.push(waiting)
    return this.#timer(waiting)
  }

  soon(action: () => void): void {
    this.after(0, action)
  }

  /** The number of timers that wait. */
  get pending(): number {
    return this.#waiting.length
  }

  /** The time at which the next timer fires; Infinity: none waits. */
  get nextAtMs(): number {
    return Math.min(...this.#waiting.map(({ atMs }) => atMs))
  }

  /** Advances by `ms`: runs the due timers in order, and settles promises after each. */
  async advance(ms: number): Promise<void> {
    const until = this.#nowMs + ms
    await drained()
    for (let next = this.#next(until); next !== null; next = this.#next(until)) {
      this.#nowMs = Math.max(this.#nowMs, next.atMs)
      if (next.periodMs === null) this.#waiting = this.#waiting.filter((other) => other !== next)
      else next.atMs += next.periodMs
      next.action()
      await drained()
    }
    this.#nowMs = until
  }

  /** Moves the time without running timers, as a pause of the process does. */
  pause(ms: number): void {
    this.#nowMs += ms
  }

  /** Runs everything that is due now. */
  settle(): Promise<void> {
    return this.advance(0)
  }

  #next(until: number): Waiting | null {
    let first: Waiting | null = null
    for (const waiting of this.#waiting) {
      if (waiting.atMs > until) continue
      if (
        first === null ||
        waiting.atMs < first.atMs ||
        (waiting.atMs === first.atMs && waiting.order < first.order)
      ) {
        first = waiting
      }
    }
    return first
  }

  #timer(waiting: Waiting): Timer {
    return {
      cancel: () => {
        this.#waiting = this.#waiting.filter((other) => other !== waiting)
      },
    }
  }
}

type Waiting = {
  atMs: number
  readonly order: number
  readonly periodMs: number | null
  readonly action: () => void
}

async function drained(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve()
}
