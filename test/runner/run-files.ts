import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { setPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { killMarked, markOf, markedProcesses } from './marked-processes.ts'
import { markVariable } from '../../fixtures/port-range.ts'
import type { Marked } from './marked-processes.ts'
import type { TestReport } from './reporter.ts'

export type FileOptions = {
  /**
   * Time limit of all files together. They are ended then, with all processes that they started.
   */
  readonly seconds: number
  /** Ms for which processes that the files started may still run when the files have ended. */
  readonly graceMs?: number
  /** The files, and the processes that they start, yield the processors to all other processes. */
  readonly yields?: boolean
  /** Ends the files early. */
  readonly signal: AbortSignal
  /** Called with the text after `# ` of each line that the files print with this prefix. */
  readonly say: (line: string) => void
}

export type FileResult = {
  readonly file: string
  readonly passed: number
  readonly skipped: readonly { readonly test: string | null; readonly why: string }[]
  /** `test` is null where the file as a whole failed. */
  readonly failures: readonly { readonly test: string | null; readonly why: string }[]
  readonly ms: number
}

/** The reason for which the runner ended the process; null: it ended by itself. */
type Cut = 'overdue' | 'stopped' | null

const reporter = new URL('./reporter.js', import.meta.url).href
const loader = fileURLToPath(new URL('./load-files.js', import.meta.url))
let processesStarted = 0
/** As of nice(1). */
const lowestPriority = 19

/**
 * Runs test files one after another in a process of their own and ends it with all processes that
 * they started, also when a test waits forever, blocks the thread, or leaves work behind after the
 * last test.
 *
 * @returns the results in the order of the files
 */
export async function runFiles(
  files: readonly string[],
  { seconds, graceMs = defaultGraceMs, yields = false, signal, say }: FileOptions,
): Promise<readonly FileResult[]> {
  const beganMs = performance.now()
  const scratch = mkdtempSync(join(tmpdir(), 'test-file-'))
  const reportFile = join(scratch, 'report')
  const mark = markOf(processesStarted++)
  const env: NodeJS.ProcessEnv = { ...process.env, [markVariable]: mark }
  // With it the process would report to the test that started this one.
  delete env['NODE_TEST_CONTEXT']
  const words = [`--test-reporter=${reporter}`, `--test-reporter-destination=${reportFile}`]
  const child = spawn(process.execPath, [...words, loader, ...files], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (yields && child.pid !== undefined) setPriority(child.pid, lowestPriority)
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line.startsWith('# ')) say(line.slice(2))
  })
  let cut: Cut = null
  const end = (why: Cut): void => {
    cut ??= why
    child.kill('SIGKILL')
    killMarked(mark)
  }
  const stop = (): void => end('stopped')
  const alarm = setTimeout(() => end('overdue'), seconds * 1000)
  signal.addEventListener('abort', stop, { once: true })
  const closed = once(child, 'close')
  try {
    if (signal.aborted) stop()
    const [code, killedBy] = (await once(child, 'exit')) as [number | null, string | null]
    const left = cut === null ? await leftBehind(mark, graceMs) : []
    // A remaining process may hold the output of the files open.
    killMarked(mark)
    await closed
    const ended = { cut, seconds, code: code ?? killedBy, left, ms: performance.now() - beganMs }
    return judged(files, reportsIn(reportFile), ended)
  } finally {
    clearTimeout(alarm)
    signal.removeEventListener('abort', stop)
    rmSync(scratch, { recursive: true, force: true })
  }
}

function reportsIn(path: string): readonly TestReport[] {
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : []
  return lines.map((line) => JSON.parse(line) as TestReport)
}

/** Long, because processes end slowly on a busy machine. */
const defaultGraceMs = 15_000

/** Returns the processes that still run some time after the end of the files. */
async function leftBehind(mark: string, graceMs: number): Promise<readonly Marked[]> {
  const endMs = performance.now() + graceMs
  let left = markedProcesses(mark)
  while (left.length > 0 && performance.now() < endMs) {
    await sleep(50)
    left = markedProcesses(mark)
  }
  return left
}

type Ended = {
  readonly cut: Cut
  readonly seconds: number
  readonly code: number | string | null
  readonly left: readonly Marked[]
  readonly ms: number
}

function judged(
  files: readonly string[],
  reports: readonly TestReport[],
  ended: Ended,
): readonly FileResult[] {
  const isFailed = reports.some(({ kind }) => kind === 'failed')
  const lastBegun = reports.findLast(({ kind }) => kind === 'begun')?.file ?? files[0]
  return files.map((file) => {
    const own = reports.filter((one) => one.file === file)
    const skipped = own.filter((one) => one.kind === 'skipped')
    const failed = own.filter((one) => one.kind === 'failed')
    const passed = own.filter(({ kind }) => kind === 'passed').length
    const whole = own.find((one) => one.kind === 'group' && one.test === null)
    const ownMs = whole?.kind === 'group' ? whole.ms : 0
    // Failures of the process are reported with the file that it ran last.
    const ofProcess = file === lastBegun ? processFailures(own, ended, isFailed) : []
    const asAWhole = ofProcess.length > 0 ? ofProcess : fileFailures(own, ended)
    return {
      file,
      passed,
      skipped,
      failures: [...failed, ...asAWhole.map((why) => ({ test: null, why }))],
      // The time of a single file includes loading it.
      ms: files.length === 1 ? ended.ms : ownMs,
    }
  })
}

/** @param isFailed a test failed in the process, so that its exit code is not another failure */
function processFailures(
  ofFile: readonly TestReport[],
  { cut, seconds, code, left }: Ended,
  isFailed: boolean,
): readonly string[] {
  const open = lastOpen(ofFile)
  const where = open !== null ? `in "${open}"` : `after all of its ${endedTests(ofFile)} tests`
  if (cut === 'overdue') return [`it did not end within ${seconds} s, and was ended ${where}`]
  if (cut === 'stopped') return [`it was ended ${where}: the time of its suite was used up`]
  const failures = left.map(({ pid, command }) => `it left a process behind: ${pid}, ${command}`)
  return code !== 0 && !isFailed
    ? [...failures, `it ended${open === null ? '' : ` in "${open}"`} with ${code}`]
    : failures
}

function fileFailures(ofFile: readonly TestReport[], { cut }: Ended): readonly string[] {
  if (endedTests(ofFile) > 0) return []
  return [cut === null ? 'it ran no test' : 'it did not begin: a file before it used up the time']
}

/** @returns how many tests ended */
function endedTests(reports: readonly TestReport[]): number {
  return reports.filter(({ kind }) => kind === 'passed' || kind === 'skipped' || kind === 'failed').length
}

/** Returns the test that began last among those that have not ended. */
function lastOpen(reports: readonly TestReport[]): string | null {
  const open: string[] = []
  for (const { kind, test } of reports) {
    if (test === null) continue
    const at = open.lastIndexOf(test)
    if (kind === 'begun') open.push(test)
    else if (at >= 0) open.splice(at, 1)
  }
  return open.at(-1) ?? null
}
