import type { Clock } from '../../../base/clock.ts'
import type { ApiError } from '../../api/errors/api-error.ts'
import { isJsonObject, objectMember, textMember } from '../../api/json.ts'
import type { Json, JsonObject } from '../../api/json.ts'
import type { UserInfo } from '../../api/metadata/object.ts'
import type { Names } from '../../api/metadata/names.ts'
import { parseOwnJson } from '../../api/codec/json.ts'
import { statusOf } from '../../api/errors/status.ts'
import type { Decision } from '../../auth/decision.ts'
import type { Deprecation } from '../../registry/kinds/deprecation.ts'
import { limits } from '../../config/limits.ts'
import { nothingNamed } from '../../audit/audit-event.ts'
import type { NamedByBody } from '../../audit/audit-event.ts'
import { isAtLeast } from '../../audit/audit-policy.ts'
import type { AuditDecision, AuditStage } from '../../audit/audit-policy.ts'
import type { AuditTrail } from '../../audit/audit-trail.ts'
import { redacted, redactedText } from '../../audit/redaction.ts'
import type { RedactionOptions } from '../../audit/redaction.ts'
import { AuditAnnotations } from './audit-annotations.ts'
import { sourceIpsOf } from '../http/peer.ts'
import type { RawReply, RawRequest } from '../http/raw-http.ts'
import type { RequestInfo } from '../http/request-info.ts'

export type AuditDependencies = {
  readonly trail: AuditTrail
  readonly clock: Clock
  readonly names: Names
}

/** The part of a call that the audit log records. */
export type AuditableCall = {
  readonly id: string
  readonly info: RequestInfo
  readonly authenticated: boolean
  readonly caller: UserInfo
  /** null: the caller acts as itself. */
  readonly impersonated: UserInfo | null
  readonly userAgent: string
  readonly deprecated: Deprecation | null
  readonly raw: RawRequest
  readonly reply: RawReply
}

type Recorded = AuditDecision & { readonly level: 'Metadata' | 'Request' | 'RequestResponse' }

/** Collects the audit data of one call, from its first hook to the end of its response. */
export class AuditedCall {
  readonly #call: AuditableCall
  readonly #dependencies: AuditDependencies
  readonly #receivedMs: number
  readonly #sourceIps: readonly string[]
  readonly #annotations: AuditAnnotations
  /** null: not decided yet, or nothing is recorded. */
  #decision: Recorded | null = null
  #isDecided = false
  #named: NamedByBody = nothingNamed
  #request: Json | null = null
  #status: JsonObject | null = null
  #response: { readonly bytes: Uint8Array } | { readonly object: JsonObject } | null = null
  #isBroken = false
  #stopWaiting: (() => void) | null = null

  constructor(call: AuditableCall, dependencies: AuditDependencies) {
    this.#call = call
    this.#dependencies = dependencies
    this.#annotations = new AuditAnnotations(dependencies.names.auditAnnotations.dropped)
    this.#receivedMs = dependencies.clock.wallMs()
    // Read at the beginning, because the connection may be closed when the response has ended.
    this.#sourceIps = sourceIpsOf(call.raw)
  }

  /**
   * Called when the caller is authenticated.
   * @param go see `AuditTrail.admit`
   */
  begin(go: (may: boolean) => void): void {
    const decision = this.#decide()
    if (decision === null) {
      go(true)
      return
    }
    const { trail } = this.#dependencies
    let waits = true
    const stop = trail.admit(this.#record(decision, 'RequestReceived'), (may) => {
      waits = false
      this.#stopWaiting = null
      go(may)
    })
    if (waits) this.#stopWaiting = stop
  }

  /** Returns whether this call is recorded at this level or above. */
  keeps(level: 'Metadata' | 'Request' | 'RequestResponse'): boolean {
    return this.#decision !== null && isAtLeast(this.#decision.level, level)
  }

  /**
   * Adds an annotation. The first value of a key is kept. Annotations beyond the limit are dropped,
   * and one annotation states that.
   * @param from the lowest level that records it
   */
  annotate(key: string, value: string, from: 'Metadata' | 'Request' = 'Metadata'): void {
    if (this.keeps(from)) this.#annotations.add(key, value)
  }

  authorized(decision: Decision): void {
    const group = this.#dependencies.names.group('authorization')
    this.annotate(`${group}/decision`, decision.kind === 'allow' ? 'allow' : 'forbid')
    this.annotate(`${group}/reason`, decision.reason ?? '')
  }

  /** Called when the body has been read. */
  received(body: Json): void {
    if (this.#decision === null) return
    const { verb } = this.#call.info.action
    if ((verb === 'create' || verb === 'update') && isJsonObject(body)) {
      const metadata = objectMember(body, 'metadata')
      this.#named = {
        name: textMember(metadata, 'name'),
        namespace: textMember(metadata, 'namespace'),
        uid: textMember(metadata, 'uid'),
        resourceVersion: textMember(metadata, 'resourceVersion'),
      }
    }
    if (this.keeps('Request')) this.#request = body
  }

  /** @param bytes JSON of the object or `Status` in the response */
  answered(bytes: Uint8Array, isStatus: boolean): void {
    if (this.#decision === null) return
    if (isStatus) {
      const status = parseOwnJson(textOf(bytes))
      if (isJsonObject(status)) this.#status = status
    }
    if (this.keeps('RequestResponse')) this.#response = { bytes }
  }

  refused(error: ApiError): void {
    const status = statusOf(error)
    this.#status = status
    const { action } = this.#call.info
    if (this.keeps('RequestResponse') && action.kind === 'resource') this.#response = { object: status }
  }

  /** Called when the server itself failed. */
  broke(): void {
    this.#isBroken = true
  }

  /** Called when a stream has begun: a watch, or a connection to another server. */
  streamStarted(): void {
    if (this.#decision !== null) this.#record(this.#decision, 'ResponseStarted')
  }

  /** Called when the response has ended, in any way. */
  end(): void {
    this.#stopWaiting?.()
    if (!this.#isDecided) {
      // Either authentication failed: then there is a single event, at the stage that upstream
      // records for it. Or the call ended before `begin`.
      const decision = this.#decide()
      const stage = this.#call.authenticated ? 'ResponseComplete' : 'ResponseStarted'
      if (decision !== null) this.#record(decision, stage)
      return
    }
    const decision = this.#decision
    if (decision === null) return
    this.#annotateDeprecation()
    this.#record(decision, this.#isBroken ? 'Panic' : 'ResponseComplete')
  }

  #decide(): Recorded | null {
    const { info, authenticated } = this.#call
    const decision = this.#dependencies.trail.decide(authenticated ? this.#call.caller : null, info.action)
    this.#isDecided = true
    const { level } = decision
    this.#decision = level === 'None' ? null : { ...decision, level }
    return this.#decision
  }

  /** @source spec 6.2 */
  #annotateDeprecation(): void {
    const { deprecated } = this.#call
    if (deprecated === null) return
    const { auditAnnotations } = this.#dependencies.names
    this.annotate(auditAnnotations.deprecated, 'true')
    if (deprecated.removed !== '') this.annotate(auditAnnotations.removedRelease, deprecated.removed)
  }

  /** @returns null: this stage is not recorded; else as `AuditTrail.record` */
  #record(decision: Recorded, stage: AuditStage): boolean | null {
    if (decision.omitStages.has(stage)) return null
    const { trail, clock } = this.#dependencies
    const call = this.#call
    const isBegin = stage === 'RequestReceived'
    const isEnd = stage === 'ResponseComplete' || stage === 'Panic'
    return trail.record({
      level: decision.level,
      auditId: call.id,
      stage,
      requestUri: call.raw.url ?? '/',
      action: call.info.action,
      user: call.authenticated ? call.caller : null,
      impersonatedUser: call.impersonated,
      sourceIps: this.#sourceIps,
      userAgent: cutUserAgent(call.userAgent),
      named: this.#named,
      responseStatus: isBegin ? null : this.#statusSoFar(),
      requestObject: isEnd ? this.#requestObject(decision) : null,
      responseObject: isEnd ? this.#responseObject(decision) : null,
      receivedMs: this.#receivedMs,
      stageMs: isBegin ? this.#receivedMs : Math.max(this.#receivedMs, clock.wallMs()),
      annotations: this.#annotations.all,
    })
  }

  #statusSoFar(): JsonObject {
    const { reply } = this.#call
    if (!reply.headersSent) {
      const message = 'the client disconnected before the response'
      return { metadata: {}, status: 'Failure', message, code: CLIENT_LEFT }
    }
    const given = Object.entries(this.#status ?? { metadata: {} })
    const status = given.filter(([name]) => name !== 'kind' && name !== 'apiVersion')
    return { ...Object.fromEntries(status), code: reply.statusCode }
  }

  #requestObject(decision: Recorded): Json | null {
    return this.#request === null ? null : redacted(this.#request, this.#redaction(decision))
  }

  #responseObject(decision: Recorded): string | null {
    const response = this.#response
    if (response === null) return null
    if ('object' in response) return JSON.stringify(response.object)
    // With this object the event is too large: `eventLine` omits the object, so it need not be
    // redacted.
    if (response.bytes.byteLength > limits.auditEventBytesMax) return textOf(response.bytes)
    return redactedText(textOf(response.bytes), this.#redaction(decision))
  }

  #redaction({ omitManagedFields }: Recorded): RedactionOptions {
    const { action } = this.#call.info
    const isAboutTokens =
      action.kind === 'resource' &&
      (action.subresource === 'token' || action.group === this.#dependencies.names.group('authentication'))
    return { tokens: isAboutTokens, managedFields: omitManagedFields }
  }
}

/**
 * The code of a call whose client disconnected before the response, as in
 * `apiserver_request_total`. It is never sent.
 */
const CLIENT_LEFT = 499

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8').trimEnd()
}

/** @source apiserver `pkg/audit/request.go` */
function cutUserAgent(userAgent: string): string {
  const most = limits.auditUserAgentCharactersMax
  return userAgent.length <= most ? userAgent : `${userAgent.slice(0, most)}...TRUNCATED`
}
