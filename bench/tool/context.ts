import type { Clock } from '../../base/clock.ts'
import type { FailureCount } from './generator/failures.ts'
import type { Generator } from './generator/generator.ts'
import type { LatencyHistogram } from './latency-histogram.ts'
import type { Sample } from './measures.ts'
import type { Namespaces } from './namespaces.ts'
import type { Target } from './target.ts'

/** The dependencies of every load. */
export type BenchContext = {
  readonly target: Target
  readonly generator: Generator
  readonly namespaces: Namespaces
  /** The clock of the machine. */
  readonly clock: Clock
  /** Duration of each load in s. */
  readonly seconds: number
  readonly note: (line: string) => void
}

/** Result of one round of one load. */
export type Measured = { readonly sample: Sample; readonly failures: readonly FailureCount[] }

export function latencySample(latencies: LatencyHistogram): Sample {
  if (latencies.total === 0) return {}
  return {
    p50Ms: latencies.quantile(0.5),
    p90Ms: latencies.quantile(0.9),
    p99Ms: latencies.quantile(0.99),
    p999Ms: latencies.quantile(0.999),
    maxMs: latencies.quantile(1),
  }
}
