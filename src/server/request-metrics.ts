import { Counter, Gauge, Histogram } from 'prom-client'
import type { Registry } from 'prom-client'
import type { Call } from './call.ts'
import type { KindSeries } from './kind-series.ts'
import { ReadMetrics } from './read-metrics.ts'

export type InFlightCounts = {
  readonly reading: number
  readonly writing: number
  readonly watching: number
  readonly uploading: number
  readonly bodyBytes: number
  readonly outgoingBytes: number
  readonly cutOff: number
}

/** Counts and times every response. Names and labels are upstream's, as dashboards expect them. */
export class RequestMetrics {
  readonly #total: Counter<'verb' | 'group' | 'version' | 'resource' | 'subresource' | 'code'>
  readonly #seconds: Histogram<'verb' | 'group' | 'version' | 'resource' | 'subresource'>
  readonly #deprecated: Gauge<'group' | 'version' | 'resource' | 'subresource' | 'removed_release'>
  readonly #reads: ReadMetrics
  readonly #series: Pick<KindSeries, 'has'>

  /**
   * @param series the resources with a series of their own: all others are counted together, or
   * clients could create series
   */
  constructor(registry: Registry, series: Pick<KindSeries, 'has'>, inFlight: () => InFlightCounts) {
    this.#series = series
    const registers = [registry]
    this.#reads = new ReadMetrics(registry)
    this.#total = new Counter({
      name: 'apiserver_request_total',
      help: 'Completed requests, by verb, resource and HTTP code.',
      labelNames: ['verb', 'group', 'version', 'resource', 'subresource', 'code'],
      registers,
    })
    this.#seconds = new Histogram({
      name: 'apiserver_request_duration_seconds',
      help: 'Time from the first line of a request to the end of its response, without watches.',
      labelNames: ['verb', 'group', 'version', 'resource', 'subresource'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
      registers,
    })
    this.#deprecated = new Gauge({
      name: 'apiserver_requested_deprecated_apis',
      help: '1 for each deprecated version that was requested.',
      labelNames: ['group', 'version', 'resource', 'subresource', 'removed_release'],
      registers,
    })
    new Gauge({
      name: 'apiserver_current_inflight_requests',
      help: 'Requests in progress, without watches.',
      labelNames: ['request_kind'],
      registers,
      collect() {
        const { reading, writing } = inFlight()
        this.set({ request_kind: 'readOnly' }, reading)
        this.set({ request_kind: 'mutating' }, writing)
      },
    })
    new Gauge({
      name: 'apiserver_longrunning_requests',
      help: 'Open watches.',
      registers,
      collect() {
        this.set(inFlight().watching)
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

  observe(call: Call, nowMs: number): void {
    const { action } = call.info
    const known =
      action.kind === 'resource' && this.#series.has(action.group, action.version, action.resource)
    const labels = {
      verb: KNOWN_VERBS.has(action.verb) ? action.verb : 'other',
      group: known ? action.group : '',
      version: known ? action.version : '',
      resource: known ? action.resource : '',
      subresource: known && KNOWN_SUBRESOURCES.has(action.subresource) ? action.subresource : '',
    }
    if (call.deprecated !== null) {
      const { group, version, resource, subresource } = labels
      const asked = { group, version, resource, subresource, removed_release: call.deprecated.removed }
      this.#deprecated.set(asked, 1)
    }
    // 499 marks a client that disconnected before the response; it is never sent.
    const code = call.reply.headersSent ? call.reply.statusCode : 499
    this.#total.inc({ ...labels, code })
    const isWatch = action.verb === 'watch'
    if (call.proof !== null) this.#reads.read(call.proof, call.startedMs, isWatch ? null : nowMs)
    if (!isWatch) this.#seconds.observe(labels, (nowMs - call.startedMs) / 1000)
  }
}

const KNOWN_SUBRESOURCES: ReadonlySet<string> = new Set(['status', 'finalize', 'scale', 'approval'])

const KNOWN_VERBS: ReadonlySet<string> = new Set(
  'get list watch create update patch delete deletecollection post put head options'.split(' '),
)
