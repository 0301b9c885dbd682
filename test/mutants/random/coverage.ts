import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runCheck } from '../check.ts'
import { root } from '../copy.ts'
import type { Copy } from '../copy.ts'
import { nameOf } from '../mutant.ts'
import type { Check } from '../mutant.ts'
import { coveredRanges, joined } from './covered-ranges.ts'
import type { FunctionCoverage, Range } from './covered-ranges.ts'

/** The code that a check executes when it passes. */
export type Recorded = {
  /** False: it fails without a mutation, or did not end. It shows nothing then. */
  readonly passes: boolean
  readonly seconds: number
  /** Ranges of the compiled text that were executed, by the path of the source from the root. */
  readonly ranges: Readonly<Record<string, readonly Range[]>>
}

const folder = join(root, '.build/mutants/coverage')

/**
 * Returns what a check covers: from `.build` where it was recorded for the same compiled texts,
 * else by running it with V8's block coverage.
 *
 * @param textsHash identifies the compiled texts of everything the check loads
 */
export async function recordedCoverage(check: Check, copy: Copy, textsHash: string): Promise<Recorded> {
  const path = join(folder, `${nameOf(check).replaceAll(/[^a-z0-9.-]+/gi, '_')}.json`)
  const stored = existsSync(path)
    ? (JSON.parse(readFileSync(path, 'utf8')) as { readonly hash: string; readonly recorded: Recorded })
    : null
  if (stored?.hash === textsHash) return stored.recorded
  const recorded = await record(check, copy)
  mkdirSync(folder, { recursive: true })
  writeFileSync(path, JSON.stringify({ hash: textsHash, recorded }))
  return recorded
}

async function record(check: Check, copy: Copy): Promise<Recorded> {
  const directory = mkdtempSync(join(tmpdir(), 'coverage-'))
  try {
    const startedMs = performance.now()
    const verdict = await runCheck(check, copy, { env: { NODE_V8_COVERAGE: directory } })
    const seconds = (performance.now() - startedMs) / 1000
    return { passes: verdict.kind === 'passed', seconds, ranges: rangesIn(directory, copy) }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

type Report = {
  readonly result: readonly { readonly url: string; readonly functions: readonly FunctionCoverage[] }[]
}

/** Returns the executed ranges in all reports. Each process wrote one. */
function rangesIn(directory: string, copy: Copy): Recorded['ranges'] {
  const byFile: Record<string, readonly Range[]> = {}
  for (const name of readdirSync(directory)) {
    for (const { url, functions } of reportIn(join(directory, name)).result) {
      if (!url.startsWith('file:')) continue
      const file = relative(join(copy.directory, 'dist'), fileURLToPath(url)).replace(/\.js$/, '.ts')
      if (!/^(base|raft|src)\//.test(file)) continue
      byFile[file] = joined([...(byFile[file] ?? []), ...coveredRanges(functions)])
    }
  }
  return byFile
}

/** Returns an empty report for a process that was killed while it wrote its own. */
function reportIn(path: string): Report {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Report
  } catch (cause) {
    if (cause instanceof SyntaxError) return { result: [] }
    throw cause
  }
}

/** The compiled texts that programs load, themselves included. */
export class LoadedTexts {
  readonly #copy: Copy
  readonly #imports = new Map<string, readonly string[]>()
  readonly #hashes = new Map<string, string>()

  constructor(copy: Copy) {
    this.#copy = copy
  }

  /**
   * Returns a hash over the texts of one program.
   *
   * @param program its path below `dist`
   */
  hashOf(program: string): string {
    const seen = new Set([program])
    // A set also iterates over what is added during the iteration.
    for (const path of seen) for (const imported of this.#importsOf(path)) seen.add(imported)
    const hash = createHash('sha256')
    for (const path of [...seen].sort()) hash.update(this.#hashes.get(path) ?? '')
    return hash.digest('hex')
  }

  /**
   * Returns the imports, and the programs of threads and processes that are named by relative path.
   */
  #importsOf(path: string): readonly string[] {
    const known = this.#imports.get(path)
    if (known !== undefined) return known
    const file = join(this.#copy.directory, 'dist', path)
    const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
    this.#hashes.set(path, createHash('sha256').update(text).digest('hex'))
    const imports = [...text.matchAll(/['"](\.{1,2}\/[^'"\n]+\.js)['"]/g)].map(([, name = '']) =>
      join(dirname(path), name),
    )
    this.#imports.set(path, imports)
    return imports
  }
}
