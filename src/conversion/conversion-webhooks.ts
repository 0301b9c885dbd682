import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { conversionFailed } from '../api/errors/standard-errors.ts'
import type { Names } from '../api/metadata/names.ts'
import { isAboutRequest, unreachableWords, wrongStatusWords } from '../outward/call-errors.ts'
import type { FailureLog } from '../outward/failure-log.ts'
import type { OutwardFailure, OutwardResult } from '../outward/outward-client.ts'
import type { WebhookClients } from '../outward/webhook-clients.ts'
import { WebhookStatistics } from '../outward/webhook-statistics.ts'
import type { CallOutcome, WebhookSummary } from '../outward/webhook-statistics.ts'
import { limits } from '../config/limits.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'
import { randomUid } from '../registry/kinds/metadata.ts'
import type { ConversionWebhook } from '../registry/kinds/conversion-webhook.ts'
import type { ObjectConverter } from '../registry/kinds/object-converter.ts'
import { conversionReview, readConversionReview } from './conversion-review.ts'
import { convertedObject } from './converted-object.ts'
import type { ConversionMetrics } from './conversion-metrics.ts'

export type ConversionWebhooksDependencies = {
  readonly clock: Clock
  readonly random: Random
  readonly names: Names
  readonly clients: Pick<WebhookClients, 'call'>
  /** Logs failures of one webhook, at limited frequency. */
  readonly failuresOf: (webhook: ConversionWebhook) => Pick<FailureLog, 'failed' | 'succeeded'>
  /** Unset: nothing is counted. */
  readonly metrics?: Pick<ConversionMetrics, 'called'>
}

/** Results of the calls of one webhook by this member, as long as its definition is unchanged. */
type WebhookState = {
  readonly calls: WebhookStatistics
  readonly failures: Pick<FailureLog, 'failed' | 'succeeded'>
}

/**
 * Calls conversion webhooks: one call for the objects that need it, with a timeout, a circuit
 * breaker for each webhook, and checks of all that it returns.
 *
 * @source apiextensions-apiserver `pkg/apiserver/conversion/webhook_converter.go`
 */
export class ConversionWebhooks implements ObjectConverter {
  readonly #dependencies: ConversionWebhooksDependencies
  /** An entry lives as long as the version of the definition that names the webhook. */
  readonly #states = new WeakMap<ConversionWebhook, WebhookState>()

  constructor(dependencies: ConversionWebhooksDependencies) {
    this.#dependencies = dependencies
  }

  async convert(
    webhook: ConversionWebhook,
    objects: readonly AnyObject[],
    apiVersion: string,
    deadlineMs: number,
  ): Promise<readonly AnyObject[]> {
    const sent = objects.filter((object) => object.apiVersion !== apiVersion)
    const [first] = sent
    if (first === undefined) return objects
    const returned = await this.#timed(webhook, { sent, first, apiVersion }, deadlineMs)
    const converted = returned.values()
    return objects.map((object) =>
      object.apiVersion === apiVersion ? object : (converted.next().value ?? object),
    )
  }

  /** Returns the calls of a webhook since its definition last changed. */
  summary(webhook: ConversionWebhook): WebhookSummary {
    return this.#stateOf(webhook).calls.summary(this.#dependencies.clock.monotonicMs())
  }

  async #timed(webhook: ConversionWebhook, call: Call, deadlineMs: number): Promise<readonly AnyObject[]> {
    const { clock, metrics } = this.#dependencies
    const { calls, failures } = this.#stateOf(webhook)
    const { breaker } = calls
    const startedMs = clock.monotonicMs()
    const waitMs = breaker.waitMs(startedMs)
    if (waitMs > 0) {
      calls.ended('skipped', 0, startedMs)
      const words = `circuit breaker is open: ${breaker.failures} calls failed in a row; it is called again in ${Math.ceil(waitMs / 1000)}s`
      throw failure(webhook, call, `failed: ${words}`)
    }
    breaker.begin()
    const leftMs = deadlineMs - startedMs
    calls.inFlight++
    const made = await this.#call(webhook, call, Math.max(1, Math.min(limits.webhookMsMax, leftMs)))
    calls.inFlight--
    const nowMs = clock.monotonicMs()
    calls.ended(outcomeOf(made), nowMs - startedMs, nowMs)
    const pair = { definition: webhook.definition, from: call.first.apiVersion, to: call.apiVersion }
    const isCalled = made.kind === 'objects' || made.breaker !== 'not-called'
    if (isCalled) metrics?.called(pair, made.kind === 'objects', nowMs - startedMs)
    if (made.kind === 'objects') {
      breaker.succeeded()
      failures.succeeded()
      return made.objects
    }
    failures.failed(made.why)
    if (isCalled) calls.failedBecause(made.why, clock.wallMs())
    // A call that the client did not wait for proves nothing about the webhook.
    const isCut = leftMs < limits.webhookMsMax && nowMs >= deadlineMs
    if (made.breaker === 'closes') breaker.succeeded()
    else if (isCut || !isCalled || made.breaker === 'ignores') breaker.abandon()
    else breaker.failed(nowMs, made.breaker === 'counts' ? null : originOf(call.sent))
    throw failure(webhook, call, made.why)
  }

  async #call(webhook: ConversionWebhook, call: Call, msMax: number): Promise<Made> {
    const { random, names, clients } = this.#dependencies
    const { endpoint, reviewVersion: version } = webhook
    const group = names.group('apiextensions')
    const uid = randomUid(random)
    const { sent, apiVersion } = call
    const query = `timeout=${Math.ceil(limits.webhookMsMax / 1000)}s`
    let url: URL
    let result: OutwardResult
    try {
      url = new URL(`${endpoint.url}?${query}`)
      const body = conversionReview({ group, version, uid, apiVersion, objects: sent })
      result = await clients.call('conversion', endpoint, { query, callMsMax: msMax, body })
    } catch (cause) {
      // URL or authority cannot be used.
      return failed(`could not get REST client: ${cause instanceof Error ? cause.message : String(cause)}`)
    }
    if (result.kind === 'failed') {
      return { ...failed(unreachableWords(url, result)), breaker: breakerOf(result) }
    }
    const wrong = wrongStatusWords(result.status)
    if (wrong !== null) {
      return { ...failed(wrong), breaker: isAboutRequest(result.status) ? 'ignores' : 'counts-once' }
    }
    const read = readConversionReview(result.body, { group, version, uid })
    if (read.kind === 'refused') return { ...failed(read.why), breaker: 'closes' }
    if (read.kind === 'invalid') return { ...failed(read.why), breaker: 'counts-once' }
    const { objects } = read
    if (objects.length !== sent.length) {
      const why = `returned ${objects.length} objects, expected ${sent.length}`
      return { kind: 'failed', why, breaker: 'ignores' }
    }
    const converted: AnyObject[] = []
    for (const [at, before] of sent.entries()) {
      const checked = convertedObject(before, objects[at], apiVersion)
      if (checked.kind === 'invalid') {
        const why = `returned invalid ${checked.what} at index ${at}: ${checked.why}`
        return { kind: 'failed', why, breaker: 'ignores' }
      }
      converted.push(checked.object)
    }
    return { kind: 'objects', objects: converted }
  }

  #stateOf(webhook: ConversionWebhook): WebhookState {
    let state = this.#states.get(webhook)
    if (state === undefined) {
      const { clock, failuresOf } = this.#dependencies
      state = { calls: new WebhookStatistics(clock.monotonicMs()), failures: failuresOf(webhook) }
      this.#states.set(webhook, state)
    }
    return state
  }
}

/** Objects for one call, all of other versions than the requested one. */
type Call = {
  readonly sent: readonly AnyObject[]
  readonly first: AnyObject
  readonly apiVersion: string
}

type Made =
  | { readonly kind: 'objects'; readonly objects: readonly AnyObject[] }
  | {
      readonly kind: 'failed'
      /** Follows the name of the kind, as upstream words it. */
      readonly why: string
      readonly breaker: BreakerEffect
    }

/**
 * The effect of a failure on the circuit breaker. Users must not be able to keep the webhook from
 * converting the objects of others.
 *
 * - `closes`: the webhook responded properly, but cannot convert these objects
 * - `ignores`: the failure is due to the objects of this call, or to this server
 * - `not-called`: this server had no connection for the call
 * - `counts`: the webhook cannot be reached
 * - `counts-once`: the failure may be due to the objects of this call or of other calls; it counts
 *   once for each origin, see `originOf`
 */
type BreakerEffect = 'closes' | 'ignores' | 'not-called' | 'counts' | 'counts-once'

/** A proper response that the objects cannot be converted counts as a denial. */
function outcomeOf(made: Made): CallOutcome {
  if (made.kind === 'objects') return 'allowed'
  if (made.breaker === 'not-called') return 'skipped'
  return made.breaker === 'closes' ? 'denied' : 'failed'
}

function failed(why: string): Extract<Made, { readonly kind: 'failed' }> {
  return { kind: 'failed', why: `failed: ${why}`, breaker: 'counts' }
}

function breakerOf({ reason, phase }: OutwardFailure): BreakerEffect {
  if (reason === 'busy') return 'not-called'
  if (reason === 'closed' || reason === 'too-large') return 'ignores'
  return phase === 'queue' || phase === 'response' ? 'counts-once' : 'counts'
}

/**
 * Returns the origin of the objects of a call: their namespace, in which one user may have many, or
 * the object itself if it is cluster-scoped. Objects of several origins count as one origin.
 */
function originOf(sent: readonly AnyObject[]): string {
  const origins = new Set(
    sent.map(({ metadata: { namespace = '', name = '' } }) => `${namespace}/${namespace === '' ? name : ''}`),
  )
  const [first = '', ...others] = origins
  return others.length === 0 ? first : SEVERAL
}

/** Differs from every single origin, which contains a slash. */
const SEVERAL = 'several'

function failure(
  { definition, group, plural }: ConversionWebhook,
  { sent, first }: Call,
  why: string,
): ReturnType<typeof conversionFailed> {
  const type = `${first.apiVersion}, Kind=${first.kind}${sent.length > 1 ? 'List' : ''}`
  const name = sent.length > 1 ? '' : (first.metadata.name ?? '')
  return conversionFailed({ group, resource: plural }, name, {
    message: `conversion webhook for ${type} ${why}`,
    definition,
  })
}
