import { setMaxListeners } from 'node:events'
import { relative } from 'node:path'
import { runFile } from './run-file.ts'
import type { FileResult } from './run-file.ts'
import type { Suite } from './suites.ts'

export type Count = { readonly passed: number; readonly failed: number; readonly skipped: number }

const slowMs = 5000
const slowestPrinted = 12

/**
 * Runs these files of a suite within its budget, and prints the progress.
 *
 * @param folder the base of printed paths
 */
export async function runSuite(suite: Suite, files: readonly string[], folder: string): Promise<Count> {
  const startedMs = performance.now()
  const { name, question, budgetSeconds, fileSeconds } = suite
  console.log(`\n== ${name}: ${question} (${files.length} files, budget ${budgetSeconds} s)`)
  const shortOf = (file: string): string => relative(folder, file).replace(/\.test\.js$/, '')
  const count = { passed: 0, failed: 0, skipped: 0 }
  const msByFile = new Map<string, number>()
  const stopper = new AbortController()
  // Every file that runs listens.
  setMaxListeners(0, stopper.signal)
  const alarm = setTimeout(() => stopper.abort(), budgetSeconds * 1000)
  const notRun: string[] = []
  const runOne = async (file: string): Promise<void> => {
    const short = shortOf(file)
    if (stopper.signal.aborted) {
      notRun.push(short)
      return
    }
    const say = (line: string): void => console.log(`  ${short}: ${line}`)
    const result = await runFile(file, { seconds: fileSeconds, signal: stopper.signal, say })
    msByFile.set(short, result.ms)
    count.passed += result.passed
    count.skipped += result.skipped.length
    count.failed += result.failures.length
    printResult(short, result)
  }
  const { alone, others } = ordered(suite, files, (file) => shortOf(file).slice(name.length + 1))
  await inParallel(alone, 1, runOne)
  await inParallel(others, suite.parallel, runOne)
  clearTimeout(alarm)
  if (notRun.length > 0) {
    count.failed += notRun.length
    console.log(`  FAILED the budget of ${budgetSeconds} s is used up; not run: ${notRun.join(', ')}`)
  }
  printSlowest(msByFile)
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
  const { passed, failed, skipped } = count
  console.log(`   ${name}: ${passed} passed, ${failed} failed, ${skipped} skipped in ${seconds} s`)
  return count
}

/** @param nameOf the path of a file inside the suite, without `.test` */
function ordered(
  { alone = [], first = [] }: Suite,
  files: readonly string[],
  nameOf: (file: string) => string,
): { readonly alone: readonly string[]; readonly others: readonly string[] } {
  const rank = (file: string): number => {
    const at = first.indexOf(nameOf(file))
    return at < 0 ? first.length : at
  }
  return {
    alone: files.filter((file) => alone.includes(nameOf(file))),
    others: files.filter((file) => !alone.includes(nameOf(file))).toSorted((a, b) => rank(a) - rank(b)),
  }
}

async function inParallel(
  files: readonly string[],
  lanes: number,
  one: (file: string) => Promise<void>,
): Promise<void> {
  const rest = [...files]
  const lane = async (): Promise<void> => {
    for (let file = rest.shift(); file !== undefined; file = rest.shift()) await one(file)
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}

function printResult(file: string, { skipped, failures }: FileResult): void {
  for (const { test, why } of skipped) console.log(`  skipped ${file}: ${test}: ${why}`)
  for (const { test, why } of failures)
    console.log(`  FAILED ${file}${test === null ? '' : `: ${test}`}\n${why.replace(/^/gm, '    ')}`)
}

/** Where the time of a suite goes, as far as single files take seconds of it. */
function printSlowest(msByFile: ReadonlyMap<string, number>): void {
  const slowest = [...msByFile].filter(([, ms]) => ms >= slowMs).toSorted(([, a], [, b]) => b - a)
  if (slowest.length === 0) return
  const words = slowest.slice(0, slowestPrinted).map(([file, ms]) => `${file} ${(ms / 1000).toFixed(0)} s`)
  console.log(`  longest: ${words.join(', ')}`)
}
