import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { VerifyError } from '../../tools/verify/errors.ts'
import { checkFaults, readFaults } from '../../tools/verify/faults.ts'
import type { Fault, History } from '../../tools/verify/history.ts'
import type { VerifyOptions } from '../../tools/verify/options.ts'
import { pageOf } from '../../tools/verify/page.ts'
import type { Progress } from '../../tools/verify/recorder.ts'
import { reportOf, textOf } from '../../tools/verify/report.ts'
import { runVerify, verifyHistory } from '../../tools/verify/run.ts'
import type { VerifyResult } from '../../tools/verify/run.ts'
import { resolveEndpoints } from '../credentials/endpoint.ts'
import { CredentialError } from '../credentials/errors.ts'
import { CliError, exitCodes } from './errors.ts'
import { onInterrupt } from './interrupts.ts'
import type { Format, Terminal } from './terminal.ts'
import { verifyEndpoints } from './verify-endpoints.ts'
import type { EndpointFlags } from './verify-endpoints.ts'

export type VerifyFlags = EndpointFlags & {
  readonly duration: number
  readonly clients: number
  readonly objects: number
  readonly rate: number
  readonly seed?: number
  readonly timeout: number
  readonly namespace?: string
  readonly save?: string
  readonly history?: string
  readonly balanced?: boolean
  readonly faults?: string
  readonly html?: string
  readonly output: Format
}

/** Exit codes: an anomaly is distinct from a run without a result. */
const verifyExitCodes = Object.freeze({
  ok: exitCodes.done,
  anomaly: exitCodes.failed,
  undecided: exitCodes.undecided,
})

const progressEveryMs = 5000

/** Records traffic and checks it, or checks a saved recording. @returns the exit code */
export async function verify(terminal: Terminal, flags: VerifyFlags): Promise<number> {
  try {
    return await verified(terminal, flags)
  } catch (cause) {
    // An invalid file is not an anomaly.
    const isExpected =
      cause instanceof CliError ||
      cause instanceof CredentialError ||
      (cause instanceof Error && 'syscall' in cause)
    if (!isExpected) throw cause
    terminal.note(`orchctl: ${cause.message}`)
    return exitCodes.usage
  }
}

async function verified(terminal: Terminal, flags: VerifyFlags): Promise<number> {
  // Fails before the run if a file cannot be written.
  for (const path of [flags.html, flags.save]) if (path !== undefined) closeSync(openSync(path, 'a', 0o600))
  const place = placeOf(flags)
  try {
    checkFaultsOf(flags)
    const result =
      flags.history === undefined ? await recorded(terminal, flags, place.path) : await read(flags)
    return report(terminal, flags, place, result)
  } catch (cause) {
    if (!(cause instanceof VerifyError)) throw cause
    terminal.note(`orchctl: ${cause.message}`)
    const isFile = cause.code === 'history' || cause.code === 'faults'
    return isFile ? exitCodes.usage : verifyExitCodes.undecided
  } finally {
    place.forget()
  }
}

type Place = {
  readonly path: string
  /** Whether the recording is to be kept. */
  keep: boolean
  readonly forget: () => void
}

/** Path of the recording: without --save it is kept only if it shows an anomaly. */
function placeOf({ save, history }: VerifyFlags): Place {
  if (history !== undefined || save !== undefined) {
    if (history !== undefined && save !== undefined)
      throw new CliError(
        'usage',
        '--save is for a new recording and --history for a saved one: give one of them',
      )
    return { path: save ?? history ?? '', keep: true, forget: () => undefined }
  }
  const directory = mkdtempSync(join(tmpdir(), 'orchctl-verify-'))
  const place: Place = {
    path: join(directory, 'history.jsonl'),
    keep: false,
    forget: () => {
      if (!place.keep) rmSync(directory, { recursive: true, force: true })
    },
  }
  return place
}

function read({ history = '', balanced = false }: VerifyFlags): Promise<VerifyResult> {
  return verifyHistory(history, { balanced })
}

async function recorded(terminal: Terminal, flags: VerifyFlags, history: string): Promise<VerifyResult> {
  const { clock, random } = terminal
  const endpoints = verifyEndpoints(flags)
  // Fails before the run if a plugin does not work.
  await resolveEndpoints(endpoints)
  const seed = flags.seed ?? random.below(2 ** 31)
  terminal.note(
    `${endpoints.map(({ name }) => name).join(', ')}: ${flags.duration / 1000} s of traffic, seed ${seed}`,
  )
  const stop = new AbortController()
  const ended = onInterrupt(clock, () => {
    terminal.note('interrupted: ending the traffic, checking what was recorded, and removing the namespace')
    stop.abort()
  })
  try {
    const options: VerifyOptions = {
      ...{ endpoints, history, seed, durationMs: flags.duration, timeoutMs: flags.timeout },
      ...{
        clients: flags.clients,
        objects: flags.objects,
        rate: flags.rate,
        balanced: flags.balanced === true,
      },
      ...{ namespace: flags.namespace ?? null, signal: stop.signal, onProgress: progressTo(terminal) },
    }
    return await runVerify(options, { clock, random })
  } finally {
    ended()
  }
}

function progressTo(terminal: Terminal): (progress: Progress) => void {
  let nextMs = progressEveryMs
  return ({ atMs, calls, acknowledgedWrites, answeredReads, unknown, events, longestGapMs }) => {
    if (atMs < nextMs) return
    nextMs = atMs + progressEveryMs
    const parts = [
      `${(atMs / 1000).toFixed(0)} s: ${calls} calls, ${acknowledgedWrites} writes acknowledged`,
      `${answeredReads} reads answered, ${unknown} without an answer, ${events} events`,
      `longest gap between writes ${longestGapMs.toFixed(0)} ms`,
    ]
    terminal.note(parts.join(', '))
  }
}

function report(terminal: Terminal, flags: VerifyFlags, place: Place, result: VerifyResult): number {
  const { history, judgement } = result
  const { faults, note } = faultsOf(flags, history)
  place.keep ||= judgement.verdict === 'anomaly'
  const notes = [...result.notes, ...note]
  const reported = reportOf({ ...result, notes }, { faults, history: place.keep ? place.path : null })
  if (flags.html !== undefined) writeFileSync(flags.html, pageOf(reported, history))
  if (flags.output === 'json') terminal.print(JSON.stringify(reported, null, 2))
  else for (const line of textOf(reported)) terminal.print(line)
  return verifyExitCodes[judgement.verdict]
}

/** The fault file of a saved recording must be complete. @throws VerifyError `faults` */
function checkFaultsOf({ faults: path, history }: VerifyFlags): void {
  if (path === undefined) return
  if (history === undefined) checkFaults(path)
  else readFaults(path, 0)
}

/**
 * Read at the end, because faults happen during the run. An invalid file does not change the
 * verdict.
 */
function faultsOf(
  { faults: path }: VerifyFlags,
  { facts }: History,
): { readonly faults: readonly Fault[]; readonly note: readonly string[] } {
  if (path === undefined) return { faults: [], note: [] }
  try {
    return { faults: readFaults(path, facts.startedMs), note: [] }
  } catch (cause) {
    if (!(cause instanceof VerifyError)) throw cause
    return { faults: [], note: [cause.message] }
  }
}
