import { seconds } from './describe.ts'
import type { Call, History } from './history.ts'
import { isAnswered, isWrite } from './history.ts'
import { text } from './page-text.ts'
import type { Report } from './report.ts'
import { lengthOf } from './timeline.ts'

/** Dimensions of the drawing in its own units. */
const width = 1000
const left = 110
const rowHeight = 34
const columns = 300
const ticks = 10
/** Height of a line of fault labels. */
const faultLine = 14

/**
 * Timeline chart: acknowledged writes and answered reads per member, calls without an answer,
 * faults as bands, the longest gaps, and anomalies as marks.
 */
export function chart(report: Report, history: History): string {
  const endMs = Math.max(1, report.run.durationMs)
  const x = (ms: number): number => left + (Math.min(Math.max(ms, 0), endMs) / endMs) * (width - left)
  const { members } = report.run
  const top = 10 + faultLine * Math.min(3, report.faults.length)
  const bottom = top + rowHeight * (members.length + 1)
  const height = bottom + 44
  const parts = [
    ...faultBands(report, { x, top, bottom }),
    ...gapBands(report, { x, top, bottom }),
    ...members.flatMap((member, at) =>
      memberRow(member, history.calls, { x, y: top + rowHeight * at, endMs }),
    ),
    ...marks(report, { x, y: top + rowHeight * members.length }),
    ...axis(endMs, { x, y: bottom }),
    legend(height),
  ]
  return `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="timeline">\n${parts.join('\n')}\n</svg>`
}

type Area = { readonly x: (ms: number) => number; readonly top: number; readonly bottom: number }

function faultBands({ faults, run }: Report, { x, top, bottom }: Area): readonly string[] {
  return faults.map(({ atMs, endMs, kind, target }, at) => {
    const [from, to] = [x(atMs), x(endMs ?? atMs)]
    const label = `${kind} ${target}`
    const y = 10 + faultLine * (at % 3)
    const title = `${label}, ${seconds(atMs)} to ${endMs === null ? 'the end' : seconds(endMs)}`
    const stop = endMs === null ? x(run.durationMs) : Math.max(to, from + 1.5)
    return (
      `<g><title>${text(title)}</title>` +
      rect({ x: from, y, width: stop - from, height: bottom - y, fill: '#fde68a', opacity: 0.45 }) +
      `<text x="${round(from + 2)}" y="${Math.min(y + 9, top)}">${text(label)}</text></g>`
    )
  })
}

function gapBands({ clients }: Report, { x, top, bottom }: Area): readonly string[] {
  return clients.writes.gaps.slice(0, 5).map((gap) => {
    const [from, to] = [x(gap.fromMs), x(gap.toMs)]
    const title = `no write was acknowledged for ${lengthOf(gap).toFixed(0)} ms from ${seconds(gap.fromMs)}`
    const band = rect({
      x: from,
      y: top,
      width: Math.max(1, to - from),
      height: bottom - top,
      fill: '#fb923c',
      opacity: 0.35,
    })
    return `<g><title>${text(title)}</title>${band}</g>`
  })
}

/** Bars up: acknowledged writes; bars down: answered reads; dots: calls without an answer. */
function memberRow(
  member: string,
  calls: readonly Call[],
  at: { readonly x: (ms: number) => number; readonly y: number; readonly endMs: number },
): readonly string[] {
  const [writes, reads, unknown] = [columnsOf(), columnsOf(), columnsOf()]
  for (const call of calls) {
    if (call.member !== member) continue
    const column = Math.min(columns - 1, Math.floor((call.endMs / at.endMs) * columns))
    const into = call.answer.kind === 'unknown' ? unknown : isWrite(call.request) ? writes : reads
    if (call.answer.kind === 'unknown' || isAnswered(call)) into[column] = (into[column] ?? 0) + 1
  }
  const most = Math.max(1, ...writes, ...reads)
  const middle = at.y + rowHeight / 2
  const half = rowHeight / 2 - 3
  const columnWidth = (width - left) / columns
  const bars = (counts: readonly number[], up: boolean): string =>
    counts
      .map((number, column) => {
        if (number === 0) return ''
        const high = Math.max(1, (number / most) * half)
        const [x, y] = [left + column * columnWidth, up ? middle - high : middle]
        return `M${round(x)} ${round(y)}h${round(columnWidth)}v${round(high)}h${round(-columnWidth)}z`
      })
      .join('')
  const dots = unknown.map((number, column) => {
    if (number === 0) return ''
    return `<circle cx="${round(left + (column + 0.5) * columnWidth)}" cy="${at.y + 3}" r="1.8" fill="#b91c1c"/>`
  })
  return [
    `<text x="4" y="${middle + 4}">${text(member.slice(0, 16))}</text>`,
    `<path d="${bars(writes, true)}" fill="#2563eb"/>`,
    `<path d="${bars(reads, false)}" fill="#7dd3fc"/>`,
    dots.join(''),
  ]
}

function columnsOf(): number[] {
  return Array.from({ length: columns }, () => 0)
}

function marks(
  report: Report,
  at: { readonly x: (ms: number) => number; readonly y: number },
): readonly string[] {
  const middle = at.y + rowHeight / 2
  const anomalies = report.checks.flatMap((check) => check.anomalies)
  const label = `<text x="4" y="${middle + 4}">anomalies</text>`
  const drawn = anomalies.map(({ kind, atMs, text: words }) => {
    const x = at.x(atMs)
    const title = text(`${kind} at ${seconds(atMs)}: ${words}`)
    const shape = `M${round(x)} ${middle - 7}l6 12h-12z`
    return `<g><title>${title}</title><path d="${shape}" fill="#b91c1c"/></g>`
  })
  return [label, ...drawn]
}

function axis(
  endMs: number,
  at: { readonly x: (ms: number) => number; readonly y: number },
): readonly string[] {
  const line = `<path d="M${left} ${at.y}H${width}" stroke="#9ca3af"/>`
  const labels = Array.from({ length: ticks + 1 }, (_, tick) => {
    const ms = (endMs * tick) / ticks
    const x = at.x(ms)
    const anchor = tick === ticks ? 'end' : 'middle'
    return `<path d="M${round(x)} ${at.y}v4" stroke="#9ca3af"/><text x="${round(x)}" y="${at.y + 15}" text-anchor="${anchor}">${(ms / 1000).toFixed(1)} s</text>`
  })
  return [line, ...labels]
}

function legend(height: number): string {
  const entries: readonly (readonly [string, string])[] = [
    ['#2563eb', 'acknowledged writes'],
    ['#7dd3fc', 'answered reads'],
    ['#b91c1c', 'no answer; anomaly'],
    ['#fb923c', 'longest gaps between writes'],
    ['#fde68a', 'faults'],
  ]
  return entries
    .map(([fill, words], at) => {
      const x = left + at * 175
      return `${rect({ x, y: height - 14, width: 10, height: 10, fill, opacity: 1 })}<text x="${x + 14}" y="${height - 5}">${words}</text>`
    })
    .join('')
}

function rect(of: {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
  readonly fill: string
  readonly opacity: number
}): string {
  const place = `x="${round(of.x)}" y="${round(of.y)}" width="${round(of.width)}" height="${round(of.height)}"`
  return `<rect ${place} fill="${of.fill}" opacity="${of.opacity}"/>`
}

function round(number: number): number {
  return Math.round(number * 100) / 100
}
