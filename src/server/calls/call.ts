import type { X509Certificate } from 'node:crypto'
import { assert, present } from '../../../base/assert.ts'
import type { Clock } from '../../../base/clock.ts'
import type { Json } from '../../api/json.ts'
import type { UserInfo } from '../../api/metadata/object.ts'
import type { Credentials } from '../../auth/credentials.ts'
import type { Impersonation } from '../../auth/impersonation.ts'
import type { ReadProof } from '../../registry/calls/consistency.ts'
import type { Deprecation } from '../../registry/kinds/deprecation.ts'
import type { AdmissionStep, RequestContext } from '../../registry/calls/request.ts'
import { certificatesOf, connectionOf } from '../http/peer.ts'
import type { AuditedCall } from './audited-call.ts'
import type { OutgoingBytes } from '../load/outgoing-bytes.ts'
import type { RequestInfo } from '../http/request-info.ts'
import type { Upload } from '../load/body-memory.ts'
import type { WebSocketOffer } from '../http/websocket-handshake.ts'
import { RequestTiming } from './request-timing.ts'
import { Warnings } from './warnings.ts'
import type { RawRequest, RawReply } from '../http/raw-http.ts'

/**
 * The state of one request while it lasts. Verbs see it as a `RequestContext`, authentication as
 * `Credentials`.
 */
export class Call implements RequestContext, Credentials {
  readonly id: string
  readonly info: RequestInfo
  readonly startedMs: number
  /** The name of this member. */
  readonly member: string
  readonly raw: RawRequest
  readonly reply: RawReply
  /** The WebSocket handshake of the request; null: not a WebSocket request. */
  readonly webSocket: WebSocketOffer | null
  /** On the monotonic clock. */
  deadlineMs: number
  /** The upload of its body, while that is in progress. */
  upload: Upload | null = null
  /** Estimated memory of its parsed body, once received; 0: no body. */
  bodyMemoryBytes = 0
  /** Bytes of the response body that were produced so far: sent, or waiting for the client. */
  sentBytes = 0
  /** Accounts for bytes that the client has not read; null: they are not counted. */
  outgoing: OutgoingBytes | null = null
  /** Ends a stream in progress whose client does not read: a watch, or an upgraded connection. */
  endSlow: (() => void) | null = null
  /** Ends a stream in progress: a watch, a snapshot, or a connection to another server. */
  endStream: (() => void) | null = null
  /**
   * An HTTP/1.1 connection is closed after this response: the server drains, or has given the
   * request up.
   */
  lastOnConnection = false
  /** The deprecation of the requested kind, once that is known. */
  deprecated: Deprecation | null = null
  /** The audit data of the call; null: not audited. */
  audit: AuditedCall | null = null
  #revoked = false
  #caller: UserInfo | null = null
  #impersonation: Impersonation | null = null
  readonly #clock: Clock
  #closed = false
  #isWorking = false
  #held: readonly (() => void)[] | null = null
  #aborted = false
  #blockedSinceMs: number | null = null
  #abort: AbortController | null = null
  #warnings: Warnings | null = null
  #proof: ReadProof | null = null
  #timing: RequestTiming | null = null
  #isReplayed = false

  constructor(of: {
    readonly id: string
    readonly info: RequestInfo
    readonly member: string
    readonly clock: Clock
    /** The time limit of the call, in ms. */
    readonly allowedMs: number
    readonly raw: RawRequest
    readonly reply: RawReply
    readonly webSocket?: WebSocketOffer | null
  }) {
    this.id = of.id
    this.info = of.info
    this.member = of.member
    this.#clock = of.clock
    this.startedMs = of.clock.monotonicMs()
    this.deadlineMs = this.startedMs + of.allowedMs
    this.raw = of.raw
    this.reply = of.reply
    this.webSocket = of.webSocket ?? null
  }

  /** The response has ended, in any way. */
  get closed(): boolean {
    return this.#closed
  }

  /** Calls `release` once the response has ended and no task of the call is running. */
  hold(release: () => void): void {
    this.#held = this.#held === null ? [release] : [...this.#held, release]
    this.#releaseHeld()
  }

  /**
   * Runs a task that may continue after the client left: until it ends, the resources of the call
   * are not released.
   */
  async work<T>(task: () => Promise<T>): Promise<T> {
    this.#isWorking = true
    try {
      return await task()
    } finally {
      this.#isWorking = false
      this.#releaseHeld()
    }
  }

  /** Called when the response has ended: releases the resources of the call. */
  close(): void {
    this.#closed = true
    this.#releaseHeld()
  }

  #releaseHeld(): void {
    if (!this.#closed || this.#isWorking) return
    const held = this.#held
    if (held === null) return
    this.#held = null
    for (const release of held) release()
  }

  /** Whether the caller lost its credentials or a permission while the call was in progress. */
  get isRevoked(): boolean {
    return this.#revoked
  }

  /** Ends a stream now, or as soon as it begins; other responses continue. */
  revoke(): void {
    this.#revoked = true
    this.endStream?.()
  }

  /** Ends a response that the client does not read, with an error where one can still be sent. */
  cutOff(): void {
    if (this.endSlow === null) this.reply.destroy()
    else this.endSlow()
  }

  /** On the monotonic clock. */
  nowMs(): number {
    return this.#clock.monotonicMs()
  }

  /** Called when bytes wait for the client. */
  noteBlocked(): void {
    this.#blockedSinceMs ??= this.#clock.monotonicMs()
  }

  /** Called when the client has read some of what waited for it. */
  noteTaken(): void {
    this.#blockedSinceMs = null
  }

  /**
   * Returns for how long the client has read nothing of what waits for it, in ms. 0: nothing waits.
   */
  blockedMs(): number {
    return this.#blockedSinceMs === null ? 0 : this.#clock.monotonicMs() - this.#blockedSinceMs
  }

  /** The authenticated caller. */
  get caller(): UserInfo {
    return present(this.#caller, 'the caller was authenticated')
  }

  /** The user that the call is made for: the caller, or the one that it impersonates. */
  get user(): UserInfo {
    return this.#impersonation?.user ?? this.caller
  }

  /** null: the caller acts as itself. */
  get impersonated(): UserInfo | null {
    return this.#impersonation?.user ?? null
  }

  /**
   * The impersonated user, and the permissions that impersonating it required; null: the caller
   * acts as itself.
   */
  get impersonation(): Impersonation | null {
    return this.#impersonation
  }

  /** Called when the caller may act as another user. */
  impersonate(impersonation: Impersonation): void {
    this.#impersonation = impersonation
  }

  /** Whether the caller is authenticated. */
  get authenticated(): boolean {
    return this.#caller !== null
  }

  set caller(user: UserInfo) {
    assert(this.#caller === null, 'a call has one caller')
    this.#caller = user
  }

  get userAgent(): string {
    return this.raw.headers['user-agent'] ?? ''
  }

  get trace(): { readonly traceparent: string; readonly tracestate: string } {
    const { traceparent = '', tracestate = '' } = this.raw.headers
    return { traceparent: String(traceparent), tracestate: String(tracestate) }
  }

  get authorization(): string | undefined {
    const token = this.webSocket?.token ?? null
    return this.raw.headers.authorization ?? (token === null ? undefined : `Bearer ${token}`)
  }

  get rawHeaders(): readonly string[] {
    return this.raw.rawHeaders
  }

  get connection(): object | null {
    return connectionOf(this.raw)
  }

  certificates(): readonly X509Certificate[] {
    return certificatesOf(this.raw)
  }

  /** Created on first use: most calls never need it. */
  get signal(): AbortSignal {
    if (this.#abort === null) {
      this.#abort = new AbortController()
      if (this.#aborted) this.#abort.abort()
    }
    return this.#abort.signal
  }

  get warnings(): readonly string[] | null {
    return this.#warnings?.headers ?? null
  }

  /** An arrow function, as verbs may pass it on. */
  readonly warn = (text: string): void => {
    this.#warnings ??= new Warnings()
    this.#warnings.add(text)
  }

  received(body: Json): void {
    this.audit?.received(body)
  }

  answered(bytes: Uint8Array, isStatus: boolean): void {
    this.audit?.answered(bytes, isStatus)
  }

  /** An arrow function, as `warn`. */
  readonly annotate = (key: string, value: string, from?: 'Metadata' | 'Request'): void => {
    this.audit?.annotate(key, value, from)
  }

  /** Created on first use. */
  get timing(): RequestTiming {
    this.#timing ??= new RequestTiming(this.startedMs)
    return this.#timing
  }

  /** The time in which the call waited for admission webhooks. */
  get webhooksMs(): number {
    return this.#timing?.webhooksMs ?? 0
  }

  /**
   * Returns the value of `Server-Timing`; null: the client did not request it, or lacks the
   * permission.
   */
  serverTiming(): string | null {
    return this.#timing?.header(this.nowMs()) ?? null
  }

  /** An arrow function, as `warn`. */
  readonly admissionTook = (step: AdmissionStep, ms: number): void => {
    if (step.kind === 'webhook' || this.#timing !== null) this.timing.took(step, ms)
  }

  /** Whether the response is that of an earlier request with the same idempotency key. */
  get isReplayed(): boolean {
    return this.#isReplayed
  }

  replayed(): void {
    this.#isReplayed = true
  }

  /** The proof of a read, once there is one; null: none yet, or not a read. */
  get proof(): ReadProof | null {
    return this.#proof
  }

  proven(proof: ReadProof): void {
    this.#proof = proof
  }

  /** Called when the response has ended, or the server gives the call up: work for it may stop. */
  abort(): void {
    this.#aborted = true
    this.#abort?.abort()
  }
}
