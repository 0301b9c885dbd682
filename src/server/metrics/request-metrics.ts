import { Counter, Gauge } from 'prom-client'
import type { Registry } from 'prom-client'
import { BucketCounts, BucketHistogram } from '../../metrics/bucket-histogram.ts'
import { limits } from '../../config/limits.ts'
import type { BucketSeries } from '../../metrics/bucket-histogram.ts'
import type { Call } from '../calls/call.ts'
import type { KindSeries } from './kind-series.ts'
import { ReadMetrics } from './read-metrics.ts'
import { isLong, isSizedRead, labelsOf, withoutResource } from './request-labels.ts'
import type { RequestLabels } from './request-labels.ts'

export type InFlightCounts = {
  readonly reading: number
  readonly writing: number
  readonly watching: number
  readonly uploading: number
  readonly bodyBytes: number
  readonly outgoingBytes: number
  readonly cutOff: number
}

/** The counts of all requests with the same labels. */
class RequestSeries {
  readonly labels: RequestLabels
  readonly #byCode = new Map<number, number>()
  readonly durations = new BucketCounts(durationBounds)
  /** As `durations`, without the time of webhooks; null: no webhook was called. */
  #withoutWebhooks: BucketCounts | null = null
  /** null: neither a get nor a list. */
  readonly sizes: BucketCounts | null
  /** Requests that the server ended to protect itself, by HTTP code. */
  readonly terminations = new Map<number, number>()
  /** Watches in progress, or connections to other servers. */
  watching = 0

  constructor(labels: RequestLabels) {
    this.labels = labels
    this.sizes = isSizedRead(labels.verb) ? new BucketCounts(sizeBounds) : null
  }

  get byCode(): ReadonlyMap<number, number> {
    return this.#byCode
  }

  get withoutWebhooks(): BucketCounts {
    return this.#withoutWebhooks ?? this.durations
  }

  observe(ms: number, webhooksMs: number): void {
    if (webhooksMs > 0 && this.#withoutWebhooks === null) {
      this.#withoutWebhooks = new BucketCounts(durationBounds)
      this.#withoutWebhooks.add(this.durations)
    }
    this.durations.observe(ms / 1000)
    this.#withoutWebhooks?.observe(Math.max(0, ms - webhooksMs) / 1000)
  }

  count(code: number): void {
    this.#byCode.set(code, (this.#byCode.get(code) ?? 0) + 1)
  }
}

/**
 * Counts and times every response. Names and labels are upstream's, as dashboards and alerts expect
 * them.
 * @source apiserver `pkg/endpoints/metrics/metrics.go` of 1.24
 */
export class RequestMetrics {
  /** By their labels; at most `limits.requestSeriesMax` of known resources. */
  readonly #series = new Map<string, RequestSeries>()
  readonly #deprecated: Gauge<'group' | 'version' | 'resource' | 'subresource' | 'removed_release'>
  readonly #dropped: Counter<'request_kind'>
  readonly #reads: ReadMetrics
  readonly #kinds: Pick<KindSeries, 'has'>

  /**
   * @param kinds the resources with a series of their own. All others are counted together, so that
   * clients cannot create series.
   */
  constructor(registry: Registry, kinds: Pick<KindSeries, 'has'>, inFlight: () => InFlightCounts) {
    this.#kinds = kinds
    const registers = [registry]
    this.#reads = new ReadMetrics(registry)
    registerSeries(registry, this.#series)
    registerInFlight(registry, inFlight)
    this.#deprecated = new Gauge({
      name: 'apiserver_requested_deprecated_apis',
      help: '1 for each deprecated version that was requested.',
      labelNames: ['group', 'version', 'resource', 'subresource', 'removed_release'],
      registers,
    })
    this.#dropped = new Counter({
      name: 'apiserver_dropped_requests_total',
      help: 'Requests that were rejected with 429, because of too many requests in progress or too little memory for bodies.',
      labelNames: ['request_kind'],
      registers,
    })
    // A rate over a series that begins with its first event would miss that event.
    for (const request_kind of ['readOnly', 'mutating']) this.#dropped.inc({ request_kind }, 0)
  }

  /**
   * Counts a watch, or a connection to another server, as in progress.
   *
   * @returns a function that the caller calls once, when it has ended
   */
  watching(call: Call): () => void {
    const series = this.#seriesOf(call)
    series.watching++
    return () => series.watching--
  }

  /** Counts a request that flow control rejected. */
  dropped(kind: 'readOnly' | 'mutating', call: Call): void {
    this.#dropped.inc({ request_kind: kind })
    this.terminated(call, 429)
  }

  /** Counts a request that the server ended to protect itself: overload or a timeout. */
  terminated(call: Call, code: number): void {
    const { terminations } = this.#seriesOf(call)
    terminations.set(code, (terminations.get(code) ?? 0) + 1)
  }

  observe(call: Call, nowMs: number): void {
    const series = this.#seriesOf(call)
    if (call.deprecated !== null) {
      const { group, version, resource, subresource } = series.labels
      const requested = { group, version, resource, subresource, removed_release: call.deprecated.removed }
      this.#deprecated.set(requested, 1)
    }
    // 499 marks a client that disconnected before the response; it is never sent.
    series.count(call.reply.headersSent ? call.reply.statusCode : 499)
    series.observe(nowMs - call.startedMs, call.webhooksMs)
    series.sizes?.observe(call.sentBytes)
    const lasts = call.info.connects || call.info.action.verb === 'watch'
    if (call.proof !== null) this.#reads.read(call.proof, call.startedMs, lasts ? null : nowMs)
  }

  #seriesOf(call: Call): RequestSeries {
    return this.#seriesBy(labelsOf(call, this.#kinds))
  }

  #seriesBy(labels: RequestLabels): RequestSeries {
    const { verb, dry_run, group, version, resource, subresource, scope } = labels
    const key = `${verb} ${dry_run} ${group} ${version} ${resource} ${subresource} ${scope}`
    let series = this.#series.get(key)
    if (series === undefined) {
      // Those of unknown resources are few, and not limited.
      if (this.#series.size >= limits.requestSeriesMax && resource !== '') {
        return this.#seriesBy(withoutResource(verb))
      }
      series = new RequestSeries(labels)
      this.#series.set(key, series)
    }
    return series
  }
}

function registerSeries(registry: Registry, series: ReadonlyMap<string, RequestSeries>): void {
  const registers = [registry]
  new Counter({
    name: 'apiserver_request_total',
    help: 'Completed requests, by verb, resource, scope and HTTP code.',
    labelNames: [...requestLabelNames, 'code'],
    registers,
    collect() {
      this.reset()
      for (const { labels, byCode } of series.values()) {
        for (const [code, count] of byCode) this.inc({ ...labels, code }, count)
      }
    },
  })
  const durations = {
    name: 'apiserver_request_duration_seconds',
    help: 'Time from the receipt of the headers of a request to the end of its response; of a watch, its whole duration.',
    labelNames: requestLabelNames,
    buckets: durationBounds,
  }
  new BucketHistogram(registry, durations, function* () {
    for (const one of series.values()) yield { labels: one.labels, counts: one.durations }
  })
  const serviceLevel = {
    name: 'apiserver_request_slo_duration_seconds',
    help: 'As apiserver_request_duration_seconds, without the time of admission webhooks.',
    labelNames: streamLabelNames,
    buckets: upstreamBounds,
  }
  new BucketHistogram(registry, serviceLevel, () => withoutDryRuns(series.values()))
  new Counter({
    name: 'apiserver_request_terminations_total',
    help: 'Requests that the server ended to protect itself, because of overload or a timeout.',
    labelNames: [...streamLabelNames, 'code'],
    registers,
    collect() {
      this.reset()
      for (const { labels, terminations } of series.values()) {
        for (const [code, count] of terminations) this.inc({ ...withoutDryRun(labels), code }, count)
      }
    },
  })
  const sizes = {
    name: 'apiserver_response_sizes',
    help: 'Bytes of the responses to gets and lists, as sent.',
    labelNames: streamLabelNames,
    buckets: sizeBounds,
  }
  new BucketHistogram(registry, sizes, function* () {
    for (const one of series.values()) {
      if (one.sizes !== null) yield { labels: withoutDryRun(one.labels), counts: one.sizes }
    }
  })
  new Gauge({
    name: 'apiserver_longrunning_requests',
    help: 'Open watches, and connections to other servers.',
    labelNames: streamLabelNames,
    registers,
    collect() {
      this.reset()
      for (const { labels, watching } of series.values()) {
        if (isLong(labels.verb)) this.set(withoutDryRun(labels), watching)
      }
    },
  })
}

/**
 * Adds up the durations of series that differ only in `dry_run`. A scrape does this, so it costs
 * requests nothing.
 */
function withoutDryRuns(series: Iterable<RequestSeries>): Iterable<BucketSeries<StreamLabel>> {
  const sums = new Map<string, BucketSeries<StreamLabel>>()
  for (const one of series) {
    const labels = withoutDryRun(one.labels)
    const key = Object.values(labels).join(' ')
    const sum = sums.get(key) ?? { labels, counts: new BucketCounts(upstreamBounds) }
    sum.counts.add(one.withoutWebhooks)
    sums.set(key, sum)
  }
  return sums.values()
}

function withoutDryRun(labels: RequestLabels): Omit<RequestLabels, 'dry_run'> {
  const { verb, group, version, resource, subresource, scope, component } = labels
  return { verb, group, version, resource, subresource, scope, component }
}

const streamLabelNames = [
  ...(['verb', 'group', 'version', 'resource', 'subresource', 'scope', 'component'] as const),
]
type StreamLabel = (typeof streamLabelNames)[number]
const requestLabelNames = [...(['dry_run'] as const), ...streamLabelNames]

/** In s. */
const upstreamBounds = [
  ...[0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60],
]
/** Upstream's, and five below them: most requests take less than its lowest. */
const durationBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, ...upstreamBounds]
/** 1 kB to 1 GB. */
const sizeBounds = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9]

function registerInFlight(registry: Registry, inFlight: () => InFlightCounts): void {
  const registers = [registry]
  new Gauge({
    name: 'apiserver_current_inflight_requests',
    help: 'Requests in progress, without watches and connections to other servers.',
    labelNames: ['request_kind'],
    registers,
    collect() {
      const { reading, writing } = inFlight()
      this.set({ request_kind: 'readOnly' }, reading)
      this.set({ request_kind: 'mutating' }, writing)
    },
  })
  new Gauge({
    name: 'orch_request_uploads',
    help: 'Request bodies being received.',
    registers,
    collect() {
      this.set(inFlight().uploading)
    },
  })
  new Gauge({
    name: 'orch_request_body_memory_bytes',
    help: 'Approximate memory charged for request bodies in progress.',
    registers,
    collect() {
      this.set(inFlight().bodyBytes)
    },
  })
  new Gauge({
    name: 'orch_response_waiting_bytes',
    help: 'Bytes of responses and watches that clients have not read.',
    registers,
    collect() {
      this.set(inFlight().outgoingBytes)
    },
  })
  new Counter({
    name: 'orch_slow_clients_cut_off_total',
    help: 'Responses and watches that were ended to free memory, because their clients did not read.',
    registers,
    collect() {
      this.reset()
      this.inc(inFlight().cutOff)
    },
  })
}
