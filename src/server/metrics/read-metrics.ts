import type { Registry } from 'prom-client'
import { BucketCounts, BucketHistogram } from '../../metrics/bucket-histogram.ts'
import type { BucketSeries } from '../../metrics/bucket-histogram.ts'
import type { ProvenMode, ReadProof } from '../../registry/calls/consistency.ts'

/**
 * - `total`: from the receipt of the request's headers to the end of its response; not for watches
 *   and connections to other servers, which last as long as the client wants
 * - `read_index`: waiting for a quorum, or for the log entry of the read
 * - `apply`: waiting until that index is applied here
 * - `encode`: from the choice of the state until the last byte is written; likewise
 */
const phases = ['total', 'read_index', 'apply', 'encode'] as const
type Phase = (typeof phases)[number]

/** Upper bounds, in s. */
const bounds = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]

const shape = {
  name: 'orch_read_seconds',
  help: 'Duration of gets, lists, deletions of collections at a revision, and starts of watches and of connections to other servers, by consistency mode and phase.',
  labelNames: ['mode', 'phase'] as const,
  buckets: bounds,
}

/** Durations by consistency mode of the requests that read the state. */
export class ReadMetrics {
  readonly #counts = new Map<ProvenMode, Readonly<Record<Phase, BucketCounts>>>()

  constructor(register: Registry) {
    new BucketHistogram(register, shape, () => this.#series())
  }

  /** @param endMs null: a watch, or a connection to another server */
  read({ mode, waitedMs, fixedMs }: ReadProof, startedMs: number, endMs: number | null): void {
    const counts = this.#countsOf(mode)
    counts.read_index.observe(waitedMs.confirm / 1000)
    counts.apply.observe(waitedMs.apply / 1000)
    if (endMs === null) return
    counts.encode.observe((endMs - fixedMs) / 1000)
    counts.total.observe((endMs - startedMs) / 1000)
  }

  #countsOf(mode: ProvenMode): Readonly<Record<Phase, BucketCounts>> {
    let counts = this.#counts.get(mode)
    if (counts === undefined) {
      const empty = (): BucketCounts => new BucketCounts(bounds)
      counts = { total: empty(), read_index: empty(), apply: empty(), encode: empty() }
      this.#counts.set(mode, counts)
    }
    return counts
  }

  *#series(): Iterable<BucketSeries<'mode' | 'phase'>> {
    for (const [mode, byPhase] of this.#counts) {
      for (const phase of phases) yield { labels: { mode, phase }, counts: byPhase[phase] }
    }
  }
}
