/** Limits of the store, with their defaults. */
export type StoreLimits = {
  /** One encoded command. When full: `too-large`, the API's 413. */
  readonly commandBytesMax: number
  /**
   * Bytes of superseded versions kept in memory for watches. When full: older ones are read from
   * disk.
   */
  readonly historyMemoryBytesMax: number
  /** Events kept in memory as values. When full: older ones are read from disk. */
  readonly historyMemoryEventsMax: number
  /** Bytes applied and not yet on disk. When full: apply waits for the disk. */
  readonly backlogBytesMax: number
  /** Approximate bytes of one batch to the database. When full: the next batch begins. */
  readonly batchBytesMax: number
  /**
   * Time for which changes are batched before they are written; long, because one sync covers all.
   */
  readonly batchGatherMs: number
  /**
   * How long a command or a barrier waits for a quorum; several failovers fit. When over:
   * `timed-out`.
   */
  readonly quorumWaitMs: number
  /** Requests that wait for a revision. When full: `overloaded`. */
  readonly waitersMax: number
  /** Open watch cursors. When full: `overloaded`. */
  readonly cursorsMax: number
  /**
   * Time slice for waking watches, after which the thread yields. What the watches write comes
   * after the slice and takes about twice as long.
   */
  readonly wakeSliceMs: number
  /** Versions that one read of the past reads from disk at a time. When full: it reads again. */
  readonly diskReadVersionsMax: number
  /** Keys and events that a read of the past visits at a time. More: it yields first. */
  readonly scanStepsMax: number
  /** Events that one trim command discards. When full: the next command discards more. */
  readonly trimEventsMax: number
  /** How often each member samples its position, and the leader checks for history to trim. */
  readonly trimPeriodMs: number
  /**
   * The session of a proposing process that is idle for this long is removed. Longer than any
   * request: a retry of a command whose outcome was discarded would take effect again.
   */
  readonly sessionIdleMs: number
  /** Approximate bytes of one frame of a snapshot stream; a single larger object still fits. */
  readonly snapshotFrameBytesMax: number
  /** Digests that members compare; see `DigestSamplesLimits`. */
  readonly sampleEntries: number
  readonly samplesMax: number
  readonly sampleRequestsMax: number
  /** Read rate of the scrub. When reached: it waits. */
  readonly scrubBytesPerSecondMax: number
  /** Delay of the first scrub after the start, and period of the following ones. */
  readonly scrubFirstMs: number
  readonly scrubPeriodMs: number
  /**
   * Wait before the second of consecutive repairs, doubled for each later one, and its maximum. The
   * first does not wait.
   */
  readonly repairWaitMsMin: number
  readonly repairWaitMsMax: number
  /** A state that was trusted for this long ends a series of repairs. */
  readonly repairRowMs: number
}

const KiB = 1024
const MiB = 1024 * KiB

export const defaultStoreLimits: StoreLimits = Object.freeze({
  commandBytesMax: 3 * MiB + 63 * KiB,
  historyMemoryBytesMax: 32 * MiB,
  historyMemoryEventsMax: 65_536,
  backlogBytesMax: 64 * MiB,
  batchBytesMax: 4 * MiB,
  batchGatherMs: 100,
  quorumWaitMs: 10_000,
  waitersMax: 10_000,
  cursorsMax: 20_000,
  wakeSliceMs: 3,
  diskReadVersionsMax: 128,
  scanStepsMax: 20_000,
  trimEventsMax: 4096,
  trimPeriodMs: 1_000,
  // Twice the longest --request-timeout.
  sessionIdleMs: 2 * 60 * 60_000,
  snapshotFrameBytesMax: 256 * KiB,
  sampleEntries: 1024,
  samplesMax: 64,
  sampleRequestsMax: 32,
  scrubBytesPerSecondMax: 8 * MiB,
  scrubFirstMs: 5 * 60 * 1000,
  scrubPeriodMs: 6 * 60 * 60 * 1000,
  repairWaitMsMin: 1_000,
  repairWaitMsMax: 5 * 60 * 1000,
  repairRowMs: 60 * 60 * 1000,
})
