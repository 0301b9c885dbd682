import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './copy.ts'
import { nameOf } from './mutant.ts'
import type { Mutant } from './mutant.ts'
import type { Tried } from './trial.ts'

export type Row = {
  readonly mutant: Mutant
  readonly quickest: Tried | null
  /** null: not requested. */
  readonly simulation: Tried | null
  /** Names of all checks that failed. */
  readonly noticed: readonly string[]
  /** Checks that should have failed. */
  readonly survived: readonly Tried[]
}

export function printRow({ mutant, quickest, simulation, survived }: Row): void {
  for (const { check, verdict } of survived) {
    const why = verdict.kind === 'void' ? `: ${verdict.why}` : ''
    console.log(`SURVIVED ${mutant.id} (${mutant.breaks}) ${nameOf(check)}${why}`)
  }
  if (survived.length > 0) return
  const seed = simulation === null ? '' : ` | ${findingText(simulation)}`
  console.log(
    `killed ${mutant.id} in ${(quickest?.seconds ?? 0).toFixed(1)} s by ${findingText(quickest)}${seed}`,
  )
}

/**
 * Replaces the text between the two marks of this folder's README.
 *
 * @param ids all mutants, in order: those that were not tried keep their rows
 */
export function writeTable(rows: readonly Row[], ids: readonly string[]): void {
  const path = join(root, 'test/mutants/README.md')
  const [before, rest = ''] = readFileSync(path, 'utf8').split(begin)
  const [old = '', after = ''] = rest.split(end)
  const lines = table([...rowsIn(old), ...rows.map(cellsOf)], ids).map((cells) => `| ${cells.join(' | ')} |`)
  writeFileSync(path, `${before}${begin}\n\n${lines.join('\n')}\n\n${end}${after}`)
}

const begin = '<!-- table: written by make mutants UPDATE=1 -->'
const end = '<!-- end of table -->'

/** The cells of a table, without its head and rule. */
function rowsIn(text: string): readonly (readonly string[])[] {
  const lines = text.split('\n').filter((line) => line.startsWith('| `'))
  return lines.map((line) =>
    line
      .slice(2, -2)
      .split(' | ')
      .map((one) => one.trim()),
  )
}

function cellsOf({ mutant, quickest, simulation }: Row): readonly string[] {
  const cells = [
    `\`${mutant.id}\``,
    mutant.breaks,
    mutant.standsFor,
    mutant.invariant,
    cell(quickest),
    (quickest?.seconds ?? 0).toFixed(1),
    cell(simulation),
  ]
  return cells.map((text) => text.replaceAll('|', '\\|'))
}

/**
 * Returns head, rule and rows, padded as the formatter pads them.
 *
 * @param rows the last row of a mutant counts
 */
function table(rows: readonly (readonly string[])[], ids: readonly string[]): string[][] {
  const head = ['mutant', 'what is wrong', 'stands for', '', 'noticed first by', 's', 'simulation']
  const byId = new Map(rows.map((row) => [row[0] ?? '', row]))
  const known = ids.map((id) => byId.get(`\`${id}\``)).filter((row) => row !== undefined)
  const cells = [head, ...known]
  const widths = head.map((_, column) => Math.max(3, ...cells.map((row) => row[column]?.length ?? 0)))
  const padded = cells.map((row) => row.map((text, column) => text.padEnd(widths[column] ?? 0)))
  const rule = widths.map((width) => '-'.repeat(width))
  return [padded[0] ?? [], rule, ...padded.slice(1)]
}

function cell(tried: Tried | null): string {
  if (tried === null) return '–'
  const { check, verdict } = tried
  if (verdict.kind !== 'failed') return `**not** by ${nameOf(check)}`
  const { where, message } = verdict.finding
  if (check.kind === 'seeds') return `${where} of ${check.to}: ${plain(message)}`
  return `${check.file.replace('.test.ts', '')}: ${plain(where)}`
}

function findingText(tried: Tried | null): string {
  if (tried?.verdict.kind !== 'failed') return 'nothing'
  const { where, message } = tried.verdict.finding
  return `${nameOf(tried.check)}: ${where}: ${message}`
}

/** Returns the text as code in a cell of a table, shortened. */
function plain(text: string): string {
  return `\`${text.replaceAll('`', "'").slice(0, 100).trim()}\``
}
