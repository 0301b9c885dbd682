const KiB = 1024

/** Bounds of the verbs. Each says what happens when it is reached. */
export type RegistryLimits = {
  /** Names tried for one `generateName`. When spent: 409 AlreadyExists. */
  readonly generateNameAttemptsMax: number
  /** Evaluations of one write that keeps losing races. When spent: 409 Conflict. */
  readonly rewriteAttemptsMax: number
  /** How long a read waits for a version this member has not reached. When over: 504. */
  readonly futureWaitMs: number
  /** How long a most-recent read waits for a quorum; several failovers fit. When over: 504. */
  readonly quorumWaitMs: number
  /** How long a request for a kind that this member does not know waits for a quorum. When over: 504. */
  readonly unknownKindWaitMs: number
  /** Requests that wait so. When full: 429, `Retry-After: 1`. */
  readonly unknownKindWaitsMax: number
  /** Lists and watches leave in pieces of about this size; an object larger than it is a piece of its own. */
  readonly pieceBytes: number
  /** Body and stored object of a write: above, others have their turn between decoding, validating and encoding it. */
  readonly writeTurnBytes: number
  /** Bytes of objects that one request parses before others have their turn. */
  readonly readTurnBytes: number
  /** The same in time, where what is made of objects costs more than reading them: cells of tables. */
  readonly readTurnMs: number
  /** Bytes of a list in protobuf that one request keeps until it knows how long the whole is. More: encoded twice. */
  readonly heldBytesMax: number
  /** The same of all requests together. When full: the next ones encode twice. */
  readonly heldBytesTotalMax: number
  /** Objects that one request looks at before others have their turn, and that an unlimited list holds at once. */
  readonly sliceObjectsMax: number
  /** Objects that deletecollection deletes at once. More: the next slice. */
  readonly deleteCollectionAtOnce: number
  /** A continue token as sent. Longer: 400. */
  readonly continueTokenBytesMax: number
  /** A watch without `timeoutSeconds` ends after this long, up to twice as long. */
  readonly watchTimeoutMsMin: number
  /** Between two bookmarks of one watch. */
  readonly watchBookmarkPeriodMs: number
  /** Events a watch takes from its cursor at once. More: the next turn. */
  readonly watchEventsPerPull: number
  /** Warnings about unknown fields told to one caller. More: the rest is dropped. */
  readonly fieldWarningsMax: number
}

export const defaultRegistryLimits: RegistryLimits = Object.freeze({
  // With 27^5 suffixes and 50,000 objects under one prefix, 8 tries all collide once in 10^19 creates.
  generateNameAttemptsMax: 8,
  rewriteAttemptsMax: 6,
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
  continueTokenBytesMax: 2 * KiB,
  watchTimeoutMsMin: 30 * 60_000,
  watchBookmarkPeriodMs: 60_000,
  watchEventsPerPull: 128,
  fieldWarningsMax: 50,
})
