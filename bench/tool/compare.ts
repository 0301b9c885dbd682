import { measures, spreadOf } from './measures.ts'
import type { Measure } from './measures.ts'
import type { Results } from './report.ts'

const compared: readonly Measure[] = [
  ...(['perSecond', 'p50Ms', 'p99Ms', 'serverCpuMs', 'memoryMiB'] as const),
  ...(['staleMaxMs', 'writeGapMs', 'readGapMs'] as const),
]

export type Comparison = {
  readonly rows: readonly (readonly string[])[]
  /** Labels that only one of the two has. */
  readonly alone: readonly string[]
}

/**
 * Divides the medians of the second results by those of the first; marks ranges that do not
 * overlap.
 */
export function compare(first: Results, second: Results): Comparison {
  const labels = [...first.rows.keys()].filter((label) => second.rows.has(label))
  const shown = compared.filter((measure) =>
    labels.some((label) => ratio(first, second, label, measure) !== '-'),
  )
  const heading = ['work', ...shown.map((measure) => measures[measure].words)]
  const rows = labels.map((label) => [label, ...shown.map((measure) => ratio(first, second, label, measure))])
  const alone = [
    ...[...first.rows.keys()].filter((label) => !second.rows.has(label)),
    ...[...second.rows.keys()].filter((label) => !first.rows.has(label)),
  ]
  return { rows: [heading, ...rows], alone }
}

/**
 * Returns the ratio of the medians. `1.25 +`: 25 % more, and every round is better than all rounds
 * of the first results; `1.25 -`: every round is worse. `-` alone: there is no ratio.
 */
function ratio(first: Results, second: Results, label: string, measure: Measure): string {
  const [before, after] = [first, second].map((results) => spreadOf(results.rows.get(label) ?? [], measure))
  if (!before || !after || before.median <= 0) return '-'
  const { better } = measures[measure]
  const isMore = after.lowest > before.highest
  const isLess = after.highest < before.lowest
  const isBetter = better === 'higher' ? isMore : isLess
  const sign = !isMore && !isLess ? '' : isBetter ? ' +' : ' -'
  return `${(after.median / before.median).toFixed(2)}${sign}`
}
