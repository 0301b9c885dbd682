import { closeSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { buildInfo } from '../build-info.ts'
import { compare } from '../../bench/tool/compare.ts'
import { BenchError } from '../../bench/tool/errors.ts'
import { benchLimits } from '../../bench/tool/limits.ts'
import type { HttpVersion, Workload } from '../../bench/tool/load.ts'
import { benchDefaults } from '../../bench/tool/options.ts'
import { pageOf } from '../../bench/tool/page.ts'
import { quickSelection, wholeSelection } from '../../bench/tool/plan.ts'
import type { Selection } from '../../bench/tool/plan.ts'
import { jsonOf, parseResults } from '../../bench/tool/report.ts'
import type { BenchReport, Results } from '../../bench/tool/report.ts'
import { runBench } from '../../bench/tool/run.ts'
import { markdownOf, textOf } from '../../bench/tool/tables.ts'
import { MachineClock } from '../host/machine-clock.ts'
import { resolveEndpoints } from '../credentials/endpoint.ts'
import type { Endpoint } from '../credentials/endpoint.ts'
import { localServers } from './bench-local.ts'
import { CliError, exitCodes, fileErrorReason } from './errors.ts'
import { onInterrupt } from './interrupts.ts'
import { formatTable } from './terminal.ts'
import type { Terminal } from './terminal.ts'
import { verifyEndpoints } from './verify-endpoints.ts'
import type { EndpointFlags } from './verify-endpoints.ts'

export type BenchFlags = EndpointFlags & {
  readonly dir: string
  readonly yes?: boolean
  readonly quick?: boolean
  readonly only?: readonly Workload[]
  readonly seconds?: number
  readonly rounds?: number
  readonly http?: readonly HttpVersion[]
  readonly clients?: readonly number[]
  readonly sizes?: readonly number[]
  readonly lists?: readonly number[]
  readonly page?: number
  readonly watchers?: readonly number[]
  readonly bounds?: readonly number[]
  readonly threads?: number
  readonly json?: string
  readonly html?: string
  readonly compare?: readonly string[]
  readonly output: 'table' | 'json' | 'markdown'
}

/**
 * Runs the benchmarks, or compares results.
 *
 * @returns the exit code
 * @throws CliError, BenchError
 */
export async function bench(terminal: Terminal, flags: BenchFlags, processors: number): Promise<number> {
  if (flags.compare !== undefined) return compared(terminal, flags.compare)
  // Fails before the run if a file cannot be written.
  for (const path of [flags.html, flags.json]) if (path !== undefined) closeSync(openSync(path, 'a'))
  const endpoints = verifyEndpoints(flags)
  // Fails before the run if a plugin does not work.
  await resolveEndpoints(endpoints)
  const local = localServers(terminal, flags.dir, endpoints)
  if (local === null && flags.yes !== true) await confirm(endpoints)
  const stop = new AbortController()
  // A second interrupt ends the program and leaves its namespaces behind.
  const ended = onInterrupt(terminal.clock, () => {
    terminal.note('interrupted: ending and removing the namespaces')
    stop.abort()
  })
  const defaults = flags.quick === true ? benchDefaults.quick : benchDefaults.whole
  try {
    const report = await runBench(
      {
        ...{ endpoints, local, selection: selectionOf(flags), threads: flags.threads ?? processors },
        ...{ seconds: flags.seconds ?? defaults.seconds, rounds: flags.rounds ?? defaults.rounds },
        ...{ commit: buildInfo().gitCommit.slice(0, 12), signal: stop.signal, note: terminal.note },
      },
      { clock: new MachineClock(), random: terminal.random },
    )
    printReport(terminal, flags, report)
  } finally {
    ended()
  }
  return stop.signal.aborted ? exitCodes.failed : exitCodes.done
}

function selectionOf(flags: BenchFlags): Selection {
  const all = flags.quick === true ? quickSelection : wholeSelection
  return {
    workloads: flags.only ?? all.workloads,
    http: flags.http ?? all.http,
    clients: flags.clients ?? all.clients,
    sizes: flags.sizes ?? all.sizes,
    lists: flags.lists ?? all.lists,
    page: flags.page ?? all.page,
    watchers: flags.watchers ?? all.watchers,
    bounds: flags.bounds ?? all.bounds,
  }
}

/**
 * Asks before a load test of a cluster that is not the one of `--dir`.
 *
 * @throws CliError `usage`
 */
async function confirm(endpoints: readonly Endpoint[]): Promise<void> {
  const names = endpoints.map(({ url }) => url).join(', ')
  const refusal = new CliError(
    'usage',
    `${names}: not a cluster of --dir; use --yes to run the load test anyway`,
  )
  if (!process.stdin.isTTY || !process.stderr.isTTY) throw refusal
  const prompt = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const answer = await prompt.question(`Run a load test at full rate against ${names}? [y/N] `)
    if (!/^y(es)?$/i.test(answer.trim())) throw refusal
  } finally {
    prompt.close()
  }
}

function printReport(terminal: Terminal, flags: BenchFlags, report: BenchReport): void {
  if (flags.json !== undefined) writeFileSync(flags.json, `${jsonOf(report)}\n`)
  if (flags.html !== undefined) writeFileSync(flags.html, pageOf(report))
  switch (flags.output) {
    case 'json':
      terminal.print(jsonOf(report))
      break
    case 'markdown':
      for (const line of markdownOf(report)) terminal.print(line)
      break
    case 'table':
      for (const line of textOf(report, formatTable)) terminal.print(line)
  }
}

function compared(terminal: Terminal, files: readonly string[]): number {
  const [first, second, ...more] = files
  if (first === undefined || second === undefined || more.length > 0)
    throw new CliError('usage', '--compare takes two files, of the run before and of the one after')
  const [before, after] = [resultsOf(first), resultsOf(second)]
  const { rows, alone } = compare(before, after)
  if (rows.length === 1) throw new CliError('usage', `${first} and ${second} have no load in common`)
  terminal.print(
    `${basename(second)} (commit ${after.commit}) divided by ${basename(first)} (commit ${before.commit})`,
  )
  terminal.print('+ better, - worse: the rounds of the two do not overlap')
  for (const line of formatTable(rows)) terminal.print(line)
  if (alone.length > 0) terminal.note(`in one of them only: ${alone.join('; ')}`)
  return exitCodes.done
}

/** @throws CliError `usage` */
function resultsOf(path: string): Results {
  try {
    if (statSync(path).size > benchLimits.resultsBytesMax) throw new CliError('usage', `${path} is too large`)
    return parseResults(readFileSync(path, 'utf8'), path)
  } catch (cause) {
    if (cause instanceof BenchError) throw new CliError('usage', cause.message, { cause })
    if (!(cause instanceof Error) || !('code' in cause)) throw cause
    const remedy = 'give files that --json wrote'
    throw new CliError('usage', `cannot read ${path} (${fileErrorReason(cause)}): ${remedy}`, { cause })
  }
}
