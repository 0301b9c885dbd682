import type { Clock } from '../base/clock.ts'
import type { RefusalReason } from './events.ts'

/** Refusals told in one window, for each reason and caller; above it they are only counted. */
const toldMax = 5
const windowMs = 10_000
/** Callers who have a window of their own. Those beyond share one for each reason, until the windows of others are over. */
const windowsMax = 64

type Window = { startMs: number; told: number }

/**
 * Bounds what callers who are turned away again and again put into the log: a few lines each ten seconds for each
 * reason and caller, however fast they come, so that one who clamours hides nobody else.
 */
export class RefusalThrottle {
  readonly #clock: Clock
  readonly #windows = new Map<string, Window>()
  readonly #shared = new Map<RefusalReason, Window>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether this one is to be told. @param certified as its certificate names the caller; all without a name are one */
  allows(reason: RefusalReason, certified: string | null): boolean {
    const nowMs = this.#clock.monotonicMs()
    // A name may hold anything; null is none.
    const window = this.#windowOf(reason, `${reason} ${certified === null ? '' : `=${certified}`}`, nowMs)
    window.told++
    return window.told <= toldMax
  }

  #windowOf(reason: RefusalReason, caller: string, nowMs: number): Window {
    if (!this.#windows.has(caller) && this.#windows.size >= windowsMax) this.#sweep(nowMs)
    if (this.#windows.has(caller) || this.#windows.size < windowsMax)
      return current(this.#windows, caller, nowMs)
    return current(this.#shared, reason, nowMs)
  }

  #sweep(nowMs: number): void {
    for (const [caller, { startMs }] of this.#windows) {
      if (nowMs - startMs >= windowMs) this.#windows.delete(caller)
    }
  }
}

/** The window that is open, or a new one. */
function current<Key>(windows: Map<Key, Window>, key: Key, nowMs: number): Window {
  const open = windows.get(key)
  if (open !== undefined && nowMs - open.startMs < windowMs) return open
  const opened = { startMs: nowMs, told: 0 }
  windows.set(key, opened)
  return opened
}

/** What was wrong with the bytes says nothing of whose they were. @param certified as its certificate names the caller */
export function naming(certified: string | null, reason: RefusalReason, detail: string): string {
  if (reason !== 'malformed' && reason !== 'violation') return detail
  return `${certified === null ? 'a caller without a name' : `member "${certified}"`}: ${detail}`
}
