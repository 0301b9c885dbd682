import { text } from '../../tools/verify/page-text.ts'
import type { Spread } from './measures.ts'

/** Dimensions of every drawing, in its own units. */
const width = 1000
const left = 330
const right = 110
const rowHeight = 22
const axisHeight = 24

/** A row of dots on a line, such as the quantiles of a latency. */
export type RangeRow = {
  readonly label: string
  readonly colour: string
  /** Ascending; the first and the last are written next to the line. */
  readonly values: readonly number[]
}

/** A bar with its range and a limit. */
export type BarRow = {
  readonly label: string
  readonly colour: string
  readonly spread: Spread
  /** null: no limit. */
  readonly limit: number | null
}

type Scale = { readonly x: (value: number) => number; readonly ticks: readonly number[] }

/**
 * Draws a plot with a logarithmic scale, because latencies span orders of magnitude.
 *
 * @param unit of the axis
 */
export function rangePlot(rows: readonly RangeRow[], unit: string): string {
  const values = rows.flatMap((row) => row.values).filter((value) => value > 0)
  const scale = logarithmic(Math.min(...values), Math.max(...values))
  const drawn = rows.map((row, at) => {
    const y = at * rowHeight + rowHeight / 2
    const [first, last] = [row.values[0] ?? 0, row.values.at(-1) ?? 0]
    const [from, to] = [scale.x(first), scale.x(last)]
    const line = `<path d="M${round(from)} ${y}H${round(to)}" stroke="${row.colour}" stroke-width="2"/>`
    const dots = row.values.map((value, index) => {
      const size = index === 0 ? 4.5 : 3
      return `<circle cx="${round(scale.x(value))}" cy="${y}" r="${size}" fill="${row.colour}"/>`
    })
    const title = `<title>${text(`${row.label}: ${row.values.map(short).join(', ')} ${unit}`)}</title>`
    return `<g>${title}${labelAt(row.label, y)}${line}${dots.join('')}${valueAt(to + 8, y, `${short(first)} - ${short(last)}`)}</g>`
  })
  return drawing(rows.length, [...axis(scale, rows.length, unit), ...drawn])
}

/** Draws bars from 0, so that their lengths are proportional to the values. */
export function barPlot(rows: readonly BarRow[], unit: string): string {
  const most = Math.max(0, ...rows.flatMap(({ spread, limit }) => [spread.highest, limit ?? 0]))
  const scale = linear(most)
  const drawn = rows.map(({ label, colour, spread, limit }, at) => {
    const y = at * rowHeight + rowHeight / 2
    const { median, lowest, highest } = spread
    const bar = `<rect x="${left}" y="${y - 6}" width="${round(Math.max(1, scale.x(median) - left))}" height="12" fill="${colour}"/>`
    const whisker = `<path d="M${round(scale.x(lowest))} ${y}H${round(scale.x(highest))}" stroke="#1b1f24" stroke-width="1.5"/>`
    const limitMark = limit === null ? '' : mark(scale.x(limit), y)
    const end = Math.max(scale.x(highest), limit === null ? 0 : scale.x(limit))
    const words = limit === null ? short(median) : `${short(median)} of ${short(limit)}`
    const title = `<title>${text(`${label}: ${short(median)} (${short(lowest)} - ${short(highest)}) ${unit}`)}</title>`
    return `<g>${title}${labelAt(label, y)}${bar}${lowest === highest ? '' : whisker}${limitMark}${valueAt(end + 8, y, words)}</g>`
  })
  return drawing(rows.length, [...axis(scale, rows.length, unit), ...drawn])
}

function mark(x: number, y: number): string {
  return `<path d="M${round(x)} ${y - 9}v18" stroke="#b91c1c" stroke-width="2.5"/>`
}

function drawing(rows: number, parts: readonly string[]): string {
  const height = rows * rowHeight + axisHeight
  return `<svg viewBox="0 0 ${width} ${height}" role="img">\n${parts.join('\n')}\n</svg>`
}

function labelAt(label: string, y: number): string {
  return `<text x="${left - 10}" y="${y + 4}" text-anchor="end">${text(label)}</text>`
}

function valueAt(x: number, y: number, words: string): string {
  return `<text x="${round(x)}" y="${y + 4}" class="value">${text(words)}</text>`
}

function axis(scale: Scale, rows: number, unit: string): readonly string[] {
  const bottom = rows * rowHeight
  return scale.ticks.map((tick, at) => {
    const x = round(scale.x(tick))
    const words = at === scale.ticks.length - 1 ? `${short(tick)} ${unit}` : short(tick)
    return `<path d="M${x} 0V${bottom + 4}" stroke="#e2e5e9"/><text x="${x}" y="${bottom + 17}" text-anchor="middle">${text(words)}</text>`
  })
}

function linear(most: number): Scale {
  const top = most > 0 ? most : 1
  const step = niceStep(top / 5)
  const count = Math.max(1, Math.ceil(top / step))
  const end = count * step
  return {
    x: (value) => left + (Math.min(Math.max(value, 0), end) / end) * (width - left - right),
    ticks: Array.from({ length: count + 1 }, (_, at) => at * step),
  }
}

/** Returns 1, 2 or 5 times a power of ten, at least the argument. */
function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least))
  const found = [1, 2, 5, 10].find((times) => times * power >= least * 0.999)
  return (found ?? 10) * power
}

function logarithmic(least: number, most: number): Scale {
  const isKnown = Number.isFinite(least) && least > 0
  const from = Math.floor(Math.log10(isKnown ? least : 1))
  const to = Math.max(from + 1, Math.ceil(Math.log10(isKnown ? most : 10)))
  const share = (value: number): number => (Math.log10(Math.max(value, 10 ** from)) - from) / (to - from)
  const decades = Array.from({ length: to - from + 1 }, (_, at) => 10 ** (from + at))
  const between = to - from > 3 ? [] : decades.slice(0, -1).flatMap((decade) => [2 * decade, 5 * decade])
  return {
    x: (value) => left + share(value) * (width - left - right),
    ticks: [...decades, ...between].sort((a, b) => a - b),
  }
}

/** Formats with three significant digits; from 100 on as a whole number. */
function short(value: number): string {
  if (value === 0) return '0'
  if (value >= 100) return Math.round(value).toLocaleString('en-US')
  return String(Number(value.toPrecision(3)))
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
