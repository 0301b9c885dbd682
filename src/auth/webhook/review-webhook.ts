import { tooManyRequests } from '../../api/errors/standard-errors.ts'
import { isJsonObject, objectMember, textMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import type { FailureLog } from '../../outward/failure-log.ts'
import type { OutwardClient } from '../../outward/outward-client.ts'

export type ReviewVersion = 'v1' | 'v1beta1'

export type ReviewWebhookOptions = {
  /** As `authentication.orch.io/v1`. */
  readonly apiVersion: string
  readonly kind: 'TokenReview' | 'SubjectAccessReview'
}

export type ReviewWebhookDependencies = {
  readonly client: Pick<OutwardClient, 'call'>
  readonly failures: Pick<FailureLog, 'failed' | 'succeeded'>
}

/** The `status` of a review, or why there is none: one line without credentials. */
export type ReviewResult =
  { readonly kind: 'status'; readonly status: JsonObject } | { readonly kind: 'failed'; readonly why: string }

/**
 * Sends reviews to a webhook. Identical reviews in progress share one call. Failures are logged at
 * limited frequency.
 *
 * @source spec 4.6, 5.2
 */
export class ReviewWebhook {
  readonly #options: ReviewWebhookOptions
  readonly #dependencies: ReviewWebhookDependencies
  /** The limit on the calls of the client bounds it. */
  readonly #pending = new Map<string, Promise<ReviewResult>>()

  constructor(options: ReviewWebhookOptions, dependencies: ReviewWebhookDependencies) {
    this.#options = options
    this.#dependencies = dependencies
  }

  /**
   * @param key the same for identical reviews
   * @throws ApiError `TooManyRequests`
   */
  review(key: string, spec: JsonObject): Promise<ReviewResult> {
    const pending = this.#pending.get(key)
    if (pending !== undefined) return pending
    const started = this.#call(spec).finally(() => this.#pending.delete(key))
    this.#pending.set(key, started)
    return started
  }

  async #call(spec: JsonObject): Promise<ReviewResult> {
    const { apiVersion, kind } = this.#options
    const { client, failures } = this.#dependencies
    const review = { apiVersion, kind, metadata: { creationTimestamp: null }, spec }
    const result = await client.call({ method: 'POST', body: Buffer.from(JSON.stringify(review)) })
    if (result.kind === 'failed' && result.reason === 'busy') {
      throw tooManyRequests(1, `too many ${kind}s wait for the webhook, please try again later`)
    }
    const read =
      result.kind === 'failed'
        ? failed(result.why)
        : result.status >= 200 && result.status < 300
          ? this.#statusIn(result.body)
          : failed(`the server answers ${result.status}`)
    if (read.kind === 'failed') failures.failed(read.why)
    else failures.succeeded()
    return read
  }

  #statusIn(body: Buffer): ReviewResult {
    const { apiVersion, kind } = this.#options
    let review: unknown
    try {
      review = JSON.parse(body.toString('utf8'))
    } catch {
      return failed('the response is not JSON')
    }
    if (!isJsonObject(review)) return failed('the response is not a JSON object')
    if (textMember(review, 'apiVersion') !== apiVersion || textMember(review, 'kind') !== kind) {
      return failed(`the response is not a ${kind} of ${apiVersion}`)
    }
    return { kind: 'status', status: objectMember(review, 'status') }
  }
}

function failed(why: string): ReviewResult {
  return { kind: 'failed', why }
}
