import { setMaxListeners } from 'node:events'
import { relative } from 'node:path'
import { runFiles } from './run-files.ts'
import type { FileResult } from './run-files.ts'
import type { Suite } from './suites.ts'

export type Count = { readonly passed: number; readonly failed: number; readonly skipped: number }

const slowMs = 5000
const slowestPrinted = 12

/** Files of a suite that are to run. */
export type SuiteRun = { readonly suite: Suite; readonly files: readonly string[] }

/**
 * Returns the order of runs: those of one step run at the same time. A suite that yields runs at
 * the same time as the files that a suite after it runs alone.
 *
 * @param folder the base of printed paths
 */
export function stepsOf(runs: readonly SuiteRun[], folder: string): readonly (readonly SuiteRun[])[] {
  const at = runs.findIndex(({ suite }) => suite.yields === true)
  const [before, later] = [runs.slice(0, at + 1), runs.slice(at + 1)]
  const parted = later.map(({ suite, files }) => {
    const isAlone = (file: string): boolean => suite.alone?.includes(nameIn(suite, file, folder)) ?? false
    return {
      alone: { suite, files: files.filter(isAlone) },
      rest: { suite, files: files.filter((file) => !isAlone(file)) },
    }
  })
  const [alone, ...others] = parted.map((part) => part.alone).filter(({ files }) => files.length > 0)
  // Files that run alone run one at a time, so those of one suite only.
  if (at < 0 || alone === undefined || others.length > 0) return runs.map((run) => [run])
  const rests = parted.map(({ rest }) => rest).filter(({ files }) => files.length > 0)
  return [
    ...before.slice(0, -1).map((run) => [run]),
    [...before.slice(-1), alone],
    ...rests.map((run) => [run]),
  ]
}

/** Returns the path of a file inside its suite, without `.test`. */
function nameIn({ name }: Suite, file: string, folder: string): string {
  return shortOf(file, folder).slice(name.length + 1)
}

function shortOf(file: string, folder: string): string {
  return relative(folder, file).replace(/\.test\.js$/, '')
}

/**
 * Runs these files of a suite within its budget, and prints the progress.
 *
 * @param folder the base of printed paths
 */
export async function runSuite({ suite, files }: SuiteRun, folder: string): Promise<Count> {
  const startedMs = performance.now()
  const { name, question, budgetSeconds, fileSeconds, yields = false } = suite
  console.log(`\n== ${name}: ${question} (${files.length} files, budget ${budgetSeconds} s)`)
  const short = (file: string): string => shortOf(file, folder)
  const count = { passed: 0, failed: 0, skipped: 0 }
  const msByFile = new Map<string, number>()
  const stopper = new AbortController()
  // Each process that runs files adds a listener.
  setMaxListeners(0, stopper.signal)
  const alarm = setTimeout(() => stopper.abort(), budgetSeconds * 1000)
  const notRun: string[] = []
  const run = async (together: readonly string[]): Promise<void> => {
    if (stopper.signal.aborted) {
      notRun.push(...together.map(short))
      return
    }
    const label = together.length === 1 ? together.map(short).join() : name
    const say = (line: string): void => console.log(`  ${label}: ${line}`)
    const options = { seconds: fileSeconds, yields, signal: stopper.signal, say }
    for (const result of await runFiles(together, options)) {
      const path = short(result.file)
      msByFile.set(path, result.ms)
      count.passed += result.passed
      count.skipped += result.skipped.length
      count.failed += result.failures.length
      printResult(path, result)
    }
  }
  const { alone, others } = ordered(suite, files, (file) => nameIn(suite, file, folder))
  await inParallel(inGroups(alone, 1), 1, run)
  await inParallel(inGroups(others, suite.perProcess ?? 1), suite.parallel, run)
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

function inGroups(files: readonly string[], size: number): readonly (readonly string[])[] {
  const groups: (readonly string[])[] = []
  for (let at = 0; at < files.length; at += size) groups.push(files.slice(at, at + size))
  return groups
}

async function inParallel(
  groups: readonly (readonly string[])[],
  lanes: number,
  run: (files: readonly string[]) => Promise<void>,
): Promise<void> {
  const rest = [...groups]
  const lane = async (): Promise<void> => {
    for (let group = rest.shift(); group !== undefined; group = rest.shift()) await run(group)
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}

function printResult(file: string, { skipped, failures }: FileResult): void {
  for (const { test, why } of skipped) console.log(`  skipped ${nameOf(file, test)}: ${why}`)
  for (const { test, why } of failures)
    console.log(`  FAILED ${nameOf(file, test)}\n${why.replace(/^/gm, '    ')}`)
}

function nameOf(file: string, test: string | null): string {
  return test === null ? file : `${file}: ${test}`
}

/** Prints the longest files of a suite, of those that took at least `slowMs`. */
function printSlowest(msByFile: ReadonlyMap<string, number>): void {
  const slowest = [...msByFile].filter(([, ms]) => ms >= slowMs).toSorted(([, a], [, b]) => b - a)
  if (slowest.length === 0) return
  const words = slowest.slice(0, slowestPrinted).map(([file, ms]) => `${file} ${(ms / 1000).toFixed(0)} s`)
  console.log(`  longest: ${words.join(', ')}`)
}
