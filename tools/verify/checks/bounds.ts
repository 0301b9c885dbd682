import { byTime, callEvidence } from '../describe.ts'
import type { HistoryIndex } from '../history-index.ts'
import { Findings, count } from '../finding.ts'
import type { CheckReport } from '../finding.ts'
import type { Call } from '../history.ts'
import { staleness } from './real-time.ts'

/**
 * Bounded staleness: a read with a bound of N ms reflects at least the newest revision that any
 * call had returned N ms before the read began. Uses the clock of the recording only. The server
 * measures from a later point in time, so a correct server passes.
 */
export function checkBounds(index: HistoryIndex): CheckReport {
  const findings = new Findings()
  const known = knownRevisions(index.history.calls)
  let examined = 0
  for (const call of index.history.calls) {
    const { request } = call
    if ((request.kind !== 'get' && request.kind !== 'list') || request.mode.kind !== 'bounded') continue
    if (request.kind === 'list' && request.page > 0) continue
    const { boundMs } = request.mode
    const before = newestBefore(known, call.beginMs - boundMs)
    if (before === null) continue
    const wrong = staleness(call, before.revision, index)
    if (wrong === undefined) continue
    examined++
    if (wrong === null) continue
    findings.add(`${call.begin}`, () => ({
      kind: 'beyond-bound',
      text: `${wrong.text}, more than ${boundMs} ms before the read`,
      object: wrong.object,
      atMs: call.endMs,
      members: [...new Set([call.member, before.call.member])],
      witnesses: byTime([callEvidence(before.call), callEvidence(call)]),
    }))
  }
  const report = findings.report('bounds are kept', { examined: count(examined, 'answer'), count: examined })
  // Servers without this mode get no such reads, and a short recording has no earlier observations.
  return examined === 0 ? { ...report, verdict: 'not-applicable' } : report
}

type KnownRevision = { readonly atMs: number; readonly revision: number; readonly call: Call }

/** Returns the calls that raised the highest known revision, ascending in time and revision. */
function knownRevisions(calls: readonly Call[]): readonly KnownRevision[] {
  const all = calls
    .map((call) => ({ atMs: call.endMs, revision: revisionIn(call), call }))
    .filter(({ revision }) => revision > 0)
    .sort((a, b) => a.atMs - b.atMs)
  let newest = 0
  return all.flatMap(({ atMs, revision, call }) => {
    if (revision <= newest) return []
    newest = revision
    return [{ atMs, revision, call }]
  })
}

function revisionIn({ answer }: Call): number {
  switch (answer.kind) {
    case 'object':
      return answer.version.revision
    case 'list':
      return answer.revision
    case 'deleted':
    case 'refused':
    case 'unknown':
      return 0
  }
}

function newestBefore(known: readonly KnownRevision[], atMs: number): KnownRevision | null {
  let [low, high] = [0, known.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((known[middle]?.atMs ?? Infinity) < atMs) low = middle + 1
    else high = middle
  }
  return known[low - 1] ?? null
}
