const KiB = 1024

/** Limits of the verbs, each with the behaviour when it is reached. */
export type RegistryLimits = {
  /** Names tried for one `generateName`. When spent: 409 AlreadyExists. */
  readonly generateNameAttemptsMax: number
  /**
   * Evaluations of one write that keeps losing races to writers at other members; usually the time
   * limit of the request comes first. When spent: 429, `Retry-After: 1`.
   */
  readonly rewriteAttemptsMax: number
  /**
   * Managers of updates in `managedFields` of one object. More: the oldest of each version are
   * merged.
   */
  readonly managedUpdatersMax: number
  /**
   * Paths with owners in one object, each counted for each of its owners; one costs some 10
   * microseconds. More: an apply is refused with 413, other writes store the object without owners.
   */
  readonly managedPathsMax: number
  /**
   * Outcomes that are kept for requests with an `Idempotency-Key`, each for the history window.
   * When full: 429.
   */
  readonly idempotencyRecordsMax: number
  /** The same for one user. */
  readonly idempotencyRecordsPerUserMax: number
  /** How long a read waits for a version or a bound that memory does not meet. When over: 504. */
  readonly futureWaitMs: number
  /**
   * How long a `most-recent`, `lease` or `log` read waits for a quorum; several failovers fit. When
   * over: 504.
   */
  readonly quorumWaitMs: number
  /**
   * How long a request for a kind that this member does not know waits for a quorum. When over:
   * 504.
   */
  readonly unknownKindWaitMs: number
  /** Requests that wait for an unknown kind. When full: 429, `Retry-After: 1`. */
  readonly unknownKindWaitsMax: number
  /** Approximate size of the pieces of lists and watches; a larger object is a piece of its own. */
  readonly pieceBytes: number
  /**
   * Bytes of the body and the stored object of a write above which the write yields between
   * decoding, validating and encoding.
   */
  readonly writeTurnBytes: number
  /** Bytes of objects that one request parses before it yields. */
  readonly readTurnBytes: number
  /** The same in ms, for conversions that cost more than parsing, such as table cells. */
  readonly readTurnMs: number
  /**
   * Bytes of a protobuf list that one request buffers until the total length is known. When
   * exceeded: the rest is encoded twice.
   */
  readonly heldBytesMax: number
  /** The same for all requests together. When full: further requests encode twice. */
  readonly heldBytesTotalMax: number
  /**
   * Objects that one request processes before it yields, and that an unlimited list holds at a
   * time.
   */
  readonly sliceObjectsMax: number
  /** Objects that deletecollection deletes concurrently. More: in the next batch. */
  readonly deleteCollectionAtOnce: number
  /**
   * Objects in one call of a conversion webhook, their bytes, and their JSON values; a larger
   * object is sent alone. More: another call, when the first has ended.
   */
  readonly conversionBatchObjects: number
  readonly conversionBatchBytes: number
  readonly conversionBatchValues: number
  /**
   * Bytes of converted objects that are kept for later readers. More: the least recently used are
   * dropped.
   */
  readonly conversionCacheBytes: number
  /**
   * Bytes of a list that are converted before the response begins, so that a failure is an error
   * response. More: a later failure breaks the connection.
   */
  readonly convertedFirstBytes: number
  /** Length of a continue token. Longer: 400. */
  readonly continueTokenBytesMax: number
  /** Minimum duration of a watch without `timeoutSeconds`; randomized up to twice that. */
  readonly watchTimeoutMsMin: number
  /** Time between two bookmarks of one watch. */
  readonly watchBookmarkPeriodMs: number
  /** Events that a watch takes from its cursor at a time. More: in the next turn. */
  readonly watchEventsPerPull: number
  /** Warnings that one check of an object sends, such as that for unknown fields. More: dropped. */
  readonly fieldWarningsMax: number
}

export const defaultRegistryLimits: RegistryLimits = Object.freeze({
  // With 27^5 suffixes and 50,000 objects under one prefix, all 8 tries collide once in 10^19
  // creates.
  generateNameAttemptsMax: 8,
  rewriteAttemptsMax: 1000,
  idempotencyRecordsMax: 100_000,
  idempotencyRecordsPerUserMax: 25_000,
  managedUpdatersMax: 10,
  managedPathsMax: 10_000,
  futureWaitMs: 3000,
  quorumWaitMs: 10_000,
  unknownKindWaitMs: 3000,
  unknownKindWaitsMax: 200,
  pieceBytes: 64 * KiB,
  writeTurnBytes: 64 * KiB,
  readTurnBytes: 256 * KiB,
  readTurnMs: 10,
  heldBytesMax: 16 * 1024 * KiB,
  heldBytesTotalMax: 64 * 1024 * KiB,
  sliceObjectsMax: 2000,
  deleteCollectionAtOnce: 64,
  conversionBatchObjects: 500,
  conversionBatchBytes: 1024 * KiB,
  // As many as one stored object may have. The response may have more than twice as many
  // (`VALUES_MAX` of reviews).
  conversionBatchValues: 98_304,
  conversionCacheBytes: 32 * 1024 * KiB,
  convertedFirstBytes: 8 * 1024 * KiB,
  continueTokenBytesMax: 2 * KiB,
  watchTimeoutMsMin: 30 * 60_000,
  watchBookmarkPeriodMs: 60_000,
  watchEventsPerPull: 128,
  fieldWarningsMax: 50,
})

/** Limits of the values that are kept for field selectors, for the whole process. */
export const fieldValueLimits = Object.freeze({
  /**
   * Bytes of rows of values that objects share. More: they are forgotten, and objects that are
   * parsed later have rows of their own.
   */
  sharedRowsBytes: 4 * 1024 * KiB,
})
