import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'

/** Environment of the commands. */
export type Terminal = {
  /** Prints a line of the result. */
  readonly print: (line: string) => void
  /** Prints progress, which is not part of the result. */
  readonly note: (line: string) => void
  readonly clock: Clock
  readonly random: Random
  /** Command line of this program, for hints. */
  readonly program: string
}

export type Format = 'table' | 'json'

/**
 * Aligns columns; the first row is the heading. Control characters become question marks: a cell
 * may come from any user of the cluster, and would change what the terminal shows.
 */
export function formatTable(given: readonly (readonly string[])[]): readonly string[] {
  const rows = given.map((row) => row.map((cell) => cell.replace(/\p{Cc}/gu, '?')))
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

export function sleep(clock: Pick<Clock, 'after'>, ms: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(ms, resolve)
  })
}
