/* Runs the suites one after another: see `usage`. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { killMarked, markOf } from './runner/marked-processes.ts'
import { runSuite, stepsOf } from './runner/run-suite.ts'
import type { SuiteRun } from './runner/run-suite.ts'
import { fastFiles, longSuites, suites, wholeSeconds } from './runner/suites.ts'
import { NotUnderstood, runCommand } from './support/tools/command-line.ts'

const usage = `
Runs the suites one after another, each within its budget and all of make test within ${wholeSeconds / 60} minutes, printing as
it goes. Files of e2e that must not be disturbed run with the simulation, which yields to them. A budget that is exceeded, a
failing test, a file that does not end or leaves processes behind, or one in which no test ran fails the whole; the others
run. What there was no time for is named, and fails.

  node dist/test/run.js                 every suite of make test
  node dist/test/run.js unit scenario   only these
  node dist/test/run.js --only raft     files whose path contains "raft"
  node dist/test/run.js --fast          the files of make test-fast, in under a minute
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

/**
 * Suites with the files of them that are to run. @throws NotUnderstood, or what `parseArgs` throws
 */
function chosen(args: readonly string[]): readonly SuiteRun[] {
  const { values, positionals: wanted } = parseArgs({
    args: [...args],
    options: { only: { type: 'string' }, long: { type: 'boolean' }, fast: { type: 'boolean' } },
    allowPositionals: true,
  })
  const { only = '', long = false, fast = false } = values
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
      files: testFilesUnder(join(testRoot, suite.name)).filter(
        (file) => file.includes(only) && (!fast || isFast(file)),
      ),
    }))
  const filled = runs.filter(({ files }) => files.length > 0)
  if (filled.length === 0) throw new NotUnderstood(`--only ${only}: no test file has that in its path`)
  if (only !== '' || fast) return filled
  for (const { suite, files } of runs)
    if (files.length === 0) throw new Error(`suite ${suite.name} has no test files`)
  return runs
}

function isFast(file: string): boolean {
  const isExcepted = fastFiles.except.some((path) => file.endsWith(`${path}.test.js`))
  return !isExcepted && fastFiles.paths.some((path) => file.includes(path))
}

async function main(args: readonly string[]): Promise<number> {
  const total = { passed: 0, failed: 0, skipped: 0 }
  const endMs = performance.now() + wholeSeconds * 1000
  const run = async ({ suite, files }: SuiteRun, isAlone: boolean): Promise<void> => {
    const leftSeconds = Math.max(0, Math.floor((endMs - performance.now()) / 1000))
    const budgetSeconds = suites.includes(suite)
      ? Math.min(suite.budgetSeconds, leftSeconds)
      : suite.budgetSeconds
    const yields = !isAlone && suite.yields === true
    const count = await runSuite({ suite: { ...suite, budgetSeconds, yields }, files }, testRoot)
    total.passed += count.passed
    total.failed += count.failed
    total.skipped += count.skipped
  }
  for (const together of stepsOf(chosen(args), testRoot))
    await Promise.all(together.map((one) => run(one, together.length === 1)))
  console.log(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`)
  return total.failed === 0 && total.passed > 0 ? 0 : 1
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    killMarked(markOf())
    process.exit(1)
  })
}
process.exitCode = await runCommand(usage, main)
