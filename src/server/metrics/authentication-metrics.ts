import { Counter } from 'prom-client'
import type { Registry } from 'prom-client'
import { BucketCounts, BucketHistogram } from '../../metrics/bucket-histogram.ts'

/**
 * - `success`: the caller is known, or anonymous callers are allowed
 * - `failure`: 401
 * - `error`: the credentials could not be checked, such as 429 or 503
 */
export type AuthenticationResult = 'success' | 'failure' | 'error'

const RESULTS = ['success', 'failure', 'error'] as const

/** 1 ms, doubled up to 16 s. */
const durationBounds = Array.from({ length: 15 }, (_, at) => 0.001 * 2 ** at)

/**
 * Counts and times the authentication of requests. Names and labels are upstream's.
 * @source apiserver `pkg/endpoints/filters/metrics.go` of 1.24
 */
export class AuthenticationMetrics {
  readonly #durations = new Map(RESULTS.map((result) => [result, new BucketCounts(durationBounds)]))
  /** By compressed user name: bounded by the names that `compressed` returns. */
  readonly #users = new Map<string, number>()

  constructor(registry: Registry) {
    const durations = this.#durations
    const users = this.#users
    const registers = [registry]
    new Counter({
      name: 'authentication_attempts',
      help: 'Authentications of requests, by result: success, failure (401) or error.',
      labelNames: ['result'],
      registers,
      collect() {
        this.reset()
        for (const [result, { counts }] of durations) this.inc({ result }, total(counts))
      },
    })
    new Counter({
      name: 'authenticated_user_requests',
      help: 'Authenticated requests, by user: well-known ones by name, e-mail addresses as email_id, others as other.',
      labelNames: ['username'],
      registers,
      collect() {
        this.reset()
        for (const [username, count] of users) this.inc({ username }, count)
      },
    })
    const shape = {
      name: 'authentication_duration_seconds',
      help: 'Time that the authentication of a request took; 0 if it was decided at once.',
      labelNames: ['result'] as const,
      buckets: durationBounds,
    }
    new BucketHistogram(registry, shape, function* () {
      for (const [result, counts] of durations) yield { labels: { result }, counts }
    })
  }

  /** @param seconds 0: decided at once */
  count(result: AuthenticationResult, seconds: number): void {
    this.#durations.get(result)?.observe(seconds)
  }

  countUser(name: string): void {
    const username = compressed(name)
    this.#users.set(username, (this.#users.get(username) ?? 0) + 1)
  }
}

function total(counts: Float64Array): number {
  return counts.reduce((sum, count) => sum + count, 0)
}

const KNOWN_NAMES = ['admin', 'client', 'kube_proxy', 'kubelet', 'system:serviceaccount:kube-system:default']
const KNOWN: ReadonlySet<string> = new Set(KNOWN_NAMES)

function compressed(name: string): string {
  if (KNOWN.has(name)) return name
  return name.includes('@') ? 'email_id' : 'other'
}
