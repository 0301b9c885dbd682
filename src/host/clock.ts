import type { Clock, Timer } from '../../base/clock.ts'
import { SharedTimer } from './shared-timer.ts'

/** The clock of the machine. */
export class RealClock implements Clock {
  readonly #shared = new SharedTimer(() => performance.now())

  monotonicMs(): number {
    return performance.now()
  }

  wallMs(): number {
    return Date.now()
  }

  after(delayMs: number, action: () => void): Timer {
    const timer = setTimeout(action, delayMs)
    return { cancel: () => clearTimeout(timer) }
  }

  every(periodMs: number, action: () => void): Timer {
    if (SharedTimer.takes(periodMs)) return this.#shared.every(periodMs, action)
    const timer = setInterval(action, periodMs)
    return { cancel: () => clearInterval(timer) }
  }

  soon(action: () => void): void {
    setImmediate(action)
  }
}
