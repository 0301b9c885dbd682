/** Since when one part of this member owes an answer without giving any. */
export class StallTimer {
  #sinceMs: number | null = null

  /** Monotonic ms; null: nothing is owed. */
  get sinceMs(): number | null {
    return this.#sinceMs
  }

  /** Something waits for it, perhaps more than before. */
  start(now: number): void {
    this.#sinceMs ??= now
  }

  /** It answered. @param more still waits */
  stop(now: number, more: boolean): void {
    this.#sinceMs = more ? now : null
  }
}

export type StallLimits = { readonly stallMsMax: number; readonly stallCooldownMs: number }

/** Since when each part of this member owes an answer; null: it owes none. Monotonic ms. */
export type PendingWork = { readonly writingSinceMs: number | null; readonly applyingSinceMs: number | null }

/**
 * Notices that the log or the api thread of this member stands still while work waits. The time
 * this thread itself stood still counts for nothing: a whole process that was paused first hears
 * what it missed.
 */
export class StallDetector {
  readonly #limits: StallLimits
  #lastCheckMs: number | null = null
  /** Looks in a row, in ms, during which something stood still. */
  #stalledMs = 0
  #lastAttemptMs = Number.NEGATIVE_INFINITY

  constructor(limits: StallLimits) {
    this.#limits = limits
  }

  /** Asked with every tick. @returns whether to give way; `gaveWay` says that it was tried */
  stalled(now: number, work: PendingWork): boolean {
    const { stallMsMax, stallCooldownMs } = this.#limits
    const sinceCheck = this.#lastCheckMs === null ? 0 : now - this.#lastCheckMs
    this.#lastCheckMs = now
    this.#stalledMs = isStalled(work, now) ? this.#stalledMs + Math.min(sinceCheck, checkMsMax) : 0
    return this.#stalledMs >= stallMsMax - lateMs && now - this.#lastAttemptMs >= stallCooldownMs
  }

  /**
   * Not again for the cooldown, whatever came of it: where all are slow, passing leadership around
   * helps nobody.
   */
  noteAttempt(now: number): void {
    this.#lastAttemptMs = now
    this.#stalledMs = 0
  }
}

/** Notices whether a figure that only grows still does. */
export class ProgressDetector {
  #last = 0
  #movedMs = Number.NEGATIVE_INFINITY

  /** Told with every tick. */
  update(now: number, figure: number): void {
    if (figure <= this.#last) return
    this.#last = figure
    this.#movedMs = now
  }

  /** Within two seconds: as long as whoever is slow, but works, may take. */
  movedLately(now: number): boolean {
    return now - this.#movedMs < restMs
  }
}

/** What has not moved for this long has come to rest. */
const restMs = 2000
/** An answer younger than this is on its way. */
const lateMs = 500
/** A look that comes later than this was held up itself. */
const checkMsMax = 100

/**
 * Whether the log or the api thread owes an answer for longer than one takes. Who stands still
 * should not lead.
 */
export function isStalled({ writingSinceMs, applyingSinceMs }: PendingWork, now: number): boolean {
  return isLate(writingSinceMs, now) || isLate(applyingSinceMs, now)
}

function isLate(sinceMs: number | null, now: number): boolean {
  return sinceMs !== null && now - sinceMs >= lateMs
}
