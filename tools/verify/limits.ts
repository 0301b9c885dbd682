/** Limits of recording and checking, each with the behavior when it is reached. */
export const verifyLimits = Object.freeze({
  /** Bytes of history that wait to be written. When full: clients and watchers wait. */
  spillBytesMax: 8 * 1024 * 1024,
  /** Bytes of one response, including a list of all objects. Larger: counts as no answer. */
  answerBytesMax: 16 * 1024 * 1024,
  /**
   * Bytes of one line of a watch or of a history file. Longer: the watch ends; the file is
   * rejected.
   */
  lineBytesMax: 16 * 1024 * 1024,
  /** Calls, watches and events of a history to check. More: rejected; record for a shorter time. */
  recordsMax: 1_000_000,
  /**
   * Objects in all lists of a history, plus one for each other record. More: rejected like too many
   * records.
   */
  shownMax: 10_000_000,
  /** Steps of one linearizability search. More: the object is reported as undecided. */
  searchStepsMax: 300_000,
  /** Searches used to minimize one counterexample. More: the smallest so far is reported. */
  shrinkTrialsMax: 600,
  /** Anomalies reported in full by each check. More: counted only. */
  anomaliesMax: 20,
  /** Evidence lines per anomaly; the last ones are reported. */
  witnessesMax: 40,
  /** Gaps between acknowledgements to report; the longest ones. */
  gapsMax: 10,
  /** Ms for watches to catch up after the last write. Longer: reported as undecided. */
  catchUpMsMax: 15_000,
  /** Ms of retries for the first request, which creates the namespace. */
  beginMsMax: 5_000,
  /**
   * Ms of retries for all final requests together, and again for removing the namespace. Longer:
   * the verdict is undecided, or a note names the namespace.
   */
  settleMsMax: 30_000,
  /** Faults read from a file. More: rejected. */
  faultsMax: 10_000,
})
