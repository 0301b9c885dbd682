/** Description of a measure. */
export type MeasureFacts = {
  readonly words: string
  readonly unit: string
  readonly better: 'higher' | 'lower' | 'neither'
  readonly digits: number
}

/** All measures of loads. */
export const measures = {
  perSecond: { words: 'rate', unit: '/s', better: 'higher', digits: 0 },
  p50Ms: { words: 'p50', unit: 'ms', better: 'lower', digits: 2 },
  p90Ms: { words: 'p90', unit: 'ms', better: 'lower', digits: 2 },
  p99Ms: { words: 'p99', unit: 'ms', better: 'lower', digits: 2 },
  p999Ms: { words: 'p99.9', unit: 'ms', better: 'lower', digits: 2 },
  maxMs: { words: 'longest', unit: 'ms', better: 'lower', digits: 1 },
  serverCpuMs: { words: 'CPU of servers', unit: 'ms each', better: 'lower', digits: 3 },
  generatorCpuMs: { words: 'CPU of generator', unit: 'ms each', better: 'neither', digits: 3 },
  /** Share of all processors while the load ran, 0 to 1. */
  generatorShare: { words: 'share of generator in machine CPU', unit: 'share', better: 'neither', digits: 2 },
  /** Share of time that the busiest generator thread was busy, 0 to 1. */
  generatorBusy: { words: 'busiest generator thread', unit: 'share', better: 'neither', digits: 2 },
  /** The server process with the most memory. */
  memoryMiB: { words: 'memory of largest server', unit: 'MiB', better: 'lower', digits: 0 },
  operations: { words: 'operations', unit: '', better: 'neither', digits: 0 },
  failed: { words: 'failed', unit: '', better: 'lower', digits: 0 },
  megabytesPerSecond: { words: 'bytes read', unit: 'MB/s', better: 'higher', digits: 1 },
  eventsPerSecond: { words: 'events written', unit: '/s', better: 'neither', digits: 1 },
  delivered: { words: 'events delivered', unit: '', better: 'neither', digits: 0 },
  lost: { words: 'events lost', unit: '', better: 'lower', digits: 0 },
  resumed: { words: 'watches resumed', unit: '', better: 'lower', digits: 0 },
  openMs: { words: 'time to open all watches', unit: 'ms', better: 'lower', digits: 0 },
  writesPerSecond: { words: 'concurrent writes', unit: '/s', better: 'neither', digits: 0 },
  /** Share of reads, 0 to 1. */
  staleShare: { words: 'share of stale reads', unit: '', better: 'lower', digits: 4 },
  staleP99Ms: { words: 'staleness p99', unit: 'ms', better: 'lower', digits: 2 },
  staleMaxMs: { words: 'staleness longest', unit: 'ms', better: 'lower', digits: 2 },
  /** The requested bound; 0 where stale reads are not allowed. */
  boundMs: { words: 'bound', unit: 'ms', better: 'neither', digits: 0 },
  writeGapMs: { words: 'longest time without a write', unit: 'ms', better: 'lower', digits: 0 },
  readGapMs: { words: 'longest time without a most recent read', unit: 'ms', better: 'lower', digits: 0 },
} as const satisfies Readonly<Record<string, MeasureFacts>>

export type Measure = keyof typeof measures

export function isMeasure(name: string): name is Measure {
  return Object.hasOwn(measures, name)
}

/** The measures of one round of one load. */
export type Sample = { readonly [measure in Measure]?: number }

/** Median (the lower one for an even number of rounds), minimum and maximum of the rounds. */
export type Spread = { readonly median: number; readonly lowest: number; readonly highest: number }

/** @returns null when no round has the measure */
export function spreadOf(samples: readonly Sample[], measure: Measure): Spread | null {
  const values = samples.map((sample) => sample[measure]).filter((value) => value !== undefined)
  const sorted = values.toSorted((a, b) => a - b)
  const [lowest, highest] = [sorted[0], sorted.at(-1)]
  const median = sorted[Math.floor((sorted.length - 1) / 2)]
  if (lowest === undefined || highest === undefined || median === undefined) return null
  return { median, lowest, highest }
}

/**
 * Returns a text such as `13439 (10906-13592)`; without the range when lowest and highest look
 * equal; `-` when no round has the measure.
 */
export function spreadText(spread: Spread | null, measure: Measure): string {
  if (spread === null) return '-'
  const text = (value: number): string => value.toFixed(measures[measure].digits)
  const [median, lowest, highest] = [text(spread.median), text(spread.lowest), text(spread.highest)]
  return lowest === highest ? median : `${median} (${lowest}-${highest})`
}
