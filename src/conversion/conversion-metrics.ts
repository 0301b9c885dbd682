import type { Registry } from 'prom-client'
import { limits } from '../config/limits.ts'
import { BucketCounts, BucketHistogram } from '../metrics/bucket-histogram.ts'
import type { BucketSeries } from '../metrics/bucket-histogram.ts'

type Labels = 'crd_name' | 'from_version' | 'to_version' | 'succeeded'

/** A definition, and the versions that a call converts between. */
export type ConversionPair = {
  readonly definition: string
  readonly from: string
  readonly to: string
}

/** Upper bounds in s, as upstream: 1 ms, doubled 14 times. */
const BOUNDS = Array.from({ length: 15 }, (_, step) => 0.001 * 2 ** step)

/**
 * Times the calls of conversion webhooks. Name and labels are upstream's.
 * @source spec 6.2; apiextensions-apiserver `pkg/apiserver/conversion/metrics.go` of 1.24
 */
export class ConversionMetrics {
  readonly #series = new Map<string, BucketSeries<Labels>>()

  constructor(registry: Registry) {
    const shape = {
      name: 'apiserver_crd_webhook_conversion_duration_seconds',
      help: 'Time of calls of conversion webhooks, by definition, versions and success.',
      labelNames: ['crd_name', 'from_version', 'to_version', 'succeeded'] as const,
      buckets: BOUNDS,
    }
    new BucketHistogram<Labels>(registry, shape, () => this.#series.values())
  }

  called({ definition, from, to }: ConversionPair, succeeded: boolean, ms: number): void {
    const success = succeeded ? 'true' : 'false'
    const key = `${success} ${definition} ${from} ${to}`
    let series = this.#series.get(key)
    if (series === undefined) {
      if (this.#series.size >= limits.conversionSeriesMax && definition !== '') {
        this.called({ definition: '', from: '', to: '' }, succeeded, ms)
        return
      }
      const labels = { crd_name: definition, from_version: from, to_version: to, succeeded: success }
      series = { labels, counts: new BucketCounts(BOUNDS) }
      this.#series.set(key, series)
    }
    series.counts.observe(ms / 1000)
  }
}
