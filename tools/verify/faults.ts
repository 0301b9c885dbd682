import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { isJsonObject } from '../../src/api/json.ts'
import { VerifyError } from './errors.ts'
import type { Fault } from './history.ts'
import { verifyLimits } from './limits.ts'

/** Larger times are ms since 1970, smaller ones ms since the start of the recording. */
const sinceEpochMs = 1e11

/**
 * Reads the injected faults as JSON lines of `{atMs, kind, target, endMs}`. Times are ms since the
 * start of the recording or since 1970; `endMs` may be missing or null.
 *
 * @param startedMs start of the recording, ms since 1970
 * @throws VerifyError `faults`, naming file and line
 */
export function readFaults(path: string, startedMs: number): readonly Fault[] {
  return parseFaults(path, readText(path), startedMs)
}

/**
 * Checks a fault file before the traffic starts; it is read after the traffic. Until then it may
 * still be written to, so it may be absent now, and its last line may be incomplete.
 *
 * @throws VerifyError `faults` when it can never be read
 */
export function checkFaults(path: string): void {
  if (!existsSync(path) && isDirectory(dirname(path))) return
  const text = readText(path)
  parseFaults(path, text.slice(0, text.lastIndexOf('\n') + 1), 0)
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

function parseFaults(path: string, text: string, startedMs: number): readonly Fault[] {
  const faults: Fault[] = []
  for (const [at, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    const fault = faultOf(line, startedMs)
    if (fault === null) {
      const shape = '{"atMs": number, "kind": text, "target": text, "endMs": number or null}'
      throw new VerifyError('faults', `line ${at + 1} of ${path} is not ${shape}`)
    }
    faults.push(fault)
    if (faults.length > verifyLimits.faultsMax)
      throw new VerifyError('faults', `${path} has more than ${verifyLimits.faultsMax} faults`)
  }
  return faults.sort((a, b) => a.atMs - b.atMs)
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    const why = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause)
    const remedy = 'give the file that chaos run --record writes, or JSON lines of your own'
    throw new VerifyError('faults', `cannot read ${path} (${why}): ${remedy}`, { cause })
  }
}

function faultOf(line: string, startedMs: number): Fault | null {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return null
  }
  if (!isJsonObject(value)) return null
  const { atMs, kind, target } = value
  const endMs = value['endMs'] ?? null
  if (typeof atMs !== 'number' || typeof kind !== 'string' || typeof target !== 'string') return null
  if (endMs !== null && typeof endMs !== 'number') return null
  const relative = (ms: number): number => (ms > sinceEpochMs ? ms - startedMs : ms)
  return { atMs: relative(atMs), endMs: endMs === null ? null : relative(endMs), kind, target }
}
