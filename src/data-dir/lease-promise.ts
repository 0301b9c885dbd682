import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { limits } from '../config/limits.ts'
import { readFileIfThere, replaceFile } from '../pki/files.ts'
import { leasePromiseFileName } from './layout.ts'

export type LeasePromiseOptions = {
  /** The data directory. */
  readonly directory: string
  /** How long this process promises, in ms. */
  readonly electionMs: number
  /** Whether the directory contains a log, so that an earlier process may have given a promise. */
  readonly hasLog: boolean
  readonly log: Pick<Logger, 'warn'>
}

/**
 * Returns for how long, in ms, this member may have promised a leader not to elect another one, and
 * records the duration in the data directory before this process gives a promise. A promise
 * outlives the process that gave it: a process that starts with a shorter `--election-timeout`
 * still has to keep the longer one, so the record is lowered only after that time has passed.
 *
 * A record that is damaged, or missing although there is a log, is replaced by the longest promise
 * that any process can have given.
 */
export function promisedMs({ directory, electionMs, hasLog, log }: LeasePromiseOptions): number {
  const path = join(directory, leasePromiseFileName)
  const text = readFileIfThere(path)
  const recorded = text === null ? null : recordedIn(text)
  const isLost = recorded === null && (text !== null || hasLog)
  const owedMs = Math.max(electionMs, isLost ? limits.electionMsMax : (recorded ?? 0))
  if (isLost) {
    log.warn(
      { path, waitMs: owedMs },
      `the lease promise was ${text === null ? 'missing' : 'damaged'}, the longest possible one is assumed: this member ` +
        'takes part in no election until that is over; nothing needs to be done',
    )
  }
  if (owedMs !== recorded) record(path, owedMs)
  return owedMs
}

/**
 * Lowers the record to `electionMs`, once every promise of an earlier process has expired. If that
 * cannot be written, the next start waits longer than necessary, with no other effect.
 */
export function lowerPromise(directory: string, electionMs: number, log: Pick<Logger, 'warn'>): void {
  try {
    record(join(directory, leasePromiseFileName), electionMs)
  } catch (cause) {
    log.warn(
      { cause: cause instanceof Error ? cause.message : String(cause) },
      'the lease promise was not lowered',
    )
  }
}

/**
 * Records that no process of this member has promised anything: `orchctl` created its log, and no
 * server has opened it.
 */
export function recordNoPromise(directory: string): void {
  record(join(directory, leasePromiseFileName), 0)
}

function record(path: string, ms: number): void {
  replaceFile(path, `${ms} ${checkOf(ms)}\n`, 'public')
}

/** Returns null if the text is damaged. */
function recordedIn(text: string): number | null {
  const [, digits, check] = /^(\d{1,9}) ([0-9a-f]{8})\n$/.exec(text) ?? []
  const ms = Number(digits)
  return digits === String(ms) && check === checkOf(ms) ? ms : null
}

/** Detects damage: a shorter promise than the one given would let two leaders serve reads. */
function checkOf(ms: number): string {
  return createHash('sha256').update(`lease promise ${ms}`).digest('hex').slice(0, 8)
}
