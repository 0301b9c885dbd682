import { Counter } from 'prom-client'
import type { Registry } from 'prom-client'
import type { Clock } from '../../base/clock.ts'
import type { Revision } from '../store/revision.ts'
import { BucketCounts, BucketHistogram } from './bucket-histogram.ts'

type Kind = { readonly group: string; readonly version: string; readonly kind: string }
type Series = { readonly labels: Kind; events: number }

export type WatchMetricsDependencies = {
  readonly clock: Clock
  readonly store: {
    readonly revision: Revision
    /** See `ApplyTimes.of`. */
    appliedMs(revision: Revision): number | null
  }
}

/** Counts the events that watches send, and times the first of those that are sent together. */
export class WatchMetrics {
  readonly #dependencies: WatchMetricsDependencies
  readonly #series = new Map<string, Series>()
  readonly #delivery = new BucketCounts(deliveryBounds)

  constructor(dependencies: WatchMetricsDependencies) {
    this.#dependencies = dependencies
  }

  register(register: Registry): void {
    const series = this.#series
    new Counter({
      name: 'apiserver_watch_events_total',
      help: 'Events that were sent to clients that watch.',
      labelNames: ['group', 'version', 'kind'],
      registers: [register],
      collect() {
        this.reset()
        for (const { labels, events } of series.values()) this.inc(labels, events)
      },
    })
    const delivery = {
      name: 'orch_watch_delivery_seconds',
      help: 'Time from the apply of a change on this member until the connection of a watch took its event.',
      labelNames: [],
      buckets: deliveryBounds,
    }
    new BucketHistogram<never>(register, delivery, () => [{ labels: {}, counts: this.#delivery }])
  }

  /**
   * Begins a watch. Events of earlier changes are counted but not timed, because the client
   * requested them later.
   */
  begin(kind: Kind): { readonly sent: (events: number, first: Revision | null) => void } {
    const series = this.#seriesOf(kind)
    const { store, clock } = this.#dependencies
    const since = store.revision
    return {
      sent: (events, first) => {
        series.events += events
        if (first === null || first <= since) return
        const appliedMs = store.appliedMs(first)
        if (appliedMs !== null) this.#delivery.observe((clock.monotonicMs() - appliedMs) / 1000)
      },
    }
  }

  #seriesOf({ group, version, kind }: Kind): Series {
    const key = `${group}/${version}/${kind}`
    const known = this.#series.get(key)
    if (known !== undefined) return known
    if (this.#series.size >= seriesMax) return this.#addSeries('', { group: '', version: '', kind: '' })
    return this.#addSeries(key, { group, version, kind })
  }

  #addSeries(key: string, labels: Kind): Series {
    const series = this.#series.get(key) ?? { labels, events: 0 }
    this.#series.set(key, series)
    return series
  }
}

/** Kinds that users define come and go. Beyond this, they are counted together, without a name. */
const seriesMax = 1000

/** In s: from one turn of the event loop to what clients take for a stall. */
const deliveryBounds = [
  ...[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
]
