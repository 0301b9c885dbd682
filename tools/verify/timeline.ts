import type { Call, History } from './history.ts'
import { isAnswered, isLinearizable, isWrite } from './history.ts'
import { verifyLimits } from './limits.ts'

/**
 * A period without a successful call: from the end of one to the end of the next, in ms since the
 * start of the recording.
 */
export type Gap = { readonly fromMs: number; readonly toMs: number }

/** Availability and latency of the successful calls of one kind. Times in ms. */
export type CallTimings = {
  readonly answered: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
  /** The longest gaps, longest first. */
  readonly gaps: readonly Gap[]
}

export type TrafficSummary = {
  /** Acknowledged writes. */
  readonly writes: CallTimings
  /** Answered most recent reads. */
  readonly reads: CallTimings
  readonly calls: number
  readonly refused: number
  /** Calls with unknown outcome. */
  readonly unknown: number
  readonly events: number
}

/** Returns availability and latency for the report; they are not part of the verdict. */
export function trafficSummaryOf({ calls, watches }: History): TrafficSummary {
  const isMostRecent = ({ request }: Call): boolean => 'mode' in request && isLinearizable(request.mode)
  return {
    writes: timingsOf(calls.filter((call) => isWrite(call.request) && isAnswered(call))),
    reads: timingsOf(calls.filter((call) => isMostRecent(call) && isAnswered(call))),
    calls: calls.length,
    refused: calls.filter(({ answer }) => answer.kind === 'refused').length,
    unknown: calls.filter(({ answer }) => answer.kind === 'unknown').length,
    events: watches.reduce((sum, { events }) => sum + events.length, 0),
  }
}

function timingsOf(calls: readonly Call[]): CallTimings {
  const times = calls.map(({ beginMs, endMs }) => endMs - beginMs).sort((a, b) => a - b)
  const at = (share: number): number =>
    times[Math.min(times.length - 1, Math.floor(share * times.length))] ?? 0
  return { answered: calls.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1), gaps: gapsOf(calls) }
}

function gapsOf(calls: readonly Call[]): readonly Gap[] {
  const ends = calls.map(({ endMs }) => endMs).sort((a, b) => a - b)
  const gaps = ends.slice(1).map((toMs, at): Gap => ({ fromMs: ends[at] ?? 0, toMs }))
  return gaps.sort((a, b) => lengthOf(b) - lengthOf(a)).slice(0, verifyLimits.gapsMax)
}

export function lengthOf({ fromMs, toMs }: Gap): number {
  return toMs - fromMs
}
