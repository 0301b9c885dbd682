/* Runs the suites one after another: see `usage`. */
import { setMaxListeners } from 'node:events'
import { readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, relative } from 'node:path'
import { run } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { NotUnderstood, runCommand } from './support/command-line.ts'

type Suite = {
  readonly name: string
  readonly budgetSeconds: number
  /** Test files at a time; suites of real processes take the machine for themselves. */
  readonly parallel: number
  readonly question: string
}

const cores = availableParallelism()

const suites: readonly Suite[] = [
  { name: 'tidy', budgetSeconds: 60, parallel: 1, question: 'does the code keep its own manners?' },
  { name: 'unit', budgetSeconds: 240, parallel: cores, question: 'does each piece do what its page says?' },
  {
    name: 'scenario',
    budgetSeconds: 60,
    parallel: 1,
    question: 'does consensus act as its transcripts say?',
  },
  { name: 'conformance', budgetSeconds: 180, parallel: cores, question: 'is every filling of a port alike?' },
  { name: 'model', budgetSeconds: 120, parallel: cores, question: 'does the store agree with a naive one?' },
  {
    name: 'simulation',
    budgetSeconds: 300,
    parallel: 1,
    question: 'does a whole cluster survive its seeds?',
  },
  { name: 'mutants', budgetSeconds: 480, parallel: 1, question: 'do the tests notice deliberate mistakes?' },
  { name: 'integration', budgetSeconds: 240, parallel: cores, question: 'do the rooms work together?' },
  { name: 'e2e', budgetSeconds: 1200, parallel: 1, question: 'do real processes serve real clients?' },
]

const longSuites: readonly Suite[] = [
  // An hour where nothing else runs.
  { name: 'long', budgetSeconds: 5400, parallel: 1, question: 'does it hold for an hour?' },
]

const usage = `
Runs the suites one after another, each within its budget, printing as it goes. A budget that is exceeded, a failing
test, or a suite in which no test ran fails the whole.

  node dist/test/run.js                 every suite of make test
  node dist/test/run.js unit scenario   only these
  node dist/test/run.js --only raft     files whose path contains "raft"
  node dist/test/run.js --long          the suites of make test-long

Suites: ${suites.map(({ name }) => name).join(', ')}.
Ends with 1 when something failed, with 2 when it was not understood.
`

const testRoot = fileURLToPath(new URL('.', import.meta.url))

function testFilesUnder(folder: string): string[] {
  const files: string[] = []
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) files.push(...testFilesUnder(path))
    else if (entry.name.endsWith('.test.js')) files.push(path)
  }
  return files.sort()
}

type Count = { passed: number; failed: number; skipped: number }

function printFailure(name: string, error: unknown): void {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
  const text = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)
  console.log(`  FAILED ${name}\n${text.replace(/^/gm, '    ')}`)
}

/** Where the time of a suite goes, as far as single files take seconds of it. */
function printSlowest(msByFile: ReadonlyMap<string, number>): void {
  const slowest = [...msByFile].filter(([, ms]) => ms >= SLOW_MS).toSorted(([, a], [, b]) => b - a)
  if (slowest.length === 0) return
  const words = slowest.slice(0, 12).map(([file, ms]) => {
    return `${relative(testRoot, file).replace(/\.test\.js$/, '')} ${(ms / 1000).toFixed(0)} s`
  })
  console.log(`  longest: ${words.join(', ')}`)
}

const SLOW_MS = 5000

async function runSuite(suite: Suite, files: readonly string[]): Promise<Count> {
  const count: Count = { passed: 0, failed: 0, skipped: 0 }
  const startedMs = performance.now()
  console.log(
    `\n== ${suite.name}: ${suite.question} (${files.length} files, budget ${suite.budgetSeconds} s)`,
  )
  const stopper = new AbortController()
  // Every file of a suite listens.
  setMaxListeners(0, stopper.signal)
  const alarm = setTimeout(() => {
    console.log(`  FAILED the budget of ${suite.budgetSeconds} s is used up`)
    count.failed++
    stopper.abort()
  }, suite.budgetSeconds * 1000)

  const stream = run({
    files: [...files],
    concurrency: suite.parallel,
    timeout: suite.budgetSeconds * 1000,
    signal: stopper.signal,
  })
  const msByFile = new Map<string, number>()
  const note = (file: string | undefined, nesting: number, ms: number): void => {
    if (file !== undefined && nesting === 0) msByFile.set(file, (msByFile.get(file) ?? 0) + ms)
  }
  await new Promise<void>((resolve, reject) => {
    stream.on('test:pass', (event) => {
      note(event.file, event.nesting, event.details.duration_ms)
      if (event.details.type === 'suite') return
      if (event.name.endsWith('.test.js')) {
        // Only a file in which nothing ran is reported by itself.
        count.failed++
        console.log(`  FAILED ${relative(testRoot, event.name)} ran no test`)
      } else if (event.skip !== undefined && event.skip !== false) {
        count.skipped++
        console.log(`  skipped ${event.name}: ${String(event.skip)}`)
      } else count.passed++
    })
    stream.on('test:fail', (event) => {
      note(event.file, event.nesting, event.details.duration_ms)
      if (event.details.type === 'suite') return
      const error: unknown = event.details.error
      const failedBelow =
        error instanceof Error && 'failureType' in error && error.failureType === 'subtestsFailed'
      if (failedBelow) return
      count.failed++
      printFailure(`${relative(testRoot, event.file ?? '')}: ${event.name}`, error)
    })
    stream.on('test:stdout', (event) => {
      for (const line of event.message.split('\n'))
        if (line.startsWith('# ')) console.log(`  ${line.slice(2)}`)
    })
    stream.on('test:stderr', (event) => process.stderr.write(event.message))
    stream.on('end', resolve)
    stream.on('error', reject)
    stream.resume()
  }).finally(() => clearTimeout(alarm))

  printSlowest(msByFile)
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
  console.log(
    `   ${suite.name}: ${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped in ${seconds} s`,
  )
  return count
}

/** Suites with the files of them that are to run. @throws NotUnderstood, or what `parseArgs` throws */
function chosen(
  args: readonly string[],
): readonly { readonly suite: Suite; readonly files: readonly string[] }[] {
  const { values, positionals: wanted } = parseArgs({
    args: [...args],
    options: { only: { type: 'string' }, long: { type: 'boolean' } },
    allowPositionals: true,
  })
  const { only = '', long = false } = values
  const all = long ? longSuites : suites
  const unknown = wanted.filter((name) => !all.some((suite) => suite.name === name))
  if (unknown.length > 0) {
    const known = all.map((suite) => suite.name).join(', ')
    throw new NotUnderstood(`no suite ${unknown.join(', ')}; there are ${known}`)
  }
  const runs = all
    .filter(({ name }) => wanted.length === 0 || wanted.includes(name))
    .map((suite) => ({
      suite,
      files: testFilesUnder(join(testRoot, suite.name)).filter((file) => file.includes(only)),
    }))
  const filled = runs.filter(({ files }) => files.length > 0)
  if (filled.length === 0) throw new NotUnderstood(`--only ${only}: no test file has that in its path`)
  if (only !== '') return filled
  for (const { suite, files } of runs)
    if (files.length === 0) throw new Error(`suite ${suite.name} has no test files`)
  return runs
}

async function main(args: readonly string[]): Promise<number> {
  const total: Count = { passed: 0, failed: 0, skipped: 0 }
  for (const { suite, files } of chosen(args)) {
    const count = await runSuite(suite, files)
    total.passed += count.passed
    total.failed += count.failed
    total.skipped += count.skipped
  }
  console.log(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`)
  return total.failed === 0 && total.passed > 0 ? 0 : 1
}

process.exitCode = await runCommand(usage, main)
