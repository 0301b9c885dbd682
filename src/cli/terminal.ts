import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'

/** What commands are given of the outside world. */
export type Terminal = {
  /** Results, one line at a time. */
  readonly print: (line: string) => void
  /** Progress of long work; never part of a result. */
  readonly note: (line: string) => void
  readonly clock: Clock
  readonly random: Random
  /** How this program is called again, for advice. */
  readonly program: string
}

export type Format = 'table' | 'json'

/** Columns as wide as their widest cell; the first row is the heading. */
export function formatTable(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  )
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('   ')
      .trimEnd(),
  )
}

export function sleep(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(ms, resolve)
  })
}
