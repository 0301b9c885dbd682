const MiB = 1024 * 1024

/** Limits of the background work of a log. */
export type LogLimits = {
  /** Delay of the first scrub after the start, and of each further one after the last one's end. */
  readonly scrubFirstMs: number
  readonly scrubPeriodMs: number
  /**
   * Bytes that the scrub reads in one turn, in which appends wait; one record may be larger. The
   * next turn comes after `scrubPauseMs`.
   */
  readonly scrubTurnBytes: number
  readonly scrubPauseMs: number
  /**
   * While the member runs, a log is rewritten, to remove damage or compacted entries, only if its
   * entries have at most this many bytes. A larger log must be compacted to this size first.
   */
  readonly rewriteBytesMax: number
}

/**
 * With these limits a scrub of 64 MiB takes half a minute, and a turn about as long as one append.
 */
export const defaultLogLimits: LogLimits = Object.freeze({
  scrubFirstMs: 5 * 60 * 1000,
  scrubPeriodMs: 6 * 60 * 60 * 1000,
  scrubTurnBytes: MiB / 4,
  scrubPauseMs: 100,
  rewriteBytesMax: 8 * MiB,
})
