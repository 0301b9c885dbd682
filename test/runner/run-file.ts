import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { killMarked, markOf, markedProcesses } from './marked-processes.ts'
import { markVariable } from '../../fixtures/port-range.ts'
import type { Marked } from './marked-processes.ts'
import type { TestReport } from './reporter.ts'

export type FileOptions = {
  /** Time limit: the file is ended then, with all processes that it started. */
  readonly seconds: number
  /** Time in ms that processes which it started may still need to end after the file. */
  readonly graceMs?: number
  /** Ends the file early. */
  readonly signal: AbortSignal
  /** Called with each line that the file prints after `# `. */
  readonly say: (line: string) => void
}

export type FileResult = {
  readonly passed: number
  readonly skipped: readonly { readonly test: string; readonly why: string }[]
  /** `test` is null where the file as a whole failed. */
  readonly failures: readonly { readonly test: string | null; readonly why: string }[]
  readonly ms: number
}

/** The reason for which the runner ended it. */
type Cut = 'overdue' | 'stopped' | null

const reporter = new URL('./reporter.js', import.meta.url).href
let filesRun = 0

/**
 * Runs a test file in its own process and ends it with all processes that it started, also when a
 * test waits forever, blocks the thread, or leaves work behind after the last test.
 */
export async function runFile(
  file: string,
  { seconds, graceMs = defaultGraceMs, signal, say }: FileOptions,
): Promise<FileResult> {
  const beganMs = performance.now()
  const scratch = mkdtempSync(join(tmpdir(), 'test-file-'))
  const report = join(scratch, 'report')
  const mark = markOf(filesRun++)
  const env: NodeJS.ProcessEnv = { ...process.env, [markVariable]: mark }
  // Else it would report to the test that started us.
  delete env['NODE_TEST_CONTEXT']
  const words = [`--test-reporter=${reporter}`, `--test-reporter-destination=${report}`, file]
  const child = spawn(process.execPath, words, { env, stdio: ['ignore', 'pipe', 'inherit'] })
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
    // A remaining process may hold the output of the file open.
    killMarked(mark)
    await closed
    const reports = existsSync(report) ? readFileSync(report, 'utf8').split('\n').filter(Boolean) : []
    const ended = { cut, seconds, code: code ?? killedBy, left }
    return {
      ...judged(
        reports.map((line) => JSON.parse(line) as TestReport),
        ended,
      ),
      ms: performance.now() - beganMs,
    }
  } finally {
    clearTimeout(alarm)
    signal.removeEventListener('abort', stop)
    rmSync(scratch, { recursive: true, force: true })
  }
}

/** Long, because processes end slowly on a busy machine. */
const defaultGraceMs = 15_000

/** Returns the processes that still run some time after the end of the file. */
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
}

function judged(reports: readonly TestReport[], ended: Ended): Omit<FileResult, 'ms'> {
  const skipped = reports.filter((one) => one.kind === 'skipped')
  const failed = reports.filter((one) => one.kind === 'failed')
  const passed = reports.filter(({ kind }) => kind === 'passed').length
  const testsEnded = skipped.length + failed.length + passed
  const asAWhole = wholeFailure(reports, ended, { testsEnded, failed: failed.length })
  return {
    passed,
    skipped,
    failures: [...failed, ...asAWhole.map((why) => ({ test: null, why }))],
  }
}

function wholeFailure(
  reports: readonly TestReport[],
  { cut, seconds, code, left }: Ended,
  { testsEnded, failed }: { readonly testsEnded: number; readonly failed: number },
): readonly string[] {
  const open = lastOpen(reports)
  const where = open !== null ? `in "${open}"` : `behind all of its ${testsEnded} tests`
  if (cut === 'overdue') return [`it did not end within ${seconds} s, and was ended ${where}`]
  if (cut === 'stopped') return [`it was ended ${where}: the time of its suite was used up`]
  const failures = left.map(({ pid, command }) => `it left a process behind: ${pid}, ${command}`)
  if (code !== 0 && failed === 0) return [...failures, `it ended with ${code}`]
  return testsEnded === 0 ? [...failures, 'it ran no test'] : failures
}

/** The test that began last of those that have not ended. */
function lastOpen(reports: readonly TestReport[]): string | null {
  const open: string[] = []
  for (const { kind, test } of reports) {
    const at = open.lastIndexOf(test)
    if (kind === 'begun') open.push(test)
    else if (at >= 0) open.splice(at, 1)
  }
  return open.at(-1) ?? null
}
