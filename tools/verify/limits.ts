/** Every bound of recording and checking. When one is reached, what is said about it stands beside it. */
export const verifyLimits = Object.freeze({
  /** Bytes of history waiting for the file. When full, clients and watchers wait before they go on. */
  spillBytesMax: 8 * 1024 * 1024,
  /** Bytes of one answer, a list of all objects included. A larger one counts as no answer. */
  answerBytesMax: 16 * 1024 * 1024,
  /** Bytes of one line of a watch or of a history file. A longer one ends the watch, or the reading. */
  lineBytesMax: 16 * 1024 * 1024,
  /** Calls and events of a history that is checked. A longer one is refused: record for a shorter time. */
  recordsMax: 1_000_000,
  /** Objects shown by all lists of a history together. More are refused as too many records are. */
  shownMax: 10_000_000,
  /** Steps of one search for an order. Beyond it the object is undecided, and said to be. */
  searchStepsMax: 300_000,
  /** Searches that make one bad history smaller. Beyond it, it stays as small as it got. */
  shrinkTrialsMax: 600,
  /** Anomalies told in full, of each check. The others are counted. */
  anomaliesMax: 20,
  /** Lines of the history told with one anomaly, the last of them. */
  witnessesMax: 40,
  /** Gaps between acknowledgements told, the longest. */
  gapsMax: 10,
  /** Ms that watches have to catch up once writing has ended; those that have not are undecided. */
  catchUpMsMax: 15_000,
  /** Ms that the first request, which makes the namespace, may go on trying. */
  beginMsMax: 5_000,
  /** Ms that each of the last requests may go on trying while members come and go. */
  settleMsMax: 30_000,
  /** Faults read from a file. More are refused. */
  faultsMax: 10_000,
})
