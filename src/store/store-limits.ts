/**
 * Every bound of this room. The composition root passes its own; these are the documented defaults.
 */
export type StoreLimits = {
  /** One encoded command. When full: `too-large`, the API's 413. */
  readonly commandBytesMax: number
  /**
   * Bytes of superseded versions kept in memory for watchers. When full: older ones come from disk.
   */
  readonly historyMemoryBytesMax: number
  /** Events kept in memory as ready values. When full: older ones come from disk. */
  readonly historyMemoryEventsMax: number
  /**
   * Applied and not yet on disk. When full: nothing more is applied until the disk has followed.
   */
  readonly backlogBytesMax: number
  /** One batch to the database, about. When full: the next batch begins. */
  readonly batchBytesMax: number
  /**
   * How long changes gather before they go to disk; long, because one sync pays for all of them.
   */
  readonly batchGatherMs: number
  /**
   * How long a command or a barrier waits for a quorum; several failovers fit. When over:
   * `timed-out`.
   */
  readonly quorumWaitMs: number
  /** Requests waiting for a revision. When full: `overloaded`. */
  readonly waitersMax: number
  /** Open watch cursors. When full: `overloaded`. */
  readonly cursorsMax: number
  /**
   * Watchers are woken for this long at a stretch, then others get their turn. What they write
   * leaves behind the stretch and takes about twice as long again.
   */
  readonly wakeSliceMs: number
  /** Versions one read of the past fetches from disk at once. When full: it reads again. */
  readonly diskReadVersionsMax: number
  /**
   * Keys and events looked at in one go by a read of the past. More: others have their turn first.
   */
  readonly scanStepsMax: number
  /** Events one trim command forgets. When full: the next command forgets more. */
  readonly trimEventsMax: number
  /** How often the leader looks for history to forget, and notes where it is. */
  readonly trimPeriodMs: number
  /**
   * A proposing process not heard of for so long is forgotten. Longer than any request may take:
   * the second try of a command whose first is forgotten would take effect again.
   */
  readonly sessionIdleMs: number
  /** One frame of a snapshot stream, about; a single larger object still fits. */
  readonly snapshotFrameBytesMax: number
  /** Fingerprints that members compare; see `DigestSamplesLimits`. */
  readonly sampleEntries: number
  readonly samplesMax: number
  readonly sampleWishesMax: number
  /** How fast the scrub reads the database. When full: it waits. */
  readonly scrubBytesPerSecondMax: number
  /** When the first scrub begins after the start, and how long after one the next. */
  readonly scrubFirstMs: number
  readonly scrubPeriodMs: number
  /**
   * How long the second repair of a row waits, twice as long each one after it, and at most. The
   * first does not wait.
   */
  readonly repairWaitMsMin: number
  readonly repairWaitMsMax: number
  /** A state that was trusted for so long ends a row of repairs. */
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
  trimEventsMax: 10_000,
  trimPeriodMs: 1_000,
  // Twice the longest --request-timeout.
  sessionIdleMs: 2 * 60 * 60_000,
  snapshotFrameBytesMax: 256 * KiB,
  sampleEntries: 1024,
  samplesMax: 64,
  sampleWishesMax: 32,
  scrubBytesPerSecondMax: 8 * MiB,
  scrubFirstMs: 5 * 60 * 1000,
  scrubPeriodMs: 6 * 60 * 60 * 1000,
  repairWaitMsMin: 1_000,
  repairWaitMsMax: 5 * 60 * 1000,
  repairRowMs: 60 * 60 * 1000,
})
