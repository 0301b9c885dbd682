import { Counter, Gauge } from 'prom-client'
import type { Registry } from 'prom-client'
import { limits } from '../config/limits.ts'
import { BucketCounts, BucketHistogram } from '../metrics/bucket-histogram.ts'
import type { BucketSeries } from '../metrics/bucket-histogram.ts'
import type { BreakerState } from '../outward/circuit-breaker.ts'

/**
 * Upstream's names of the phases: `admit` and `validate` for plugins, `admit` and `validating` for
 * webhooks.
 */
export type PhaseLabel = 'admit' | 'validate' | 'validating'
export type WebhookErrorType = 'calling_webhook_error' | 'no_error' | 'apiserver_internal_error'

type TimedLabels = {
  readonly name: string
  readonly operation: string
  readonly type: PhaseLabel
  readonly rejected: 'true' | 'false'
}

/** The durations of one plugin, webhook or phase. */
class Timer {
  readonly #labels: Pick<TimedLabels, 'name' | 'type'>
  readonly #passed = new Map<string, BucketCounts>()
  readonly #rejected = new Map<string, BucketCounts>()

  constructor(labels: Pick<TimedLabels, 'name' | 'type'>) {
    this.#labels = labels
  }

  observe(operation: string, rejected: boolean, ms: number): void {
    this.counts(operation, rejected).observe(ms / 1000)
  }

  counts(operation: string, rejected: boolean): BucketCounts {
    const byOperation = rejected ? this.#rejected : this.#passed
    let counts = byOperation.get(operation)
    if (counts === undefined) {
      counts = new BucketCounts(durationBounds)
      byOperation.set(operation, counts)
    }
    return counts
  }

  *series(): Iterable<TimedSeries> {
    for (const [rejected, byOperation] of [
      ['false', this.#passed],
      ['true', this.#rejected],
    ] as const) {
      for (const [operation, counts] of byOperation) {
        yield { labels: { ...this.#labels, operation, rejected }, counts }
      }
    }
  }
}

type TimedSeries = BucketSeries<'name' | 'operation' | 'type' | 'rejected'>

/** Timers by name. Webhooks come and go: beyond the limit, they are counted together. */
class Timers {
  readonly #timers = new Map<string, Timer>()

  of(name: string, type: PhaseLabel): Timer {
    const key = `${type} ${name}`
    const known = this.#timers.get(key)
    if (known !== undefined) return known
    if (this.#timers.size >= limits.admissionSeriesMax && name !== '') return this.of('', type)
    const made = new Timer({ name, type })
    this.#timers.set(key, made)
    return made
  }

  *series(): Iterable<TimedSeries> {
    for (const timer of this.#timers.values()) yield* timer.series()
  }
}

/** In s, as upstream. */
const durationBounds = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30]

/**
 * Counts and times admission, its plugins and its webhooks. Names and labels are upstream's.
 * @source spec 6.2; apiserver `pkg/admission/metrics/metrics.go` of 1.24
 */
export class AdmissionMetrics {
  readonly #plugins = new Timers()
  readonly #steps = new Timers()
  readonly #webhooks = new Timers()
  readonly #counters: {
    readonly rejections: LimitedCounter<'name' | 'operation' | 'type' | 'error_type' | 'rejection_code'>
    readonly requests: LimitedCounter<'name' | 'operation' | 'type' | 'code' | 'rejected'>
    readonly failOpen: LimitedCounter<'name' | 'type'>
  }

  constructor(registry: Registry) {
    for (const [name, help, series] of [
      ['controller', 'Time of admission plugins, by plugin, operation and phase.', this.#plugins],
      ['webhook', 'Time of calls of admission webhooks, by webhook, operation and type.', this.#webhooks],
    ] as const) {
      const shape = {
        ...{ name: `apiserver_admission_${name}_admission_duration_seconds`, help },
        labelNames: ['name', 'operation', 'type', 'rejected'] as const,
        buckets: durationBounds,
      }
      new BucketHistogram(registry, shape, () => series.series())
    }
    const steps = {
      name: 'apiserver_admission_step_admission_duration_seconds',
      help: 'Time of all plugins of a phase together, by operation.',
      labelNames: ['operation', 'type', 'rejected'] as const,
      buckets: durationBounds,
    }
    new BucketHistogram<'operation' | 'type' | 'rejected'>(registry, steps, () =>
      withoutName(this.#steps.series()),
    )
    this.#counters = {
      rejections: new LimitedCounter(registry, {
        name: 'apiserver_admission_webhook_rejection_count',
        help: 'Requests that were rejected because of an admission webhook, by webhook, error and code.',
        labelNames: ['name', 'operation', 'type', 'error_type', 'rejection_code'],
      }),
      requests: new LimitedCounter(registry, {
        name: 'apiserver_admission_webhook_request_total',
        help: 'Calls of admission webhooks, by webhook, operation, type, code and result.',
        labelNames: ['name', 'operation', 'type', 'code', 'rejected'],
      }),
      failOpen: new LimitedCounter(registry, {
        name: 'apiserver_admission_webhook_fail_open_count',
        help: 'Calls of admission webhooks that failed and were ignored, by webhook and type.',
        labelNames: ['name', 'type'],
      }),
    }
  }

  /** Returns the timer of a plugin; of a whole phase, if the name is null. */
  timer(name: string | null, type: PhaseLabel): Pick<Timer, 'observe'> {
    return name === null ? this.#steps.of('', type) : this.#plugins.of(name, type)
  }

  /** Returns the meter of the calls of a webhook. The caller keeps it for many calls. */
  webhook(name: string, type: PhaseLabel): WebhookMeter {
    const { requests } = this.#counters
    return new WebhookMeter(({ operation, rejected, code }) => ({
      duration: this.#webhooks.of(name, type).counts(operation, rejected),
      calls: requests.series({
        ...{ name, operation, type, code: String(Math.min(code, 600)) },
        rejected: rejected ? 'true' : 'false',
      }),
    }))
  }

  rejected(of: {
    readonly name: string
    readonly operation: string
    readonly type: PhaseLabel
    readonly errorType: WebhookErrorType
    readonly code: number
  }): void {
    const { name, operation, type, errorType, code } = of
    const rejection_code = String(Math.min(code, 600))
    this.#counters.rejections.count({ name, operation, type, error_type: errorType, rejection_code })
  }

  failedOpen(name: string, type: PhaseLabel): void {
    this.#counters.failOpen.count({ name, type })
  }
}

/**
 * A counter whose label `name` has a limited number of values. An ordinary counter hashes all
 * labels for each count, which would be a tenth of the cost of a webhook call.
 */
class LimitedCounter<Label extends string> {
  readonly #names = new Set<string>()
  readonly #series = new Map<string, CounterSeries<Label>>()

  constructor(
    registry: Registry,
    of: { readonly name: string; readonly help: string; readonly labelNames: readonly Label[] },
  ) {
    const series = this.#series
    new Counter({
      ...{ ...of, labelNames: [...of.labelNames], registers: [registry] },
      collect() {
        this.reset()
        for (const { labels, count } of series.values()) this.inc(labels, count)
      },
    })
  }

  count(labels: Readonly<Record<Label, string>> & { readonly name: string }): void {
    this.series(labels).count++
  }

  series(labels: Readonly<Record<Label, string>> & { readonly name: string }): CounterSeries<Label> {
    const { name } = labels
    const isKnown = this.#names.has(name) || this.#names.size < limits.admissionSeriesMax
    if (isKnown) this.#names.add(name)
    const counted = isKnown ? labels : { ...labels, name: '' }
    const key = Object.values(counted).join('\n')
    let found = this.#series.get(key)
    if (found === undefined) {
      found = { labels: counted, count: 0 }
      this.#series.set(key, found)
    }
    return found
  }
}

type CounterSeries<Label extends string> = {
  readonly labels: Readonly<Record<Label, string>>
  count: number
}

/** The result of a call. `code` is that of the webhook, or of the error of the call. */
type WebhookOutcome = {
  readonly operation: string
  readonly rejected: boolean
  readonly code: number
}

type WebhookSeries = { readonly duration: BucketCounts; readonly calls: { count: number } }

/** Counts and times the calls of one webhook. The series of calls that passed are cached. */
export class WebhookMeter {
  readonly #find: (of: WebhookOutcome) => WebhookSeries
  /** Series of calls with code 200 that did not reject the request, by operation. */
  readonly #passed = new Map<string, WebhookSeries>()

  constructor(find: (of: WebhookOutcome) => WebhookSeries) {
    this.#find = find
  }

  observe(of: WebhookOutcome, ms: number): void {
    const { operation, rejected, code } = of
    const isPassed = !rejected && code === 200
    let series = isPassed ? this.#passed.get(operation) : undefined
    if (series === undefined) {
      series = this.#find(of)
      if (isPassed) this.#passed.set(operation, series)
    }
    series.duration.observe(ms / 1000)
    series.calls.count++
  }
}

function* withoutName(
  series: Iterable<TimedSeries>,
): Iterable<BucketSeries<'operation' | 'type' | 'rejected'>> {
  for (const { labels, counts } of series) {
    const { operation, type, rejected } = labels
    yield { labels: { operation, type, rejected }, counts }
  }
}

/** The states of circuit breakers, for `/metrics`. */
export type WebhookStates = () => Iterable<{
  readonly type: string
  readonly configuration: string
  readonly name: string
  readonly state: BreakerState | 'suspended'
}>

const STATES = ['closed', 'half-open', 'open', 'suspended'] as const

export function registerWebhookStates(registry: Registry, states: WebhookStates): void {
  new Gauge({
    name: 'orch_admission_webhook_state',
    help: '1 for the state of each webhook: closed (called), half-open, open (not called) or suspended.',
    labelNames: ['type', 'configuration', 'name', 'state'],
    registers: [registry],
    collect() {
      this.reset()
      let left: number = limits.admissionSeriesMax
      for (const { state: current, ...labels } of states()) {
        if (left-- <= 0) break
        for (const state of STATES) this.set({ ...labels, state }, state === current ? 1 : 0)
      }
    },
  })
}
