import { assert } from '../../base/assert.ts'

const KiB = 1024
const MiB = 1024 * KiB

/**
 * Limits of the server: name = subject, unit, extreme. Some modules have a file `limits.ts` or
 * constants of their own, too.
 */
export const limits = Object.freeze({
  /**
   * Ms. Maximum of `--election-timeout`, and thereby of the leader lease that a member has granted.
   */
  electionMsMax: 60_000,
  /** Bytes of one request body. When full: 413. */
  requestBytesMax: 3 * MiB,
  /** Bytes of one log entry: a full request, its metadata, and its envelope. When full: 413. */
  entryBytesMax: 3 * MiB + 64 * KiB,
  /** Bytes of entries in one append message; one entry always fits. */
  appendBytesMax: 1 * MiB,
  /** Bytes of one message between peers. The default of gRPC is 4 MiB. */
  messageBytesMax: 8 * MiB,
  /**
   * Requests in progress, by kind, without watches, backend streams and health checks; the defaults
   * of two flags. When full: 429, `Retry-After: 1`.
   */
  requestsReadingMax: 400,
  requestsWritingMax: 200,
  /**
   * Share of one user in the requests in progress, in the watches and in the backend streams. When
   * full: 429 for that user, `Retry-After: 1`.
   */
  placesPerUserShare: 3 / 4,
  /** Request bodies being received, in total and per user. When full: 429, `Retry-After: 1`. */
  uploadsMax: 1000,
  uploadsPerUserShare: 1 / 4,
  /** Time to receive a body of any size, and minimum rate after that. Slower: 408. */
  uploadGraceMs: 10_000,
  uploadBytesPerSecondMin: 16 * KiB,
  /**
   * Memory for bodies, received and parsed, until they are answered: a share of the heap, and a
   * minimum. `server/load/body-memory` has the shares of large bodies and of one user. When full:
   * 429 before parsing, `Retry-After: 1`.
   */
  bodyMemoryHeapShare: 1 / 4,
  bodyMemoryBytesMin: 32 * MiB,
  /**
   * Bytes of responses that clients have not read: a share of the heap, and a minimum; limits per
   * user and per connection. When full: production pauses, and clients that read nothing for this
   * time are disconnected.
   */
  outgoingHeapShare: 1 / 8,
  outgoingBytesMin: 16 * MiB,
  outgoingPerUserShare: 1 / 2,
  outgoingPerConnectionBytesMax: 16 * MiB,
  slowClientMsMin: 5000,
  /**
   * Parsed bytes from which a request is heavy; bytes of the heavy requests that are evaluated at
   * once; and the ms after which one is no longer counted. When full: they wait.
   */
  heavyWorkBytesMin: 256 * KiB,
  heavyWorkBytesMax: 4 * MiB,
  heavyWorkMsMax: 1000,
  /** Ms that a heavy request waits. Longer: 429, `Retry-After: 1`. */
  heavyWaitMsMax: 10_000,
  /** Watches of the clients of one member. When full: 429, `Retry-After: 1`. */
  watchesMax: 20_000,
  /**
   * Logs, tunnels and proxied requests to node agents, Pods and Services, of one member. When full:
   * 429, `Retry-After: 1`.
   */
  backendStreamsMax: 1000,
  /** Ms of silence after which a connection to a backend is probed. */
  backendKeepAliveMs: 30_000,
  /** Bytes of the headers of a response of a backend. More: the call fails. */
  backendHeaderBytesMax: 16 * KiB,
  /**
   * Bytes of a response of a backend that refuses an upgrade, or of a node agent that refuses logs.
   * More: it is cut.
   */
  backendErrorBytesMax: 50_000,
  /** Ms for the rest of such a response. Longer: it is cut. */
  backendErrorMsMax: 5000,
  /** Snapshots being sent to clients. When full: 429, `Retry-After: 5`. */
  snapshotsMax: 2,
  /** Ms without contact to a quorum after which a member ends its watches. */
  watchWithoutQuorumMsMax: 10_000,
  /**
   * Minimum size of compressed responses, and of compressed documents, whose compressed form is
   * kept.
   */
  compressedBytesMin: 128 * KiB,
  documentCompressedBytesMin: 4 * KiB,
  /**
   * Responses being compressed, about 0.5 MiB each. When full: others are sent uncompressed, or
   * rejected with 429 if the client does not accept that.
   */
  compressionsMax: 8,
  /** Connections to the client port. When full: new ones are closed at once. */
  connectionsMax: 25_000,
  /**
   * Concurrent requests on one HTTP/2 connection. When full: the client waits, as the protocol
   * defines.
   */
  streamsPerConnectionMax: 250,
  /** Memory of one HTTP/2 connection in MB. When full: new streams are rejected. */
  sessionMemoryMbMax: 64,
  /** Bytes of the request line and all headers. When full: 431; in HTTP/2 the stream is reset. */
  headerBytesMax: 64 * KiB,
  /**
   * Ms of one request, the default of `--request-timeout`; a shorter `timeout` parameter applies.
   * Longer: 504. Also ms to receive one in HTTP/1.1. Longer: 408.
   */
  requestMsMax: 60_000,
  /** Ms that a client may read nothing while data is pending. Longer: it is disconnected. */
  writeStallMsMax: 60_000,
  /**
   * `Warning` headers of one response, and the bytes of each. When full: further ones are dropped,
   * and the last one states it; longer ones are truncated.
   */
  warningsMax: 16,
  warningCharactersMax: 256,
  /**
   * Custom kinds that get metrics of their own between start and end of the process. When full:
   * further ones are counted as unknown.
   */
  customKindSeriesMax: 1000,
  /**
   * Combinations of the labels of requests with series of their own: a scrape formats all of them,
   * 50 lines or more each. When full: further ones are counted as unknown resources.
   */
  requestSeriesMax: 1000,
  /** Syncs that measure the disk at the start, the bytes of each, and their total time. */
  diskProbeWrites: 64,
  diskProbeWriteBytes: 4 * KiB,
  diskProbeMsMax: 100,
  /**
   * The 99th percentile of syncs must fit this many times into an election timeout. Otherwise: a
   * warning at the start.
   */
  diskSyncsPerElectionMin: 10,
  /**
   * Free bytes on the disk of the data directory. Less: repeated warnings; when none is left: the
   * member stops.
   */
  diskFreeBytesMin: 1024 * MiB,
  /** Intervals of checking the free space, and of logging it. */
  diskSpaceLookMs: 15_000,
  diskSpaceLogMs: 600_000,
  /** Interval of measuring the event loop's lag, and the measurements kept for a scrape. */
  eventLoopLookMs: 500,
  eventLoopLagsMax: 1024,
  /**
   * Records of join tokens: of unused ones until they expire, of used ones an hour longer. When
   * full: 429.
   */
  joinTokensMax: 32,
  joinTokenMsMax: 3_600_000,
  /** Pending join tokens per name. More: the oldest is revoked. */
  joinTokensPerNameMax: 3,
  /**
   * Wrong join tokens in a burst, and the interval after which another one is checked. When full:
   * 429, `Retry-After: 1`.
   */
  wrongJoinTokensMax: 20,
  wrongJoinTokenMs: 1000,
  /** Ms that a new process tries to join. Longer: it ends with the reason. */
  joinMsMax: 120_000,
  /** Default lifetime of an event after its last write, in ms. Longer: it is deleted. */
  eventMsMax: 3_600_000,
  /**
   * Served definitions of custom kinds. When full: the next one is not established, with a
   * condition in its status.
   */
  customDefinitionsMax: 2000,
  /**
   * Bytes of encrypted objects that are kept decrypted. When full: those used least recently are
   * removed.
   */
  decryptedBytesMax: 32 * MiB,
  /**
   * Log lines buffered while standard output is not read. When full: dropped, counted and reported;
   * and ms to write them at exit.
   */
  logWaitingBytesMax: 1 * MiB,
  logDrainMsMax: 1000,
  /** Audit events waiting to be written. When full: see `audit/audit-log-writer`. */
  auditBufferLinesMax: 10_000,
  auditBufferBytesMax: 32 * MiB,
  /**
   * Bytes of one audit event. Larger: recorded without request and response bodies, with an
   * annotation.
   */
  auditEventBytesMax: 1 * MiB,
  /** Bytes of one write to the audit log; one event always fits. */
  auditWriteBytesMax: 1 * MiB,
  /**
   * Characters of keys and values of the annotations of an event. When full: further ones are
   * dropped, which an annotation states.
   */
  auditAnnotationCharactersMax: 256 * KiB,
  /** Source addresses of a request. More: the nearest ones are recorded. */
  auditSourceIpsMax: 32,
  /** Characters of the user agent. Longer: truncated, with a mark. */
  auditUserAgentCharactersMax: 1024,
  /** Events and bytes in one list to a webhook; one event always fits. */
  auditWebhookEventsMax: 400,
  auditWebhookBytesMax: 10 * MiB,
  /** Attempts to send a list to a webhook. More: its events are lost. */
  auditWebhookTriesMax: 5,
  /** Ms until a webhook must respond. Longer: counts as unreachable. */
  auditWebhookMsMax: 30_000,
  /** Ms that a connection to a server that this one calls is kept without calls. */
  outwardIdleMsMax: 60_000,
  /** Ms until a proxy must have connected to such a server. */
  outwardTunnelMsMax: 10_000,
  /**
   * Servers of admission webhooks with connections of their own, and as many of conversion
   * webhooks. When full: the connections of the one that was called longest ago are closed.
   */
  webhookServersMax: 256,
  /**
   * Connections to one of them, and calls that wait for one. When full: the call fails. For
   * admission, the failure policy decides what follows.
   */
  webhookConnectionsMax: 64,
  webhookQueueMax: 2048,
  /**
   * Calls of validating webhooks at a time for one request, and characters of objects in them; one
   * call is always made. More: they follow, within the time of the request.
   */
  webhookCallsMax: 128,
  webhookCharactersMax: 32 * MiB,
  /** Bytes of the response of a webhook. Longer: the call failed. */
  webhookResponseBytesMax: 3 * MiB,
  /**
   * Warnings and audit annotations of one response. More: dropped; a last warning or annotation
   * states it.
   */
  webhookWarningsMax: 32,
  webhookAuditAnnotationsMax: 32,
  /** Characters of a warning. Longer: truncated, with a mark. */
  webhookWarningCharactersMax: 256,
  /** Ms for a call; an admission webhook may have a shorter timeout. */
  webhookMsMax: 30_000,
  /**
   * Ms since this member proved that it is up to date. More: a write first waits for a read
   * barrier, so that a webhook is in force on every member within this time.
   */
  admissionWebhookProofMsMax: 1000,
  /**
   * LimitRanges of a namespace, and as many ResourceQuotas; and bytes of the others when one is
   * created or grows, because each write is compared with all of them. When full: 403.
   */
  namespacePoliciesMax: 1000,
  namespacePolicyBytesMax: 1 * MiB,
  /** Names of webhooks and plugins in metrics. More: counted together, without a name. */
  admissionSeriesMax: 1000,
  /** Kinds and pairs of versions in metrics of conversion webhooks. More: counted together. */
  conversionSeriesMax: 1000,
  /**
   * Delay before the first repetition of a failed call; each later delay is 1.5 times the one
   * before.
   */
  outwardRetryMsMin: 500,
  /** Minimum interval of reading files with credentials for such a server; sizes of the files. */
  outwardCredentialFileMs: 10_000,
  outwardTokenBytesMax: 16 * KiB,
  outwardCertificateBytesMax: 256 * KiB,
  /** Interval of logging that calls of such a server fail. */
  outwardFailureLogMs: 60_000,
  /** Interval of reporting lost audit events. */
  auditReportMs: 60_000,
  /** Ms to write the last audit events at exit. Longer: they are lost. */
  auditCloseMsMax: 5000,
  /** Certificates in the chain of a client, including its own. More: further ones are ignored. */
  clientCertificatesMax: 16,
  /**
   * Ms for a review by a webhook of authentication or authorization, with all its attempts. Longer:
   * the webhook failed.
   */
  reviewWebhookMsMax: 10_000,
  reviewWebhookAttemptsMax: 5,
  /**
   * Connections to such a webhook, and reviews that wait for one. When full: 429, `Retry-After: 1`.
   */
  reviewWebhookConnectionsMax: 32,
  reviewWebhookQueueMax: 1000,
  /** Bytes of the response of such a webhook. Longer: the webhook failed. */
  reviewWebhookResponseBytesMax: 256 * KiB,
  /**
   * Tokens whose user is kept, and as many that were rejected. When full: the oldest is removed.
   */
  tokenWebhookEntriesMax: 4096,
  /** Permissions that are kept, and as many refusals. When full: the oldest is removed. */
  authorizationWebhookEntriesMax: 8192,
  /** Ms for a request to the OpenID provider. Longer: it failed. */
  oidcMsMax: 10_000,
  /** Bytes of its discovery document, and of its keys; number of the keys. More: it failed. */
  oidcResponseBytesMax: 1 * MiB,
  oidcKeysMax: 100,
  /**
   * Age in ms at which its keys are fetched again, and the minimum age at which a token with an
   * unknown key has them fetched.
   */
  oidcKeysMsMax: 600_000,
  oidcFetchMsMin: 1000,
  /** Ms from a failed fetch to the next one. */
  oidcFailedFetchMs: 5000,
  /**
   * Identity tokens that were verified, and ms that they are kept. When full: the oldest is
   * removed.
   */
  oidcUsersMax: 4096,
  oidcUserMs: 10_000,
  /** Identity tokens that are being verified at once. When full: 429, `Retry-After: 1`. */
  oidcVerificationsMax: 256,
  /** Users of authenticating proxies that are kept, and ms. When full: the oldest is removed. */
  frontProxyUsersMax: 4096,
  frontProxyUserMs: 600_000,
  /** Policies of the mode ABAC. More: the server does not start. */
  abacPoliciesMax: 10_000,
  /** Characters of a service account token. Longer: rejected, and never issued. */
  tokenCharactersMax: 16 * KiB,
  /**
   * Service account tokens whose signature is known to be valid. When full: the least recently
   * used one is verified again at its next use.
   */
  verifiedTokensMax: 4096,
  /** Service account tokens that are being verified at once. When full: 429, `Retry-After: 1`. */
  tokenVerificationsMax: 256,
  /** Keys that verify service account tokens. More: the server does not start. */
  tokenKeysMax: 64,
  /**
   * Keys that sign and verify service account tokens and that all members share. When full: the
   * oldest is removed if it was replaced a year ago; else there is no rotation.
   */
  sharedSigningKeysMax: 16,
  /** Ms from the creation of a shared key until it signs: members and clients learn it. */
  signingKeyPublicationMs: 10_000,
  /** Ms for which issuing a token waits for the first key. Longer: 503, `Retry-After: 1`. */
  signingKeyWaitMs: 3000,
  /**
   * How often a member checks that its public key is stored: until it was found, and after that.
   */
  memberKeyCheckMs: { missing: 200, stored: 2000 },
  keyRingCheckMs: 10_000,
  /** Ms for a write of keys. Longer: it is tried again. */
  keyRingWriteMs: 5000,
  /**
   * Assumed difference between the clocks of two machines: tokens are accepted this much earlier
   * and later.
   */
  tokenClockSkewMs: 60_000,
  /** Names in the impersonation headers of a request. More: 400. */
  impersonatedNamesMax: 256,
  /**
   * How often a change of the rules is looked for, to end streams of callers that lost a
   * permission.
   */
  accessCheckMs: 500,
  /** How often the tokens of service accounts with calls in progress are looked up again. */
  accountCheckMs: 5000,
  /** Namespaces of which the rules of one user are cached. More: the cache is cleared. */
  namespacesPerUserMax: 256,
  /** Values looked up to compare the rules of a role with those of its author. More: 403. */
  ruleComparisonStepsMax: 1_000_000,
  /** Lines of missing rules in the 403 of a role or binding. More: they are counted. */
  missingRulesListedMax: 20,
  /** Rules in the answer of a SelfSubjectRulesReview. More: it is incomplete. */
  reviewedRulesMax: 5000,
  /** Missing rules that are looked for, to list and count them. More: the rest is not compared. */
  missingRulesCountedMax: 1000,
})

assert(limits.requestBytesMax < limits.entryBytesMax, 'a full request fits one entry')
assert(limits.entryBytesMax <= limits.messageBytesMax, 'an entry fits one message')
assert(limits.appendBytesMax <= limits.messageBytesMax, 'a full append fits one message')
