import { assert } from '../../base/assert.ts'

const KiB = 1024
const MiB = 1024 * KiB

/** Every bound in the system: name = thing, unit, extreme. Nothing may grow without a line here. */
export const limits = Object.freeze({
  /** In ms. The longest `--election-timeout`, and so the longest lease that a member can have promised. */
  electionMsMax: 60_000,
  /** One request body. When full: 413. */
  requestBytesMax: 3 * MiB,
  /** One log entry: a full request, what it is stored with, and its envelope. When full: 413. */
  entryBytesMax: 3 * MiB + 64 * KiB,
  /** Entries in one append message between peers; one entry always fits. */
  appendBytesMax: 1 * MiB,
  /** One message between peers. gRPC's own default would be 4 MiB. */
  messageBytesMax: 8 * MiB,
  /** Requests being answered at once, by kind; watches and health apart. When full: 429, `Retry-After: 1`. */
  requestsReadingMax: 400,
  requestsWritingMax: 200,
  /** Of these, and of watches, one user's. When full: 429 for that user, `Retry-After: 1`. */
  placesPerUserShare: 3 / 4,
  /** Request bodies on their way at once, and of them one user's. When full: 429, `Retry-After: 1`. */
  uploadsMax: 1000,
  uploadsPerUserShare: 1 / 4,
  /** How long a body may take, whatever its size, and how fast it has to come then. When slower: 408. */
  uploadGraceMs: 10_000,
  uploadBytesPerSecondMin: 16 * KiB,
  /**
   * Memory for bodies, received and parsed, until they are answered: a share of the heap, and at least. `server/body-memory` has
   * the shares of large ones and of one user. When full: 429 before anything is parsed, `Retry-After: 1`.
   */
  bodyMemoryHeapShare: 1 / 4,
  bodyMemoryBytesMin: 32 * MiB,
  /**
   * Bytes made for clients that have not taken them: a share of the heap, and at least; of them one user's, and those of one
   * connection. When full: no more is made for them, and who has taken nothing for so long is cut off.
   */
  outgoingHeapShare: 1 / 8,
  outgoingBytesMin: 16 * MiB,
  outgoingPerUserShare: 1 / 2,
  outgoingPerConnectionBytesMax: 16 * MiB,
  slowClientMsMin: 5000,
  /**
   * From so many bytes on (parsed) a request is heavy; so many of them are evaluated at once, and one that takes longer than
   * this does not count any more. When full: they wait.
   */
  heavyWorkBytesMin: 256 * KiB,
  heavyWorkBytesMax: 4 * MiB,
  heavyWorkMsMax: 1000,
  /** How long a heavy request waits for its turn. When over: 429, `Retry-After: 1`. */
  heavyWaitMsMax: 10_000,
  /** Watches of one member's clients. When full: 429, `Retry-After: 1`. */
  watchesMax: 20_000,
  /** Snapshots being sent to clients at once. When full: 429, `Retry-After: 5`. */
  snapshotsMax: 2,
  /** How long a member may be without proof of a quorum before it ends its watches instead of looking alive. */
  watchWithoutQuorumMsMax: 10_000,
  /** Answers shorter than this are not compressed; documents that are kept compressed already from the second on. */
  compressedBytesMin: 128 * KiB,
  documentCompressedBytesMin: 4 * KiB,
  /** Answers being compressed at once, about 0.5 MiB each. When full: the next leave as they are. */
  compressionsMax: 8,
  /** Connections to the client port. When full: a new one is closed at once. */
  connectionsMax: 25_000,
  /** Requests at once on one HTTP/2 connection. When full: the client waits, as the protocol says. */
  streamsPerConnectionMax: 250,
  /** Memory of one HTTP/2 connection, MB. When full: its streams are refused until some ended. */
  sessionMemoryMbMax: 64,
  /** The first line and all headers of one request. When full: 431; in HTTP/2 its stream is reset. */
  headerBytesMax: 64 * KiB,
  /** How long a request may take; a shorter `timeout` parameter counts. When over: 504. */
  requestMsMax: 60_000,
  /** How long a client may take none of the bytes waiting for it. When over: its connection is cut. */
  writeStallMsMax: 60_000,
  /** `Warning` headers of one answer, and the length of each. When full: later ones are dropped, long ones cut. */
  warningsMax: 16,
  warningCharactersMax: 256,
  /** Custom kinds, ever, that metrics count by their names. When full: later ones are counted with what is unknown. */
  customKindSeriesMax: 1000,
  /** Synced writes that measure the disk at the start, and how long they may take together. */
  diskProbeWrites: 64,
  diskProbeWriteBytes: 4 * KiB,
  diskProbeMsMax: 100,
  /** So many of its slowest hundredth of syncs must fit an election timeout. When fewer: a warning at the start. */
  diskSyncsPerElectionMin: 10,
  /** Room on the disk of the data directory. When less: a warning now and then; when none: the member ends. */
  diskFreeBytesMin: 1024 * MiB,
  /** How often it is looked at, and how often at most it is told. */
  diskSpaceLookMs: 15_000,
  diskSpaceToldMs: 600_000,
  /** Tokens for new members that wait to be used or to expire. When full: 429. */
  joinTokensMax: 32,
  joinTokenMsMax: 3_600_000,
  /** Of them for one name. When more: the oldest is void. */
  joinTokensPerNameMax: 3,
  /** Wrong join tokens looked at in a row, and how soon there is room for another. When full: 429, `Retry-After: 1`. */
  wrongJoinTokensMax: 20,
  wrongJoinTokenMs: 1000,
  /** How long a new process looks for a member that lets it in. When over: it ends and says why. */
  joinMsMax: 120_000,
  /** How long an event stays after it was last written, unless somebody says otherwise. When over: it is deleted. */
  eventMsMax: 3_600_000,
  /** Definitions of custom kinds that are served. When full: the next is not established, and its status says so. */
  customDefinitionsMax: 2000,
  /** Lines of the log, for a reader of standard output that stands still. When full: lost, counted and told; and how long an end waits. */
  logWaitingBytesMax: 1 * MiB,
  logDrainMsMax: 1000,
  /** Audit events that wait to be written. When full: `audit/audit-log-writer` says who waits and what is lost. */
  auditBufferLinesMax: 10_000,
  auditBufferBytesMax: 32 * MiB,
  /** One event. When over: it goes without the bodies of request and answer, and says so. */
  auditEventBytesMax: 1 * MiB,
  /** One write to the audit log; one event always fits. */
  auditWriteBytesMax: 1 * MiB,
  /** Keys and values of one event's annotations, in characters. When full: later ones are dropped. */
  auditAnnotationCharactersMax: 256 * KiB,
  /** Addresses that a request says it came by. When more: the nearest ones count. */
  auditSourceIpsMax: 32,
  /** Of what a client calls itself. When over: it is cut, and says so. */
  auditUserAgentCharactersMax: 1024,
  /** Events, and bytes of them, in one list that is sent to a webhook; one event always fits. */
  auditWebhookEventsMax: 400,
  auditWebhookBytesMax: 10 * MiB,
  /** How often such a list is sent that is not taken. When over: its events are lost. */
  auditWebhookTriesMax: 5,
  /** How long a webhook may take to answer. When over: as if it had not been there. */
  auditWebhookMsMax: 30_000,
  /** How often at most it is told that audit events are lost. */
  auditToldMs: 60_000,
  /** How long the last events may take to be written when a member ends. When over: they are lost. */
  auditCloseMsMax: 5000,
  /** Certificates that a client may show, its own included. When more: the later ones do not count. */
  clientCertificatesMax: 16,
})

assert(limits.requestBytesMax < limits.entryBytesMax, 'a full request fits one entry')
assert(limits.entryBytesMax <= limits.messageBytesMax, 'an entry fits one message')
assert(limits.appendBytesMax <= limits.messageBytesMax, 'a full append fits one message')
