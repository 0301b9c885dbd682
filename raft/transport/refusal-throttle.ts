import type { Clock } from '../base/clock.ts'
import type { RefusalReason } from './events.ts'

/** Refusals told in one window, for each reason; above it they are only counted. */
const toldMax = 5
const windowMs = 10_000

/**
 * Bounds what callers who are turned away again and again put into the log: a few lines each ten seconds for each
 * reason, however fast they come.
 */
export class RefusalThrottle {
  readonly #clock: Clock
  readonly #windows = new Map<RefusalReason, { startMs: number; told: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether this one is to be told. */
  allows(reason: RefusalReason): boolean {
    const nowMs = this.#clock.monotonicMs()
    const window = this.#windows.get(reason)
    if (window === undefined || nowMs - window.startMs >= windowMs) {
      this.#windows.set(reason, { startMs: nowMs, told: 1 })
      return true
    }
    window.told++
    return window.told <= toldMax
  }
}

/** What was wrong with the bytes says nothing of whose they were. @param certified as its certificate names the caller */
export function naming(certified: string | null, reason: RefusalReason, detail: string): string {
  if (reason !== 'malformed') return detail
  return `${certified === null ? 'a caller without a name' : `member "${certified}"`}: ${detail}`
}
