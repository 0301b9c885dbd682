import { workloads } from './load.ts'
import type { Workload } from './load.ts'
import { measures, spreadOf, spreadText } from './measures.ts'
import type { Measure, Sample } from './measures.ts'
import { failuresText } from './generator/failures.ts'
import type { BenchReport, BenchRow } from './report.ts'

/** Above either of these the generator may have been the bottleneck: busiest thread, CPU share. */
const busyMax = 0.9
const shareMax = 0.5
/** Load average per processor; above this the figures are not reliable. */
const quietLoad = 0.25

const calls: readonly Measure[] = [
  'perSecond',
  'p50Ms',
  'p99Ms',
  'p999Ms',
  'serverCpuMs',
  'generatorCpuMs',
  'memoryMiB',
]

/** Columns of each workload, in order. */
export const columns: Readonly<Record<Workload, readonly Measure[]>> = {
  livez: calls,
  get: calls,
  create: calls,
  update: calls,
  patch: calls,
  apply: calls,
  list: ['perSecond', 'megabytesPerSecond', 'p50Ms', 'p99Ms', 'serverCpuMs', 'generatorCpuMs', 'memoryMiB'],
  watch: [
    'eventsPerSecond',
    'delivered',
    'lost',
    'resumed',
    'p50Ms',
    'p99Ms',
    'maxMs',
    'serverCpuMs',
    'generatorCpuMs',
    'memoryMiB',
    'openMs',
  ],
  staleness: [
    'perSecond',
    'writesPerSecond',
    'p50Ms',
    'p99Ms',
    'staleShare',
    'staleP99Ms',
    'staleMaxMs',
    'boundMs',
  ],
  failover: ['writeGapMs', 'readGapMs'],
}

export type Table = {
  readonly workload: Workload
  /** The first column is the load. */
  readonly heading: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** Returns one table per measured workload. Columns without values are left out. */
export function tablesOf(rows: readonly BenchRow[]): readonly Table[] {
  return workloads.flatMap((workload) => {
    const own = rows.filter(({ load }) => load.kind === workload)
    if (own.length === 0) return []
    const shown = columns[workload].filter((measure) =>
      own.some(({ rounds }) => spreadOf(rounds, measure) !== null),
    )
    const heading = shown.map((measure) => {
      const { words, unit } = measures[measure]
      return unit === '' ? words : `${words} ${unit}`
    })
    const cells = own.map(({ label, rounds }) => [
      isGeneratorBound(rounds) ? `${label} (!)` : label,
      ...shown.map((measure) => spreadText(spreadOf(rounds, measure), measure)),
    ])
    return [{ workload, heading: ['work', ...heading], rows: cells }]
  })
}

/** Whether the generator used most of the machine, or all of one of its threads. */
function isGeneratorBound(rounds: readonly Sample[]): boolean {
  const busy = spreadOf(rounds, 'generatorBusy')?.median ?? 0
  const share = spreadOf(rounds, 'generatorShare')?.median ?? 0
  return busy > busyMax || share > shareMax
}

/** One line about the environment. */
export function circumstances({ environment, run }: BenchReport): string {
  const { commit, node, processors, processor, memoryGiB } = environment
  const server = run.server === '' ? '' : `, server ${run.server}`
  return (
    `commit ${commit}${server}, Node ${node}, ${processors} x ${processor}, ${memoryGiB} GiB; ` +
    `${run.rounds} round${run.rounds === 1 ? '' : 's'} of ${run.seconds} s, load before ${run.loadBefore.toFixed(2)}`
  )
}

/** Remarks about the figures, including the notes of the run. */
export function remarks(report: BenchReport): readonly string[] {
  const { rows, notes, run, environment } = report
  const bound = rows.filter(({ rounds }) => isGeneratorBound(rounds))
  const failing = rows.filter(({ failures }) => failures.length > 0)
  return [
    ...(run.loadBefore > quietLoad * environment.processors
      ? [
          `the machine had other work before (load ${run.loadBefore.toFixed(2)}): rates and latencies are not reliable`,
        ]
      : []),
    ...(bound.length === 0
      ? []
      : [
          `(!) the generator used most of the machine or all of a thread: servers may be faster than the rate`,
        ]),
    ...failing.map(({ label, failures }) => `${label}: ${failuresText(failures)}`),
    ...notes,
  ]
}

/** Text for terminals. @param format aligns columns */
export function textOf(
  report: BenchReport,
  format: (rows: readonly (readonly string[])[]) => readonly string[],
): readonly string[] {
  const parts = tablesOf(report.rows).flatMap(({ heading, rows }) => ['', ...format([heading, ...rows])])
  const notes = remarks(report)
  return [
    circumstances(report),
    ...parts,
    ...(notes.length === 0 ? [] : ['']),
    ...notes.map((one) => `note: ${one}`),
  ]
}

/** The report in Markdown, with one table for each kind of load. */
export function markdownOf(report: BenchReport): readonly string[] {
  const cell = (words: string): string => words.replaceAll('|', '\\|')
  const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(' | ')} |`
  const parts = tablesOf(report.rows).flatMap(({ heading, rows }) => [
    '',
    line(heading),
    line(heading.map(() => '---')),
    ...rows.map(line),
  ])
  return [circumstances(report), ...parts, '', ...remarks(report).map((one) => `- ${one}`)]
}

/** One line per result, during the run. */
export function progressText(row: BenchRow, sample: Sample): string {
  const texts = columns[row.load.kind].slice(0, 6).flatMap((measure) => {
    const value = sample[measure]
    if (value === undefined) return []
    const { words, unit, digits } = measures[measure]
    return [`${words} ${value.toFixed(digits)}${unit.startsWith('/') ? unit : ` ${unit}`.trimEnd()}`]
  })
  return `${row.label}: ${texts.join(', ')}`
}
