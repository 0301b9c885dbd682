import { seconds } from './describe.ts'
import { anomalyDescriptions, count } from './finding.ts'
import type { Anomaly, CheckReport } from './finding.ts'
import type { Fault, History } from './history.ts'
import type { HistoryVerdict } from './check-history.ts'
import { lengthOf, trafficSummaryOf } from './timeline.ts'
import type { CallTimings, TrafficSummary } from './timeline.ts'

/** The report of a run, independent of its format. */
export type Report = {
  readonly verdict: HistoryVerdict['verdict']
  readonly run: History['facts'] & { readonly durationMs: number }
  readonly clients: TrafficSummary
  readonly checks: readonly CheckReport[]
  readonly faults: readonly Fault[]
  /** Path of the recording; null: it was not kept. */
  readonly history: string | null
  readonly notes: readonly string[]
}

export function reportOf(
  {
    history,
    judgement,
    notes,
  }: { readonly history: History; readonly judgement: HistoryVerdict; readonly notes: readonly string[] },
  more: { readonly faults: readonly Fault[]; readonly history: string | null },
): Report {
  const { verdict, checks } = judgement
  const run = { ...history.facts, durationMs: history.endedMs }
  return { verdict, run, clients: trafficSummaryOf(history), checks, ...more, notes }
}

/** Anomalies in the summary; JSON and page have all that the checks kept (`anomaliesMax`). */
const anomaliesShownMax = 5

export function textOf(report: Report): readonly string[] {
  const { run, clients, checks } = report
  const { seed, namespace, members, durationMs } = run
  return [
    `${report.verdict.toUpperCase()}: ${verdictText(report)}`,
    '',
    `${members.join(', ')}; namespace ${namespace}, seed ${seed}, ${seconds(durationMs)}`,
    `${count(clients.calls, 'call')}, ${clients.refused.toLocaleString('en-US')} refused, ` +
      `${clients.unknown.toLocaleString('en-US')} without a known outcome; ${count(clients.events, 'watch event')}`,
    timingsText('writes', clients.writes),
    timingsText('most recent reads', clients.reads),
    ...(report.faults.length === 0 ? [] : [`${count(report.faults.length, 'fault')} during the run`]),
    '',
    ...checks.map(checkLine),
    ...anomalyLines(checks),
    ...report.notes.map((note) => `note: ${note}`),
    ...(report.history === null ? [] : ['', `the recording: ${report.history}`]),
  ]
}

export function verdictText({ verdict, checks }: Pick<Report, 'verdict' | 'checks'>): string {
  switch (verdict) {
    case 'ok':
      return 'all checked guarantees hold'
    case 'anomaly': {
      const kinds = new Set(checks.flatMap(({ anomalies }) => anomalies.map(({ kind }) => kind)))
      return [...kinds].join(', ')
    }
    case 'undecided': {
      const open = checks.filter((check) => check.verdict === 'undecided' || check.verdict === 'no-data')
      return open.map((check) => `${check.check}: ${noteOf(check)}`).join('; ')
    }
  }
}

/** Returns why the result is limited. */
export function noteOf({ verdict, note }: CheckReport): string {
  return verdict === 'no-data' ? 'no such calls were recorded' : note
}

function timingsText(what: string, { answered, p50Ms, p99Ms, maxMs, gaps }: CallTimings): string {
  const [longest] = gaps
  const gap =
    longest === undefined
      ? ''
      : `; longest gap ${lengthOf(longest).toFixed(0)} ms, at ${seconds(longest.fromMs)}`
  const times = `p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms, longest ${maxMs.toFixed(0)} ms`
  return `${answered.toLocaleString('en-US')} ${what}: ${times}${gap}`
}

function checkLine(check: CheckReport): string {
  const note = noteOf(check)
  const words = `${check.verdict.padEnd(14)} ${check.check}: ${check.examined}`
  return note === '' || check.verdict === 'anomaly' ? words : `${words} (${note})`
}

function anomalyLines(checks: readonly CheckReport[]): readonly string[] {
  const anomalies = firstAnomalies(checks)
  const total = checks.reduce(
    (sum, { anomalies: reported, unreported }) => sum + reported.length + unreported,
    0,
  )
  const lines = anomalies
    .slice(0, anomaliesShownMax)
    .flatMap(({ kind, text, witnesses }) => [
      '',
      `${kind} (${anomalyDescriptions[kind]})`,
      `  ${text}`,
      '  a small history that shows it:',
      ...witnesses.map((witness) => `    ${witness.text}`),
    ])
  if (total <= anomaliesShownMax) return lines
  return [...lines, '', `${total - anomaliesShownMax} more; see --html or -o json`]
}

/** Orders anomalies so that the first one of each kind comes before the second one of any kind. */
function firstAnomalies(checks: readonly CheckReport[]): readonly Anomaly[] {
  const seen = new Map<string, number>()
  const ranked = checks.flatMap(({ anomalies }) =>
    anomalies.map((anomaly) => {
      const rank = seen.get(anomaly.kind) ?? 0
      seen.set(anomaly.kind, rank + 1)
      return { anomaly, rank }
    }),
  )
  return ranked.sort((a, b) => a.rank - b.rank).map(({ anomaly }) => anomaly)
}
