/**
 * Limits on checking an object and on the errors that are found. Each comment states what happens
 * above the limit.
 */
export const findingLimits = Object.freeze({
  /** Findings of one object that are kept. More: dropped. */
  findingsMax: 200,
  /**
   * Steps for checking one object: one for each value that a schema has rules for. When spent: 422
   * with a finding that names this limit.
   */
  stepsMax: 4_000_000,
  /** Characters of a path, and of one name or key in it. More: cut. */
  pathLengthMax: 1024,
  pathStepLengthMax: 320,
  /** Characters of a value. More: cut. */
  valueLengthMax: 1024,
})

/** Limits on the values of one object, in any encoding. */
export const bodyLimits = Object.freeze({
  /**
   * Members and elements of a body, and of the result of a patch; empty objects and lists count
   * twice. The most expensive values cost 3 microseconds each to decode and 3 more to validate, in
   * separate turns of the event loop, so the limit keeps each turn at about 200 ms. The largest
   * objects in practice, CustomResourceDefinitions of 1.5 MB, have up to 60,000 values. When more:
   * 413.
   */
  valuesMax: 65_536,
  /**
   * The limit on members and elements of a stored object, which includes defaults. When more: 413.
   * An object that is stored already, such as one whose kind got more defaults, can still be
   * updated.
   */
  storedValuesMax: 98_304,
  /**
   * Values that an update may add to an object above the limits, such as a label or a finalizer.
   */
  valuesAddedMax: 256,
})

/**
 * Limits on an error that leaves the server, in bytes of its JSON text. More: cut. Together they
 * are below 64 KiB.
 */
export const errorLimits = Object.freeze({
  messageBytesMax: 16 * 1024,
  causesBytesMax: 32 * 1024,
  /** For the field or the message of one cause. */
  causeBytesMax: 12 * 1024,
  /** The reason, member names, separators and indentation of a cause. */
  causeOverheadBytes: 128,
  /** Characters of a cause's detail, without path and value. */
  detailLengthMax: 4096,
  /** Characters of a name, and of a reason that an admission webhook chose. */
  nameLengthMax: 512,
})
