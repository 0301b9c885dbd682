const MiB = 1024 * 1024

/** Bounds of the work that a log does in the background. */
export type LogLimits = {
  /** When the first scrub begins after the start, and how long after one the next. */
  readonly scrubFirstMs: number
  readonly scrubPeriodMs: number
  /** Read in one turn, between which appends go first; one record may be larger. */
  readonly scrubTurnBytes: number
  readonly scrubPauseMs: number
  /**
   * A damaged log is written anew while it runs when no more is left of it; until then the base has
   * to move up.
   */
  readonly rewriteBytesMax: number
}

/** A pass over 64 MiB takes half a minute; a turn takes about as long as one append. */
export const defaultLogLimits: LogLimits = Object.freeze({
  scrubFirstMs: 5 * 60 * 1000,
  scrubPeriodMs: 6 * 60 * 60 * 1000,
  scrubTurnBytes: MiB / 4,
  scrubPauseMs: 100,
  rewriteBytesMax: 8 * MiB,
})
