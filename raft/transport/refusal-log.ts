import type { Clock } from '../../base/clock.ts'
import type { ConnectionRefusal, RefusalReason, TransportCounters, TransportEvent } from './events.ts'

/** Limit of the refusals logged in one window; above it they are only counted. */
const loggedMax = 5
const windowMs = 10_000
/**
 * Limit of the windows, one for each reason and caller. Above it further callers share one window
 * for each reason, until other windows end.
 */
const windowsMax = 64

type Reason = RefusalReason | ConnectionRefusal

type Window = { startMs: number; logged: number; unlogged: number }

export type RefusalLogOptions = {
  readonly clock: Clock
  readonly counters: Pick<TransportCounters, 'refusals'>
  readonly onEvent: (event: TransportEvent) => void
}

export type Refused = {
  readonly reason: Reason
  /** The member that the caller's certificate names; callers without one share a window. */
  readonly certified: string | null
  /** The other end, `address:port`. */
  readonly remote: string
  readonly detail: string
}

/**
 * Counts every refusal of a caller and logs a few: at most five in ten seconds for each reason and
 * caller, so that one caller with many refusals does not hide others. The next line for the same
 * reason and caller contains the number of those that were not logged.
 */
export class RefusalLog {
  readonly #options: RefusalLogOptions
  readonly #windows = new Map<string, Window>()
  readonly #shared = new Map<Reason, Window>()

  constructor(options: RefusalLogOptions) {
    this.#options = options
  }

  add({ reason, certified, remote, detail }: Refused): void {
    this.#options.counters.refusals++
    const nowMs = this.#options.clock.monotonicMs()
    // Callers without a name share a key that differs from that of every name.
    const window = this.#windowOf(reason, `${reason} ${certified === null ? '' : `=${certified}`}`, nowMs)
    if (window.logged >= loggedMax) {
      window.unlogged++
      return
    }
    window.logged++
    const { unlogged } = window
    window.unlogged = 0
    const named = naming(certified, reason, detail)
    this.#options.onEvent({ kind: 'refused', reason, remote, detail: named, unlogged })
  }

  #windowOf(reason: Reason, caller: string, nowMs: number): Window {
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

/** Returns the current window, or a new one with the unlogged count of the last one. */
function current<Key>(windows: Map<Key, Window>, key: Key, nowMs: number): Window {
  const last = windows.get(key)
  if (last !== undefined && nowMs - last.startMs < windowMs) return last
  const opened = { startMs: nowMs, logged: 0, unlogged: last?.unlogged ?? 0 }
  windows.set(key, opened)
  return opened
}

/** Adds the name of the caller to details that do not contain it. */
function naming(certified: string | null, reason: Reason, detail: string): string {
  if (reason !== 'malformed' && reason !== 'violation') return detail
  return `${certified === null ? 'a caller without a member name' : `member "${certified}"`}: ${detail}`
}
