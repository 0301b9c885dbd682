export type StallLimits = { readonly stallMsMax: number; readonly stallCooldownMs: number }

/** Since when each part of this member has owed an answer; null: it owes none. Monotonic ms. */
export type Owed = { readonly writingSinceMs: number | null; readonly applyingSinceMs: number | null }

/**
 * Notices that the log or the api thread of this member stands still while work waits. The time this thread
 * itself stood still counts for nothing: a whole process that was paused first hears what it missed.
 */
export class StallWatch {
  readonly #limits: StallLimits
  #lastLookMs: number | null = null
  /** Looks in a row, in ms, during which something stood still. */
  #stalledMs = 0
  #gaveWayMs = Number.NEGATIVE_INFINITY

  constructor(limits: StallLimits) {
    this.#limits = limits
  }

  /** Asked with every tick. @returns whether to give way now; then not again for the cooldown */
  stalled(now: number, owed: Owed): boolean {
    const { stallMsMax, stallCooldownMs } = this.#limits
    const sinceLook = this.#lastLookMs === null ? 0 : now - this.#lastLookMs
    this.#lastLookMs = now
    const late = isLate(owed.writingSinceMs, now) || isLate(owed.applyingSinceMs, now)
    this.#stalledMs = late ? this.#stalledMs + Math.min(sinceLook, lookMsMax) : 0
    if (this.#stalledMs < stallMsMax - lateMs || now - this.#gaveWayMs < stallCooldownMs) return false
    this.#gaveWayMs = now
    this.#stalledMs = 0
    return true
  }
}

/** An answer younger than this is on its way. */
const lateMs = 500
/** A look that comes later than this was held up itself. */
const lookMsMax = 100

function isLate(sinceMs: number | null, now: number): boolean {
  return sinceMs !== null && now - sinceMs >= lateMs
}
