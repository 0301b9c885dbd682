/** Every bound of measuring. What happens when one is reached stands beside it. */
export const benchLimits = Object.freeze({
  /** Threads of the generator. More processors are left to the servers. */
  threadsMax: 16,
  /** Ms without a byte of an answer. When over: the connection is made anew and the call counts as failed. */
  answerMsMax: 30_000,
  /** Head of an answer, and a line of chunked framing. Longer: the connection is broken. */
  headBytesMax: 64 * 1024,
  /** One event of a watch. Longer: the watch counts as broken. */
  eventBytesMax: 4 * 1024 * 1024,
  /** What a server may send over HTTP/2 before it is told that more may come. More: it waits. As Go's client has it. */
  http2WindowBytes: 4 * 1024 * 1024,
  /** Bytes kept of an answer whose content is looked at. What comes behind is counted only. */
  keptBytesMax: 64 * 1024,
  /** Kinds of failures told of one load, and the length of each. Others are counted only. */
  failureKindsMax: 8,
  failureWordsMax: 160,
  /** Ms after a failed call before the client asks again, so that a server that refuses is not flooded. */
  backOffMs: 50,
  /** Bytes that one load of creates may leave behind. When reached: the load ends early. */
  createdBytesMax: 128 * 1024 * 1024,
  /** Ms that making of what is read may take for each thousand objects, and at least. When over: it ends. */
  fillMsPerThousand: 30_000,
  fillMsMin: 60_000,
  /** Ms that it may take to remove what is in a namespace. When over: a note says that it is still there. */
  tidyMsMax: 180_000,
  /** Ms in which nobody answers. When over: a namespace that had to be removed stays. */
  silenceMsMax: 5_000,
  /** Ms that watchers may take to be told all that was written. What is missing then counts as lost. */
  catchUpMsMax: 30_000,
  /** Connections being opened by one thread at once. The others wait. */
  openingAtOnce: 16,
  /** Ms in which all connections of a load have to stand. When over: the load is left out, and a note says why. */
  openingMsMax: 120_000,
  /** Writes whose acknowledgement is remembered to tell how stale a read was. When reached: writing ends. */
  acknowledgedMax: 1_000_000,
  /** Ms of one call while leaders go away. When over: it is asked of another member. */
  failoverCallMs: 1000,
  /** Ms that a fault lasts. What is not over then is measured on, to its end. */
  faultMs: 3000,
  /** Ms from the fault on. When over and nobody was answered: the load is left out, and a note says so. */
  gapMsMax: 60_000,
  /** A file of results. Larger: it is none. */
  resultsBytesMax: 64 * 1024 * 1024,
})
