import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { markVariable } from '../../fixtures/port-range.ts'
import { killMarked, markOf } from '../runner/marked-processes.ts'
import { isEvidence, oneLine } from './evidence.ts'
import type { Finding } from './evidence.ts'
import type { Copy } from './copy.ts'
import type { Check } from './mutant.ts'
import type { Report } from './reporter.ts'

export type Verdict =
  | { readonly kind: 'passed'; readonly tests: number }
  | { readonly kind: 'failed'; readonly finding: Finding }
  /** No result: the program did not load, or did not end. */
  | { readonly kind: 'void'; readonly why: string; readonly timedOut?: true }

/**
 * Time limit of one check on the wall clock. It only ends checks that hang; their result is void.
 */
const patienceMs = 240_000

export type CheckOptions = {
  /** Unset: `patienceMs`. */
  readonly endAfterMs?: number
  /** Added to the environment of the process. */
  readonly env?: NodeJS.ProcessEnv
}

/** Checked every 100 ms. Once it is true, the process is ended. Unset: the process ends itself. */
type Decision = { readonly isDecided?: () => boolean }

/** Runs `check` in `copy`, in a process of its own. */
export async function runCheck(check: Check, copy: Copy, options: CheckOptions = {}): Promise<Verdict> {
  return check.kind === 'tests' ? runTests(check, copy, options) : runSeeds(check, copy, options)
}

type TestsCheck = Extract<Check, { readonly kind: 'tests' }>

async function runTests({ file, title }: TestsCheck, copy: Copy, options: CheckOptions): Promise<Verdict> {
  const report = join(copy.directory, `report-${reports++}`)
  const program = join(copy.directory, 'dist/test', file.replace(/\.ts$/, '.js'))
  const reporter = pathToFileURL(join(copy.directory, 'dist/test/mutants/reporter.js')).href
  const only = title === undefined ? [] : [`--test-name-pattern=${literal(title)}`]
  const ended = await run(
    copy,
    [`--test-reporter=${reporter}`, `--test-reporter-destination=${report}`, ...only, program],
    // One finding decides: the other tests need not run.
    { ...options, isDecided: () => findingsIn(reportsIn(report)).some(isEvidence) },
  )
  if (ended.timedOut) return { kind: 'void', why: `${file} did not end`, timedOut: true }
  const ran = reportsIn(report)
  if (ran.length === 0) return { kind: 'void', why: `no test of ${file} ran: ${ended.errorText}` }
  return judged(findingsIn(ran), ended, ran.length)
}

/** Returns a regular expression for this text. */
function literal(text: string): string {
  return text.replaceAll(/[^\w ]/g, '\\$&')
}

let reports = 0

/** @param path of a report that may still be written: an incomplete last line is left out */
function reportsIn(path: string): readonly Report[] {
  if (!existsSync(path)) return []
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line) as Report)
}

function findingsIn(of: readonly Report[]): readonly Finding[] {
  return of.flatMap(({ finding }) => finding ?? [])
}

type SeedsCheck = Extract<Check, { readonly kind: 'seeds' }>

async function runSeeds({ from, to }: SeedsCheck, copy: Copy, options: CheckOptions): Promise<Verdict> {
  const program = join(copy.directory, 'dist/test/mutants/simulate.js')
  const ended = await run(copy, [program, String(from), String(to)], options)
  const line = ended.output.trim().split('\n').at(-1) ?? ''
  if (ended.timedOut) return { kind: 'void', why: 'the simulation did not end', timedOut: true }
  if (ended.code !== 0 || line === '') return { kind: 'void', why: ended.errorText }
  const finding = JSON.parse(line) as Finding | null
  return judged(finding === null ? [] : [finding], ended, to - from + 1)
}

function judged(findings: readonly Finding[], ended: Ended, count: number): Verdict {
  const evidence = findings.find(isEvidence)
  if (evidence !== undefined) return { kind: 'failed', finding: evidence }
  const [other] = findings
  if (other !== undefined) return { kind: 'void', why: `${other.error} in ${other.where}: ${other.message}` }
  return ended.code === 0 ? { kind: 'passed', tests: count } : { kind: 'void', why: ended.errorText }
}

type Ended = {
  readonly code: number | null
  readonly output: string
  readonly errorText: string
  readonly timedOut: boolean
}

let started = 0

function run(copy: Copy, args: readonly string[], options: CheckOptions & Decision): Promise<Ended> {
  const mark = markOf(started++)
  const env: NodeJS.ProcessEnv = { ...process.env, ...options.env, [markVariable]: mark }
  // Otherwise the process would report to the test runner of this process, or record the behavior
  // of a mutant as expected.
  delete env['NODE_TEST_CONTEXT']
  delete env['UPDATE']
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, {
      cwd: copy.directory,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let timedOut = false
    let output = ''
    let errors = ''
    const end = (): void => {
      child.kill('SIGKILL')
      killMarked(mark)
    }
    const alarm = setTimeout(() => {
      timedOut = true
      end()
    }, options.endAfterMs ?? patienceMs)
    const look = setInterval(() => {
      if (options.isDecided?.() !== true) return
      clearInterval(look)
      end()
    }, 100)
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output = kept(output + text)))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (errors = kept(errors + text)))
    child.on('error', reject)
    child.on('close', (code) => {
      clearTimeout(alarm)
      clearInterval(look)
      const errorText = oneLine(errors) || `ended with ${code}`
      resolve({ code, output, errorText, timedOut })
    })
  })
}

/** Returns the end of a long output. */
function kept(text: string): string {
  return text.length <= outputMax ? text : text.slice(-outputMax)
}

const outputMax = 100_000
