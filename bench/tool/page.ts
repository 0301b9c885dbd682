import { assertNever } from '../../base/assert.ts'
import { text } from '../../tools/verify/page-text.ts'
import { callersText, labelOf, placeWords, sizeText, workloads } from './load.ts'
import type { Load, Workload } from './load.ts'
import { spreadOf } from './measures.ts'
import type { Measure } from './measures.ts'
import { barPlot, rangePlot } from './page-plots.ts'
import type { BarRow, RangeRow } from './page-plots.ts'
import type { BenchReport, BenchRow } from './report.ts'
import { circumstances, remarks, tablesOf } from './tables.ts'

const titles: Readonly<Record<Workload, string>> = {
  livez: 'Limit of the load generator',
  get: 'Gets of one object',
  create: 'Creates',
  update: 'Updates',
  patch: 'Patches',
  apply: 'Server-side apply',
  list: 'Lists',
  watch: 'Watches',
  staleness: 'Staleness of reads',
  failover: 'Unavailability after a leader failure',
}

const explained: Readonly<Record<Workload, string>> = {
  livez: 'The cheapest request. A rate near this one is the limit of the generator, not of the servers.',
  get: 'Each client sends its next request as soon as it has a response.',
  create: 'The servers decide how durable an acknowledged write is.',
  update: 'Each client replaces an object of its own.',
  patch: 'Each client sends a JSON merge patch that changes one member of an object of its own.',
  apply: 'Each client applies an object of its own with force, and changes one member of it each time.',
  list: 'Objects of 1 KB. A list in pages is one operation, from the first page to the last.',
  watch:
    'Time from sending a write to receiving its event, for the fast readers. Slow readers read one chunk per second.',
  staleness:
    'One client updates an object without pause and others read it. The staleness of a read is the time for which a newer version had already been acknowledged when the read began.',
  failover:
    'The longest time after the fault in which no write of any client succeeded at any member, and the same for most recent reads.',
}

/** Returns a self-contained page without scripts, fonts or images from elsewhere. */
export function pageOf(report: BenchReport): string {
  const { run } = report
  const notes = remarks(report)
  const sections = workloads.flatMap((workload) => {
    const rows = report.rows.filter(({ load }) => load.kind === workload)
    return rows.length === 0 ? [] : [section(workload, rows)]
  })
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>orchctl bench</title><style>${style}</style></head><body>
<h1>orchctl bench</h1>
<p>${text(circumstances(report))}.<br>${text(run.endpoints.join(', '))}, from ${text(new Date(run.startedMs).toISOString())},
${(run.durationMs / 60_000).toFixed(1)} minutes, generator of ${run.threads} thread(s)${run.isLocal ? ' on the machine of the servers' : ''}.
Figures are the median of the rounds, with the lowest and the highest in brackets.</p>
${notes.map((one) => `<p class="note">${text(one)}</p>`).join('\n')}
${sections.join('\n')}
</body></html>
`
}

function section(workload: Workload, rows: readonly BenchRow[]): string {
  return `<h2>${text(titles[workload])}</h2>
<p>${text(explained[workload])}</p>
${plots(workload, rows)}
<details open><summary>All figures</summary>
${table(rows)}</details>`
}

function plots(workload: Workload, rows: readonly BenchRow[]): string {
  switch (workload) {
    case 'livez':
    case 'get':
    case 'create':
    case 'update':
    case 'patch':
    case 'apply':
    case 'list':
      return [
        ...grouped(rows, 'Operations per second', (own) => barPlot(bars(own, 'perSecond'), '/s')),
        ...grouped(rows, 'Latency: median (large dot), p90, p99, p99.9', latencies),
      ].join('\n')
    case 'watch':
      return grouped(rows, 'Delay of events: median (large dot), p90, p99, p99.9', latencies).join('\n')
    case 'staleness':
      return [
        ...grouped(rows, 'Maximum staleness, and the requested bound (red)', (own) =>
          barPlot(bars(own, 'staleMaxMs', 'boundMs'), 'ms'),
        ),
        ...grouped(rows, 'Latency of these reads: median (large dot), p90, p99, p99.9', latencies),
      ].join('\n')
    case 'failover':
      return [
        ...grouped(rows, 'Longest time without an acknowledged write', (own) =>
          barPlot(bars(own, 'writeGapMs'), 'ms'),
        ),
        ...grouped(rows, 'Longest time without a response to a most recent read', (own) =>
          barPlot(bars(own, 'readGapMs'), 'ms'),
        ),
      ].join('\n')
    default:
      return assertNever(workload)
  }
}

/** Returns a heading, and one drawing per group of comparable loads. */
function grouped(
  rows: readonly BenchRow[],
  words: string,
  draw: (rows: readonly BenchRow[]) => string,
): readonly string[] {
  const groups = new Map<string, BenchRow[]>()
  for (const row of rows) {
    const group = namesOf(row.load).group
    groups.set(group, [...(groups.get(group) ?? []), row])
  }
  const drawn = [...groups].map(
    ([group, own]) => `${group === '' ? '' : `<h4>${text(group)}</h4>`}${draw(own)}`,
  )
  return [`<h3>${text(words)}</h3>`, ...drawn]
}

function bars(rows: readonly BenchRow[], measure: Measure, limit?: Measure): readonly BarRow[] {
  return rows.flatMap(({ load, rounds }): readonly BarRow[] => {
    const spread = spreadOf(rounds, measure)
    if (spread === null) return []
    const bound = limit === undefined ? null : (spreadOf(rounds, limit)?.median ?? null)
    return [{ label: namesOf(load).row, colour: colourOf(load), spread, limit: bound }]
  })
}

const quantiles: readonly Measure[] = ['p50Ms', 'p90Ms', 'p99Ms', 'p999Ms']

function latencies(rows: readonly BenchRow[]): string {
  const drawn = rows.flatMap(({ load, rounds }): readonly RangeRow[] => {
    const values = quantiles.map((measure) => spreadOf(rounds, measure)?.median)
    const known = values.filter((value) => value !== undefined)
    return known.length === 0 ? [] : [{ label: namesOf(load).row, colour: colourOf(load), values: known }]
  })
  return drawn.length === 0 ? '' : rangePlot(drawn, 'ms')
}

/** Returns the group of a load and its name there. */
function namesOf(load: Load): { readonly group: string; readonly row: string } {
  switch (load.kind) {
    case 'livez':
      return { group: '', row: callersText(load) }
    case 'get':
      return {
        group: `${sizeText(load.objectBytes)}, ${callersText(load)}`,
        row: `${load.mode}, ${placeWords(load.place)}`,
      }
    case 'create':
    case 'update':
    case 'patch':
    case 'apply':
      return {
        group: sizeText(load.objectBytes),
        row: `${placeWords(load.place)}, ${callersText(load)}`,
      }
    case 'list': {
      const pages = load.page === null ? 'at once' : `in pages of ${load.page}`
      return { group: `${load.objects} objects, ${callersText(load)}`, row: `${load.mode}, ${pages}` }
    }
    case 'watch': {
      const slow = load.slow === 0 ? '' : ` with ${load.slow} slow`
      return { group: '', row: `${load.fast} readers${slow}, ${load.perSecond}/s` }
    }
    case 'staleness':
      return { group: '', row: `${load.mode}, ${placeWords(load.place)}` }
    case 'failover':
      return { group: '', row: labelOf(load) }
    default:
      return assertNever(load)
  }
}

/** Each mode has the same color in all drawings. */
function colourOf(load: Load): string {
  if (load.kind === 'watch') return load.slow === 0 ? '#2563eb' : '#b45309'
  if (load.kind !== 'get' && load.kind !== 'list' && load.kind !== 'staleness') return '#2563eb'
  switch (load.mode) {
    case 'linearizable':
      return '#2563eb'
    case 'lease':
      return '#0f766e'
    case 'any':
      return '#15803d'
    case 'log':
      return '#7e22ce'
    default:
      return '#b45309'
  }
}

function table(rows: readonly BenchRow[]): string {
  const parts = tablesOf(rows).map(({ heading, rows: cells }) => {
    const head = heading.map((words) => `<th>${text(words)}</th>`).join('')
    const body = cells.map((line) => `<tr>${line.map((cell) => `<td>${text(cell)}</td>`).join('')}</tr>`)
    return `<div class="wide"><table><tr>${head}</tr>\n${body.join('\n')}</table></div>`
  })
  return parts.join('\n')
}

const style = `
body{font:15px/1.45 system-ui,sans-serif;margin:2em auto;max-width:1080px;padding:0 1em;color:#1b1f24;background:#fff}
h1{font-size:1.4em}h2{font-size:1.2em;margin-top:2.2em;border-bottom:1px solid #d9dde2}h3{font-size:1em;margin:1.4em 0 .4em}
h4{font-size:.9em;font-weight:600;margin:1em 0 .2em;color:#4b5563}
table{border-collapse:collapse;font-size:13px}td,th{text-align:right;padding:.25em .7em;border-bottom:1px solid #d9dde2;white-space:nowrap}
td:first-child,th:first-child{text-align:left}th{white-space:normal;vertical-align:bottom}.wide{overflow-x:auto}
.note{background:#fef3c7;padding:.4em .8em;border-left:4px solid #b45309}summary{cursor:pointer;margin:.8em 0 .4em}
svg{width:100%;height:auto;display:block}svg text{font:12px system-ui,sans-serif;fill:#374151}svg .value{fill:#1b1f24}`
