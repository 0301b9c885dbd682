/** Limits of benchmarks, each with the behavior when it is reached. */
export const benchLimits = Object.freeze({
  /** Threads of the generator. Further processors are left to the servers. */
  threadsMax: 16,
  /** Ms without a byte of a response. Longer: the call fails and the connection is reopened. */
  answerMsMax: 30_000,
  /**
   * Bytes of a response head, or of a line of chunked framing. Longer: the connection is closed.
   */
  headBytesMax: 64 * 1024,
  /** Bytes of one watch event. Longer: the connection is closed and the watch is resumed. */
  eventBytesMax: 4 * 1024 * 1024,
  /**
   * HTTP/2 receive window of a stream, as in Go's client, and of its connection, which has one
   * stream at a time. When full: the server waits.
   */
  http2WindowBytes: 4 * 1024 * 1024,
  /** Maximum bytes kept of a response whose content is used; the rest is only counted. */
  keptBytesMax: 64 * 1024,
  /** Kinds of failures reported per load. More: counted as `others`. */
  failureKindsMax: 8,
  /** Characters of a kind of failure. Longer: truncated. */
  failureWordsMax: 160,
  /** Ms of delay after a failed call, so that a rejecting server is not flooded. */
  backOffMs: 50,
  /** Bytes that one load of creates may leave behind. When reached: the load ends early. */
  createdBytesMax: 128 * 1024 * 1024,
  /** Ms to create the objects of a load, per thousand, and minimum. Longer: the load is skipped. */
  fillMsPerThousand: 30_000,
  fillMsMin: 60_000,
  /** Ms to remove the content of a namespace. Longer: a note reports that this is not confirmed. */
  tidyMsMax: 180_000,
  /** Ms without any answer. Longer: the namespace is left, and a note reports it. */
  silenceMsMax: 5_000,
  /** Ms for watchers to receive all events. Longer: missing events count as lost. */
  catchUpMsMax: 30_000,
  /** Concurrent connection attempts per thread. More: they wait. */
  openingAtOnce: 16,
  /** Ms to open all connections of a load. Longer: the load is skipped with a note. */
  openingMsMax: 120_000,
  /** Acknowledged writes kept to measure staleness. When full: writing ends. */
  acknowledgedMax: 1_000_000,
  /** Ms of one call during a leader failure. Longer: it has failed, and the next call begins. */
  failoverCallMs: 1000,
  /** Duration of a fault in ms. A gap that is still open then is measured to its end. */
  faultMs: 3000,
  /** Ms from the fault until calls succeed again. Longer: the load is skipped with a note. */
  gapMsMax: 60_000,
  /** Bytes of a results file. Larger: rejected. */
  resultsBytesMax: 64 * 1024 * 1024,
})
