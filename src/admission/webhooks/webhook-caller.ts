import type { Clock } from '../../../base/clock.ts'
import type { Random } from '../../../base/random.ts'
import { timeout } from '../../api/errors/standard-errors.ts'
import type { Names } from '../../api/metadata/names.ts'
import type { UserInfo } from '../../api/metadata/object.ts'
import type { OutwardResult } from '../../outward/outward-client.ts'
import type { AdmissionRequest } from '../../registry/calls/admission.ts'
import type { ResourceDefinition } from '../../registry/kinds/definition.ts'
import { randomUid } from '../../registry/kinds/metadata.ts'
import type { AdmissionMetrics, WebhookErrorType, WebhookMeter } from '../admission-metrics.ts'
import { reviewBody } from './admission-review.ts'
import { callChain, isLoop, traceHeaders } from './call-chain.ts'
import { isAboutRequest, unreachableWords, wrongStatusWords } from '../../outward/call-errors.ts'
import type { BreakerState } from '../../outward/circuit-breaker.ts'
import type { CompiledWebhook } from './compiled-webhook.ts'
import { callFailure, denial, denialCode, dryRunRefusal, rejectionCode } from './denial.ts'
import { RepeatedAnswers } from './repeated-answers.ts'
import type { WebhookVerdict } from './read-response.ts'
import type { WebhookClients } from '../../outward/webhook-clients.ts'
import type { AllWebhookStatistics, WebhookStatistics } from '../../outward/webhook-statistics.ts'

export type WebhookCallerDependencies = {
  readonly clock: Clock
  readonly random: Random
  readonly names: Names
  readonly clients: Pick<WebhookClients, 'call'>
  readonly statistics: AllWebhookStatistics
  /** Unset: nothing is counted. */
  readonly metrics?: Pick<AdmissionMetrics, 'webhook' | 'rejected' | 'failedOpen'>
  /** Called when the circuit breaker of a webhook opens, and when it closes again. */
  readonly onBreaker?: (webhook: CompiledWebhook, state: BreakerState, why: string) => void
}

/** One call of a webhook for a request. */
export type WebhookCall = {
  readonly webhook: CompiledWebhook
  /** The version of the kind in which it gets the request. */
  readonly matched: ResourceDefinition
  readonly request: AdmissionRequest
  readonly objectText: string | null
  readonly oldObjectText: string | null
}

/**
 * A failed call.
 *
 * @param why one line, in upstream's words if upstream has the same failure
 * @param breaker whether the circuit breaker counts it
 */
export type CallFailed = {
  readonly kind: 'failed'
  readonly why: string
  readonly errorType: WebhookErrorType
  readonly code: number
  readonly breaker: 'counts' | 'counts-once-per-user' | 'ignores' | 'not-called'
}

type Used<T> = { readonly kind: 'used'; readonly value: T } | CallFailed

/** The result of a call. `ignored`: it failed, and its policy is `Ignore`. */
export type CallResult<T> = { readonly kind: 'allowed'; readonly value: T } | { readonly kind: 'ignored' }

/**
 * Calls webhooks: with the limits of their timeouts, their circuit breakers and the deadline of the
 * request, and with their failure policies.
 *
 * @source spec 4.6; apiserver `pkg/admission/plugin/webhook/mutating/dispatcher.go`
 */
export class WebhookCaller {
  readonly #dependencies: WebhookCallerDependencies
  /** Signs the links by which loops are detected. */
  readonly #chainKey: Uint8Array
  readonly #answers = new RepeatedAnswers()
  readonly #meters = new WeakMap<CompiledWebhook, WebhookMeter>()

  constructor(dependencies: WebhookCallerDependencies) {
    this.#dependencies = dependencies
    this.#chainKey = dependencies.random.bytes(32)
  }

  /**
   * @param use takes the verdict of a webhook that allows the request; it may find the response
   * invalid
   * @throws ApiError the webhook denied the request, failed with the policy `Fail`, or does not
   * support dry run; or it failed and the time of the request is over
   */
  async call<T>(
    call: WebhookCall,
    use: (verdict: WebhookVerdict) => Used<T> | Promise<Used<T>>,
  ): Promise<CallResult<T>> {
    const { webhook, request } = call
    const { clock, statistics } = this.#dependencies
    if (request.options.dryRun && !webhook.allowsDryRun) throw dryRunRefusal(webhook)
    const own = statistics.of(webhook)
    const startedMs = clock.monotonicMs()
    own.inFlight++
    let result: Made
    try {
      result = await this.#make(call, own)
    } finally {
      own.inFlight--
    }
    if (result.kind === 'verdict') this.#pass(call, result.verdict)
    const using = result.kind === 'verdict' && result.verdict.allowed ? use(result.verdict) : null
    const used = using instanceof Promise ? await using : using
    const ms = clock.monotonicMs() - startedMs
    request.context.request.admissionTook?.({ kind: 'webhook', phase: webhook.type, name: webhook.name }, ms)
    if (result.kind === 'failed') return this.#failed(call, own, result, ms)
    if (used === null) return this.#denied(call, own, result.verdict, ms)
    if (used.kind === 'failed') return this.#failed(call, own, used, ms)
    own.ended('allowed', ms, clock.monotonicMs())
    this.#count(call, 200, false, ms)
    return { kind: 'allowed', value: used.value }
  }

  async #make(call: WebhookCall, own: WebhookStatistics): Promise<Made> {
    const { webhook, request } = call
    const { clock } = this.#dependencies
    const chain = callChain(request.context.request.trace?.tracestate ?? '', clock.wallMs())
    if (isLoop(chain, webhook, this.#chainKey)) return notCalled(LOOP)
    const waitMs = own.breaker.waitMs(clock.monotonicMs())
    if (waitMs > 0) return notCalled(`circuit breaker is open: ${openWords(own, waitMs)}`)
    const { state: before } = own.breaker
    own.breaker.begin()
    const leftMs = request.context.request.deadlineMs - clock.monotonicMs()
    const timeoutMs = webhook.timeoutSeconds * 1000
    const sent = this.#send(call, Math.max(1, Math.min(timeoutMs, leftMs)), chain)
    const made = 'why' in sent ? sent : this.#received(call, sent, await sent.result)
    // A call that the client did not wait for proves nothing about the webhook.
    const isCut = leftMs < timeoutMs && clock.monotonicMs() >= request.context.request.deadlineMs
    if (made.kind === 'verdict') own.breaker.succeeded()
    else if (isCut || made.breaker === 'ignores' || made.breaker === 'not-called') own.breaker.abandon()
    else {
      const isOnce = made.breaker === 'counts-once-per-user'
      own.breaker.failed(clock.monotonicMs(), isOnce ? requesterOf(request.context.request.user) : null)
    }
    const { state } = own.breaker
    if ((state === 'closed') !== (before === 'closed')) {
      this.#dependencies.onBreaker?.(webhook, state, made.kind === 'failed' ? made.why : '')
    }
    return made
  }

  #send(call: WebhookCall, msMax: number, chain: readonly string[]): Sent | CallFailed {
    const { webhook, matched, request, objectText, oldObjectText } = call
    const { clock, random, names, clients } = this.#dependencies
    const uid = randomUid(random)
    const version = webhook.reviewVersion
    const query = `timeout=${Math.max(1, Math.ceil(msMax / 1000))}s`
    const trace = request.context.request.trace ?? { traceparent: '', tracestate: '' }
    try {
      const result = clients.call(webhook.type, webhook.endpoint, {
        query,
        callMsMax: msMax,
        body: reviewBody({ names, version, uid, request, matched, objectText, oldObjectText }),
        headers: traceHeaders(trace, webhook, {
          chain,
          endsWallMs: clock.wallMs() + msMax,
          traceId: uid.replaceAll('-', ''),
          key: this.#chainKey,
        }),
      })
      return { uid, query, result }
    } catch (cause) {
      // The URL, the authority or the credentials cannot be used.
      const why = cause instanceof Error ? cause.message : String(cause)
      return failed(`could not get REST client: ${why}`, 400)
    }
  }

  #received({ webhook }: WebhookCall, { uid, query }: Sent, result: OutwardResult): Made {
    if (result.kind === 'failed') {
      const url = new URL(`${webhook.endpoint.url}?${query}`)
      const why = unreachableWords(url, result)
      // This member had no connection for the call.
      if (result.reason === 'busy') return notCalled(why)
      const isOwn = result.reason === 'closed' || result.reason === 'too-large'
      const isSent = result.phase === 'queue' || result.phase === 'response'
      return { ...failed(why, 503), ...(isOwn ? IGNORED : isSent ? ONCE : {}) }
    }
    const wrong = wrongStatusWords(result.status)
    if (wrong !== null) {
      const why = `failed to call webhook: ${wrong}`
      return { ...failed(why, result.status), ...(isAboutRequest(result.status) ? IGNORED : ONCE) }
    }
    const group = this.#dependencies.names.group('admission')
    const read = this.#answers.read(webhook, result.body, {
      ...{ type: webhook.type, version: webhook.reviewVersion, group, uid },
    })
    if (read.kind === 'verdict') return read
    return { ...failed(`received invalid webhook response: ${read.why}`, 503), ...IGNORED }
  }

  /** Passes on what a webhook returns besides its decision. */
  #pass({ webhook, request }: WebhookCall, verdict: WebhookVerdict): void {
    const { warnings, auditAnnotations, dropsAnnotations } = verdict
    const { warn, annotate } = request.context.request
    for (const text of warnings) warn(text)
    for (const [key, value] of auditAnnotations) annotate?.(`${webhook.name}/${key}`, value)
    if (dropsAnnotations) annotate?.(this.#dependencies.names.auditAnnotations.dropped, 'true')
  }

  #denied(call: WebhookCall, own: WebhookStatistics, { status }: WebhookVerdict, ms: number): never {
    const { webhook, request } = call
    own.ended('denied', ms, this.#dependencies.clock.monotonicMs())
    this.#count(call, denialCode(status), true, ms)
    this.#dependencies.metrics?.rejected({
      ...{ name: webhook.name, operation: request.operation, type: phaseOf(webhook) },
      ...{ errorType: 'no_error', code: rejectionCode(status) },
    })
    throw denial(webhook, status, ms)
  }

  /** @throws ApiError unless the failure is ignored */
  #failed(
    call: WebhookCall,
    own: WebhookStatistics,
    { why, errorType, code, breaker }: CallFailed,
    ms: number,
  ): { readonly kind: 'ignored' } {
    const { webhook, request } = call
    const { clock, metrics } = this.#dependencies
    const isIgnored = webhook.failurePolicy === 'Ignore'
    own.ended(breaker === 'not-called' ? 'skipped' : 'failed', ms, clock.monotonicMs())
    if (breaker !== 'not-called') own.failedBecause(why, clock.wallMs())
    this.#count(call, code, !isIgnored, ms)
    const labels = { name: webhook.name, operation: request.operation, type: phaseOf(webhook) }
    if (!isIgnored) {
      metrics?.rejected({ ...labels, errorType, code })
      throw callFailure(webhook, why, ms)
    }
    metrics?.failedOpen(webhook.name, phaseOf(webhook))
    // There is no time left for the other webhooks.
    if (clock.monotonicMs() >= request.context.request.deadlineMs) {
      throw timeout('request did not complete within requested timeout')
    }
    return { kind: 'ignored' }
  }

  #count({ webhook, request }: WebhookCall, code: number, rejected: boolean, ms: number): void {
    let meter = this.#meters.get(webhook)
    if (meter === undefined) {
      meter = this.#dependencies.metrics?.webhook(webhook.name, phaseOf(webhook))
      if (meter === undefined) return
      this.#meters.set(webhook, meter)
    }
    meter.observe({ operation: request.operation, rejected, code }, ms)
  }
}

/** A call that was made. @param uid of its review */
type Sent = { readonly uid: string; readonly query: string; readonly result: Promise<OutwardResult> }

type Made = { readonly kind: 'verdict'; readonly verdict: WebhookVerdict } | CallFailed

function phaseOf({ type }: CompiledWebhook): 'admit' | 'validating' {
  return type === 'mutating' ? 'admit' : 'validating'
}

function failed(why: string, code: number): CallFailed {
  return { kind: 'failed', why, errorType: 'calling_webhook_error', code, breaker: 'counts' }
}

/**
 * For a failure that may be due to the request, or to this member: users could otherwise keep the
 * webhook from deciding the requests of others.
 */
const IGNORED = { breaker: 'ignores' } as const

/**
 * For a failure after the request was sent: a request of one user may make the webhook hang or
 * crash. That must not keep the webhook from deciding the requests of others.
 */
const ONCE = { breaker: 'counts-once-per-user' } as const

/** Returns the user; for a service account its namespace, in which one user may have many. */
function requesterOf({ name }: UserInfo): string {
  return name.startsWith(ACCOUNT_PREFIX) ? name.slice(0, name.lastIndexOf(':')) : name
}

const ACCOUNT_PREFIX = 'system:serviceaccount:'

function notCalled(why: string): CallFailed {
  return { kind: 'failed', why, errorType: 'calling_webhook_error', code: 503, breaker: 'not-called' }
}

const LOOP =
  'loop detected: the request was made while this webhook was being called; exclude the writes of its own backend by rules or selectors'

function openWords({ breaker }: WebhookStatistics, waitMs: number): string {
  return `${breaker.failures} calls failed in a row; it is called again in ${Math.ceil(waitMs / 1000)}s`
}
