import type { X509Certificate } from 'node:crypto'
import { assert, present } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import type { Json } from '../api/json.ts'
import type { UserInfo } from '../api/metadata/object.ts'
import type { Credentials } from '../auth/credentials.ts'
import type { ReadProof } from '../registry/calls/consistency.ts'
import type { Deprecation } from '../registry/kinds/definition.ts'
import type { RequestContext } from '../registry/calls/request.ts'
import { limits } from '../config/limits.ts'
import { certificatesOf, connectionOf } from './peer.ts'
import type { AuditedCall } from './audited-call.ts'
import type { OutgoingBytes } from './outgoing-bytes.ts'
import type { RequestInfo } from './request-info.ts'
import type { Upload } from './upload.ts'
import type { WebSocketOffer } from './websocket-handshake.ts'
import { warningHeader } from './warning.ts'
import type { RawRequest, RawReply } from './raw-http.ts'

/** All the server knows of one request while it lasts; also what verbs and authentication see of it. */
export class Call implements RequestContext, Credentials {
  readonly id: string
  readonly info: RequestInfo
  readonly startedMs: number
  /** Of the member that answers. */
  readonly member: string
  readonly raw: RawRequest
  readonly reply: RawReply
  /** What was offered for a WebSocket; null: none was asked for. */
  readonly webSocket: WebSocketOffer | null
  /** On the monotonic clock. */
  deadlineMs: number
  /** Its body is on its way. */
  upload: Upload | null = null
  /** What its body takes parsed, about, once it is here; 0: it has none. */
  bodyMemoryBytes = 0
  /** Where bytes that its client does not take are counted; null: nowhere. */
  outgoing: OutgoingBytes | null = null
  /** A watch in progress, ended by whoever calls this because its client does not read. */
  endSlow: (() => void) | null = null
  /** A watch in progress, ended by whoever calls this. */
  endStream: (() => void) | null = null
  /** The server drains: the client of an HTTP/1.1 connection should turn elsewhere after this answer. */
  lastOnConnection = false
  /** Of the kind it is about, once that is known. */
  deprecated: Deprecation | null = null
  /** What the audit log will say of it; null: there is none. */
  audit: AuditedCall | null = null
  #revoked = false
  #user: UserInfo | null = null
  readonly #clock: Clock
  #closed = false
  #isWorking = false
  #held: readonly (() => void)[] | null = null
  #aborted = false
  #blockedSinceMs: number | null = null
  #abort: AbortController | null = null
  #warnings: string[] | null = null
  #proof: ReadProof | null = null

  constructor(of: {
    readonly id: string
    readonly info: RequestInfo
    readonly member: string
    readonly clock: Clock
    /** How long it may take. */
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

  /** The answer has ended, one way or the other. */
  get closed(): boolean {
    return this.#closed
  }

  /** Has `release` called once the answer has ended and nobody works for it any more. */
  hold(release: () => void): void {
    this.#held = this.#held === null ? [release] : [...this.#held, release]
    this.#giveBack()
  }

  /** Runs what may go on after the client left: until it ends, what the call holds is not given to others. */
  async work<T>(task: () => Promise<T>): Promise<T> {
    this.#isWorking = true
    try {
      return await task()
    } finally {
      this.#isWorking = false
      this.#giveBack()
    }
  }

  /** The answer has ended: what the call holds is given back. */
  close(): void {
    this.#closed = true
    this.#giveBack()
  }

  #giveBack(): void {
    if (!this.#closed || this.#isWorking) return
    const held = this.#held
    if (held === null) return
    this.#held = null
    for (const release of held) release()
  }

  /** Whether the caller's credentials stopped counting while the call was in progress. */
  get isRevoked(): boolean {
    return this.#revoked
  }

  /** What streams ends now, or as soon as it begins; what is answered in one piece goes on. */
  revoke(): void {
    this.#revoked = true
    this.endStream?.()
  }

  /** Ends what a client does not take, and says why where there is still a way to. */
  cutOff(): void {
    if (this.endSlow === null) this.reply.destroy()
    else this.endSlow()
  }

  /** On the monotonic clock. */
  nowMs(): number {
    return this.#clock.monotonicMs()
  }

  /** Bytes wait for the client. */
  noteBlocked(): void {
    this.#blockedSinceMs ??= this.#clock.monotonicMs()
  }

  /** The client took some of what waited for it. */
  noteTaken(): void {
    this.#blockedSinceMs = null
  }

  /** Since when the client has taken nothing of what waits for it, in ms. 0: nothing waits. */
  blockedMs(): number {
    return this.#blockedSinceMs === null ? 0 : this.#clock.monotonicMs() - this.#blockedSinceMs
  }

  get user(): UserInfo {
    return present(this.#user, 'the caller was authenticated')
  }

  /** Whether the caller is known already. */
  get authenticated(): boolean {
    return this.#user !== null
  }

  set user(user: UserInfo) {
    assert(this.#user === null, 'a call has one user')
    this.#user = user
  }

  get userAgent(): string {
    return this.raw.headers['user-agent'] ?? ''
  }

  get authorization(): string | undefined {
    const token = this.webSocket?.token ?? null
    return this.raw.headers.authorization ?? (token === null ? undefined : `Bearer ${token}`)
  }

  get connection(): object | null {
    return connectionOf(this.raw)
  }

  certificates(): readonly X509Certificate[] {
    return certificatesOf(this.raw)
  }

  /** Made on first use: most calls never ask for it. */
  get signal(): AbortSignal {
    if (this.#abort === null) {
      this.#abort = new AbortController()
      if (this.#aborted) this.#abort.abort()
    }
    return this.#abort.signal
  }

  get warnings(): readonly string[] | null {
    return this.#warnings
  }

  /** An arrow, as verbs may hand it on. What is said again, as when a write is evaluated again, is told once. */
  readonly warn = (text: string): void => {
    this.#warnings ??= []
    if (this.#warnings.length >= limits.warningsMax) return
    const header = warningHeader(text)
    if (!this.#warnings.includes(header)) this.#warnings.push(header)
  }

  received(body: Json): void {
    this.audit?.received(body)
  }

  answered(bytes: Uint8Array, isStatus: boolean): void {
    this.audit?.answered(bytes, isStatus)
  }

  /** An arrow, as `warn`. */
  readonly annotate = (key: string, value: string, from?: 'Metadata' | 'Request'): void => {
    this.audit?.annotate(key, value, from)
  }

  /** What is proven of a read, once it is; null: this is none, or it is not that far. */
  get proof(): ReadProof | null {
    return this.#proof
  }

  proven(proof: ReadProof): void {
    this.#proof = proof
  }

  /** The client is gone or was told that time is up: whoever still works for it may stop. */
  abort(): void {
    this.#aborted = true
    this.#abort?.abort()
  }
}
