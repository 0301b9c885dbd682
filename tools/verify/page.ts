import { seconds } from './describe.ts'
import { anomalyDescriptions, count } from './finding.ts'
import type { CheckReport } from './finding.ts'
import type { Fault, History } from './history.ts'
import { chart } from './page-chart.ts'
import { text } from './page-text.ts'
import { noteOf, verdictText } from './report.ts'
import type { Report } from './report.ts'
import { lengthOf } from './timeline.ts'
import type { CallTimings } from './timeline.ts'

/** Returns a self-contained page without scripts, fonts or images from elsewhere. */
export function pageOf(report: Report, history: History): string {
  const { run, verdict } = report
  const title = `orchctl verify: ${verdict}`
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${text(title)}</title><style>${style}</style></head><body>
<h1><span class="badge ${verdict}">${text(verdict)}</span> ${text(verdictText(report))}</h1>
<p>${text(run.members.join(', '))}; namespace ${text(run.namespace)}, seed ${run.seed}, from
${text(new Date(run.startedMs).toISOString())}, ${text(seconds(run.durationMs))}</p>
<h2>What happened when</h2>
${chart(report, history)}
<h2>What clients experienced</h2>
${clientTable(report)}
<h2>What was checked</h2>
${checks(report.checks)}
${anomalies(report.checks)}
${faults(report.faults)}
${report.notes.map((note) => `<p>Note: ${text(note)}</p>`).join('\n')}
</body></html>
`
}

function clientTable({ clients }: Report): string {
  const { writes, reads } = clients
  const row = (what: string, one: CallTimings): string => {
    const gaps = one.gaps.slice(0, 5).map((gap) => `${lengthOf(gap).toFixed(0)} ms at ${seconds(gap.fromMs)}`)
    const times = [one.p50Ms, one.p99Ms, one.maxMs].map((ms) => `<td>${ms.toFixed(1)} ms</td>`)
    return `<tr><td>${what}</td><td>${one.answered}</td>${times.join('')}<td>${text(gaps.join('; '))}</td></tr>`
  }
  const others = `${count(clients.calls, 'call')}, ${clients.refused} refused, ${clients.unknown} without a known outcome`
  return `<table><tr><th></th><th>answered</th><th>p50</th><th>p99</th><th>longest</th><th>longest gaps</th></tr>
${row('acknowledged writes', writes)}
${row('most recent reads', reads)}</table>
<p>${text(others)}; ${text(count(clients.events, 'watch event'))}</p>`
}

function checks(all: readonly CheckReport[]): string {
  const rows = all.map((one) => {
    const note =
      one.verdict === 'anomaly'
        ? count(one.anomalies.length + one.unreported, 'anomaly', 'anomalies')
        : noteOf(one)
    const badge = `<span class="badge ${one.verdict}">${text(one.verdict)}</span>`
    return `<tr><td>${text(one.check)}</td><td>${badge}</td><td>${text(one.examined)}</td><td>${text(note)}</td></tr>`
  })
  return `<table><tr><th>check</th><th>verdict</th><th>examined</th><th></th></tr>\n${rows.join('\n')}</table>`
}

function anomalies(all: readonly CheckReport[]): string {
  const found = all.flatMap((check) => check.anomalies)
  if (found.length === 0) return ''
  const parts = found.map(({ kind, text: words, witnesses }, at) => {
    const lines = witnesses.map((witness) => text(witness.text)).join('\n')
    return `<details${at < 3 ? ' open' : ''}><summary><span class="badge anomaly">${text(kind)}</span> ${text(words)}</summary>
<p>${text(anomalyDescriptions[kind])}. A small history that shows it:</p><pre>${lines}</pre></details>`
  })
  return `<h2>Anomalies</h2>\n${parts.join('\n')}`
}

function faults(all: readonly Fault[]): string {
  if (all.length === 0) return ''
  const rows = all.map(({ kind, target, atMs, endMs }) => {
    const end = endMs === null ? '' : seconds(endMs)
    return `<tr><td>${text(kind)}</td><td>${text(target)}</td><td>${seconds(atMs)}</td><td>${end}</td></tr>`
  })
  return `<h2>Faults</h2>
<table><tr><th>kind</th><th>target</th><th>from</th><th>to</th></tr>
${rows.join('\n')}</table>`
}

const style = `
body{font:15px/1.45 system-ui,sans-serif;margin:2em auto;max-width:1080px;padding:0 1em;color:#1b1f24;background:#fff}
h1{font-size:1.4em}h2{font-size:1.1em;margin-top:2em}
table{border-collapse:collapse}td,th{text-align:left;padding:.25em .8em;border-bottom:1px solid #d9dde2;vertical-align:top}
pre{background:#f3f4f6;padding:.8em;overflow:auto;font-size:13px}summary{cursor:pointer;margin:.4em 0}
.badge{border-radius:4px;padding:.1em .5em;color:#fff;background:#6b7280;font-size:.9em}
.badge.ok{background:#15803d}.badge.anomaly{background:#b91c1c}.badge.undecided{background:#b45309}
svg{width:100%;height:auto}svg text{font:11px system-ui,sans-serif;fill:#374151}`
