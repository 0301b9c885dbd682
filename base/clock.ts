/** A timer that was set. Cancelling twice, or after it fired, does nothing. */
export interface Timer {
  cancel(): void
}

/**
 * Time and timers. A member uses the clock of `src/host`, which is the system's. The clock of the
 * simulator runs on virtual time.
 */
export interface Clock {
  /**
   * Returns the milliseconds since some moment in the past. The value never decreases. It is used
   * for all durations and deadlines.
   */
  monotonicMs(): number
  /**
   * Returns the milliseconds since 1970 UTC. The value may jump either way. It is used for
   * timestamps, never for durations.
   */
  wallMs(): number
  /** Calls `action` once, `delayMs` (>= 0) from now, never before the caller returned. */
  after(delayMs: number, action: () => void): Timer
  /**
   * Calls `action` every `periodMs` (> 0) until cancelled. The first call may come up to half a
   * second later, so that one wake-up serves several timers. When a call is late, the missed
   * periods are skipped.
   */
  every(periodMs: number, action: () => void): Timer
  /** Calls `action` in a later turn of the event loop, after the events that are queued already. */
  soon(action: () => void): void
}
