import type { Timer } from '../../base/clock.ts'

type Repeated = { dueMs: number; readonly periodMs: number; readonly action: () => void }

/** Repeated actions run at multiples of this many ms. */
const gridMs = 500
/** Actions that are due this soon run, too: a timer may fire a little early. */
const earlyMs = 2

/**
 * Runs repeated actions at common times: a wake-up of an idle process costs far more than the
 * actions themselves. The first run of an action is after its period, and up to `gridMs` later.
 */
export class SharedTimer {
  readonly #nowMs: () => number
  readonly #waiting = new Set<Repeated>()
  #timer: NodeJS.Timeout | null = null

  /** @param nowMs the monotonic time */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** Returns whether actions of that period can run at common times. */
  static takes(periodMs: number): boolean {
    return periodMs >= gridMs && periodMs % gridMs === 0
  }

  every(periodMs: number, action: () => void): Timer {
    const dueMs = Math.ceil((this.#nowMs() + periodMs) / gridMs) * gridMs
    const repeated = { dueMs, periodMs, action }
    this.#waiting.add(repeated)
    this.#set()
    return {
      cancel: () => {
        if (this.#waiting.delete(repeated)) this.#set()
      },
    }
  }

  /** Sets the timer for the action that is due first. It keeps the process alive. */
  #set(): void {
    clearTimeout(this.#timer ?? undefined)
    this.#timer = null
    let dueMs = Infinity
    for (const one of this.#waiting) dueMs = Math.min(dueMs, one.dueMs)
    if (dueMs === Infinity) return
    this.#timer = setTimeout(() => this.#run(), Math.max(1, dueMs - this.#nowMs()))
  }

  #run(): void {
    const nowMs = this.#nowMs()
    const due = [...this.#waiting].filter((one) => one.dueMs <= nowMs + earlyMs)
    for (const one of due) {
      const skipped = Math.max(0, Math.floor((nowMs - one.dueMs) / one.periodMs))
      one.dueMs += (1 + skipped) * one.periodMs
    }
    // Set before the actions run: one that throws must not stop the others for ever.
    this.#set()
    for (const one of due) if (this.#waiting.has(one)) one.action()
  }
}
