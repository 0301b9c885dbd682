import { Histogram } from 'prom-client'
import type { Registry } from 'prom-client'

/** The observations of one series of a `BucketHistogram`. */
export class BucketCounts {
  readonly bounds: readonly number[]
  /** Observations up to each bound and above the one before it; the last: above all bounds. */
  readonly counts: Float64Array
  sum = 0

  /** @param bounds ascending upper bounds */
  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.counts = new Float64Array(bounds.length + 1)
  }

  observe(value: number): void {
    const { bounds, counts } = this
    let bucket = 0
    while (bucket < bounds.length && value > (bounds[bucket] ?? 0)) bucket++
    counts[bucket] = (counts[bucket] ?? 0) + 1
    this.sum += value
  }

  /** Adds all observations of another series. @param other its bounds include all of these */
  add(other: BucketCounts): void {
    let bucket = 0
    for (const [place, count] of other.counts.entries()) {
      this.counts[bucket] = (this.counts[bucket] ?? 0) + count
      if (other.bounds[place] === this.bounds[bucket]) bucket++
    }
    this.sum += other.sum
  }
}

export type BucketSeries<Label extends string> = {
  readonly labels: Readonly<Record<Label, string>>
  readonly counts: BucketCounts
}

type Shape<Label extends string> = {
  readonly name: string
  readonly help: string
  readonly labelNames: readonly Label[]
  readonly buckets: readonly number[]
}

type Value<Label extends string> = {
  readonly metricName: string
  readonly labels: Readonly<Record<Label, string>>
  /** Upper bound of a bucket; null: the sum or the count. */
  readonly le: number | string | null
  readonly value: number
}

type Collected<Label extends string> = Awaited<ReturnType<Histogram<Label>['get']>>

/**
 * A histogram whose series are kept by its owner: an observation is an addition to an array. An
 * ordinary one hashes all labels for each observation, which costs a tenth of a get.
 */
export class BucketHistogram<Label extends string> extends Histogram<Label> {
  readonly #name: string
  /** Name and type, for the registry. */
  readonly #empty: Histogram<Label>
  readonly #series: () => Iterable<BucketSeries<Label>>

  /** @param series is called on each scrape; series without observations are left out */
  constructor(register: Registry, shape: Shape<Label>, series: () => Iterable<BucketSeries<Label>>) {
    const mutable = { ...shape, labelNames: [...shape.labelNames], buckets: [...shape.buckets] }
    super({ ...mutable, registers: [register] })
    this.#name = shape.name
    this.#empty = new Histogram<Label>({ ...mutable, registers: [] })
    this.#series = series
  }

  override async get(): Promise<Collected<Label>> {
    const values = this.#values().map(({ metricName, labels, le, value }) => {
      return { metricName, labels: le === null ? labels : { ...labels, le }, value }
    })
    return { ...(await this.#empty.get()), values }
  }

  /** Called by the registry, which formats shared labels once per series. */
  async getForPromString(): Promise<object> {
    const values = this.#values().map(({ metricName, labels, le, value }) => {
      return { metricName, labels: le === null ? {} : { le }, sharedLabels: labels, value }
    })
    return { ...(await this.#empty.get()), values }
  }

  #values(): readonly Value<Label>[] {
    const values: Value<Label>[] = []
    for (const { labels, counts } of this.#series()) {
      let count = 0
      const buckets = [...counts.bounds, '+Inf'].map((le, place) => {
        count += counts.counts[place] ?? 0
        return { metricName: `${this.#name}_bucket`, labels, le, value: count }
      })
      if (count === 0) continue
      values.push(
        ...buckets,
        { metricName: `${this.#name}_sum`, labels, le: null, value: counts.sum },
        { metricName: `${this.#name}_count`, labels, le: null, value: count },
      )
    }
    return values
  }
}
