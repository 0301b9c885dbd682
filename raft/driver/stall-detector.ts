/** Measures how long one component of this member has had work without completing any. */
export class StallTimer {
  #sinceMs: number | null = null

  /** Monotonic ms; null: no work is pending. */
  get sinceMs(): number | null {
    return this.#sinceMs
  }

  /** Records that work is pending. */
  start(now: number): void {
    this.#sinceMs ??= now
  }

  /**
   * Records that some work was completed.
   *
   * @param more whether work is still pending
   */
  stop(now: number, more: boolean): void {
    this.#sinceMs = more ? now : null
  }
}

export type StallLimits = { readonly stallMsMax: number; readonly stallCooldownMs: number }

/**
 * The times since which each component has had pending work without progress, in monotonic ms;
 * null: no work is pending.
 */
export type PendingWork = { readonly writingSinceMs: number | null; readonly applyingSinceMs: number | null }

/**
 * Detects that the log or the api thread of this member is stalled while work is pending. Time
 * during which this thread itself was stalled does not count: after a pause of the whole process
 * the waiting messages are read first.
 */
export class StallDetector {
  readonly #limits: StallLimits
  #lastCheckMs: number | null = null
  /** Duration in ms of the consecutive checks that found a stall. */
  #stalledMs = 0
  #lastAttemptMs = Number.NEGATIVE_INFINITY

  constructor(limits: StallLimits) {
    this.#limits = limits
  }

  /**
   * Called whenever ticks have passed while this member leads. Returns whether the stall has lasted
   * long enough to act on it, and the cooldown is over. A caller that acts calls `noteAttempt`.
   */
  stalled(now: number, work: PendingWork): boolean {
    const { stallMsMax, stallCooldownMs } = this.#limits
    const sinceCheck = this.#lastCheckMs === null ? 0 : now - this.#lastCheckMs
    this.#lastCheckMs = now
    this.#stalledMs = isStalled(work, now) ? this.#stalledMs + Math.min(sinceCheck, checkMsMax) : 0
    return this.#stalledMs >= stallMsMax - lateMs && now - this.#lastAttemptMs >= stallCooldownMs
  }

  /**
   * Starts the cooldown, even if the attempt fails: if all members are slow, repeated transfers do
   * not help.
   */
  noteAttempt(now: number): void {
    this.#lastAttemptMs = now
    this.#stalledMs = 0
  }
}

/** Detects whether a growing figure still grows. */
export class ProgressDetector {
  #last = 0
  #movedMs = Number.NEGATIVE_INFINITY

  /** Called whenever ticks have passed while this member leads. */
  update(now: number, figure: number): void {
    if (figure <= this.#last) return
    this.#last = figure
    this.#movedMs = now
  }

  /** Returns whether the figure grew in the last `restMs`. */
  movedLately(now: number): boolean {
    return now - this.#movedMs < restMs
  }
}

/** A figure that has not grown for this long, in ms, no longer counts as growing. */
const restMs = 2000
/** Work without progress for less than this time, in ms, does not count as stalled. */
const lateMs = 500
/**
 * Limit of the time in ms that one check counts: a check that comes later may have been delayed. So
 * once work has been pending for `soonLateMs`, a leader checks at this interval. `soonLateMs` is
 * longer than the api thread waits before it reports what it applied.
 */
const checkMsMax = 100
const soonLateMs = 250

/**
 * Returns whether the log or the api thread has made no progress for `lateMs`. A stalled member
 * should not lead.
 */
export function isStalled({ writingSinceMs, applyingSinceMs }: PendingWork, now: number): boolean {
  return isLate(writingSinceMs, now) || isLate(applyingSinceMs, now)
}

/** Returns whether the log or the api thread may soon be stalled. */
export function mayStall({ writingSinceMs, applyingSinceMs }: PendingWork, now: number): boolean {
  return isLate(writingSinceMs, now, soonLateMs) || isLate(applyingSinceMs, now, soonLateMs)
}

function isLate(sinceMs: number | null, now: number, afterMs = lateMs): boolean {
  return sinceMs !== null && now - sinceMs >= afterMs
}
