/**
 * Counts what makes sources hard to read, in one checkout or in several side by side.
 *
 *   node dist/test/tidy/source-counts.js [CHECKOUT...]
 *
 * Without arguments it counts this checkout. The columns are in the order of the arguments, so an
 * older commit in a worktree gives the figures before and after.
 */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isTooLong } from './comment-columns.ts'
import { cyclesIn, importsOf } from './import-cycles.ts'
import { root } from './markdown.ts'
import { markersIn, proseOf } from './plain-english.ts'
import { productFolders, sourcesIn } from './sources.ts'

type Counts = ReadonlyMap<string, string>
type Source = { readonly path: string; readonly text: string }

function read(checkout: string, folders: readonly string[]): readonly Source[] {
  return folders
    .filter((folder) => existsSync(join(checkout, folder)))
    .flatMap((folder) => sourcesIn(checkout, folder))
    .map((path) => ({ path, text: readFileSync(join(checkout, path), 'utf8') }))
}

function linesOf(text: string): readonly string[] {
  return text.replace(/\n$/, '').split('\n')
}

function total(sources: readonly Source[], of: (source: Source) => number): number {
  return sources.reduce((sum, source) => sum + of(source), 0)
}

function share(part: number, whole: number): string {
  return `${part} (${whole === 0 ? 0 : Math.round((100 * part) / whole)} %)`
}

function largestFolder(sources: readonly Source[]): string {
  const files = new Map<string, number>()
  for (const { path } of sources) files.set(dirname(path), (files.get(dirname(path)) ?? 0) + 1)
  const [folder, most] = [...files].sort(([, left], [, right]) => right - left)[0] ?? ['none', 0]
  return `${most} (${folder})`
}

function countsOf(checkout: string): Counts {
  const counts = new Map<string, string>()
  for (const [name, folders] of [
    ['product', productFolders],
    ['tests', ['test']],
  ] as const) {
    const sources = read(checkout, folders)
    const paths = sources.map(({ path }) => path)
    const imports = new Map(paths.map((path) => [path, importsOf(checkout, path)]))
    const marked = sources.filter(({ path, text }) =>
      proseOf(path, text).some((prose) => markersIn(path, prose).length > 0),
    )
    const folderCount = new Set(paths.map((path) => dirname(path))).size
    const count = (label: string, value: string | number): void => {
      counts.set(`${name}: ${label}`, String(value))
    }
    count('files', sources.length)
    count(
      'lines',
      total(sources, ({ text }) => linesOf(text).length),
    )
    count('files with words that the plain English check refuses', share(marked.length, sources.length))
    count(
      'comment lines over 100 columns',
      total(sources, ({ text }) => linesOf(text).filter(isTooLong).length),
    )
    count('import cycles', cyclesIn(imports).length)
    count('folders', folderCount)
    count('files per folder, mean', (sources.length / folderCount).toFixed(1))
    count('files in the largest folder', largestFolder(sources))
  }
  counts.set('README.md: lines', String(linesOf(readFileSync(join(checkout, 'README.md'), 'utf8')).length))
  return counts
}

const checkouts = process.argv.length > 2 ? process.argv.slice(2) : [root]
const columns = checkouts.map(countsOf)
for (const label of columns[0]?.keys() ?? []) {
  const cells = columns.map((counts) => (counts.get(label) ?? '').padEnd(34))
  console.log(`${label.padEnd(64)} ${cells.join(' ').trimEnd()}`)
}
