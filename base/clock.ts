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
   * Milliseconds since some moment in the past; never goes back. For every duration and deadline.
   */
  monotonicMs(): number
  /**
   * Milliseconds since 1970 UTC; may jump either way. For timestamps that people read, never for
   * durations.
   */
  wallMs(): number
  /** Calls `action` once, `delayMs` (>= 0) from now, never before the caller returned. */
  after(delayMs: number, action: () => void): Timer
  /**
   * Calls `action` every `periodMs` (> 0) until cancelled. When a call is late, the missed periods
   * are skipped.
   */
  every(periodMs: number, action: () => void): Timer
  /** Calls `action` in a later turn of the event loop, after the events that are queued already. */
  soon(action: () => void): void
}
