import { byTime, callEvidence, eventEvidence } from '../describe.ts'
import type { HistoryIndex, Observation } from '../history-index.ts'
import { Findings, count } from '../finding.ts'
import type { Anomaly, AnomalyKind, CheckReport, EvidenceLine } from '../finding.ts'
import type { Call } from '../history.ts'
import { isLinearizable, isMissing, isWrite } from '../history.ts'

/**
 * Real-time order across objects: a write gets a revision above every revision that was observed
 * before the write began. A most recent read returns a state at or above every revision that was
 * observed before the read began.
 */
export function checkRealTime(index: HistoryIndex): CheckReport {
  const findings = new Findings()
  let examined = 0
  for (const call of index.history.calls) {
    const reported = index.newestBefore(call.begin)
    if (reported === null || !isLinearizableCall(call)) continue
    const wrong = staleness(call, reported.revision, index)
    if (wrong === undefined) continue
    examined++
    if (wrong !== null) findings.add(wrong.key, () => anomalyOf(call, reported, wrong))
  }
  return findings.report('revisions follow real time', {
    examined: count(examined, 'answer'),
    count: examined,
  })
}

type RealTimeAnomaly = {
  readonly kind: AnomalyKind
  readonly text: string
  readonly object: string | null
  /** Key for deduplication: a change that many reads missed is one anomaly. */
  readonly key: string
}

function isLinearizableCall({ request }: Call): boolean {
  if (isWrite(request)) return true
  const isLater = request.kind === 'list' && request.page > 0
  return 'mode' in request && isLinearizable(request.mode) && !isLater
}

/**
 * Returns the anomaly if an answer is older than allowed.
 *
 * @param floor the newest revision that the answer has to reflect
 * @returns null: it is not older; undefined: the answer proves nothing
 */
export function staleness(
  call: Call,
  floor: number,
  index: HistoryIndex,
): RealTimeAnomaly | null | undefined {
  const { request, answer, member } = call
  if (answer.kind === 'list') {
    if (answer.revision >= floor) return null
    const text = `${member} returned a list at revision ${answer.revision}, after ${floor} had been observed`
    return { kind: 'stale-read', text, object: null, key: `list ${floor}` }
  }
  if (answer.kind === 'object') {
    const { name, revision } = answer.version
    if (request.kind !== 'get') {
      if (revision > floor) return null
      const text = `${member} gave a write of ${name} revision ${revision}, after ${floor} had been observed`
      return { kind: 'revision-order', text, object: name, key: `write ${revision}` }
    }
    const next = index.nextChangeAfter(name, revision)
    if (next === null || next.revision > floor) return null
    const how = next.deleted ? 'deleted' : 'replaced'
    const text = `${member} showed ${name} as version ${revision}, ${how} at ${next.revision}, after ${floor} had been observed`
    return { kind: 'stale-read', text, object: name, key: `get ${next.revision}` }
  }
  if (!isMissing(call) || request.kind === 'create' || request.kind === 'list') return undefined
  const last = index.lastChangeUpTo(request.name, floor)
  if (last === null || last.deleted) return null
  // The object may have been deleted at any time until the answer.
  if (index.mayBeDeletedAfter(request.name, last.revision, call.end)) return null
  const text = `${member} found no ${request.name}, but version ${last.revision} was written, and no deletion by then is known`
  const seen = index.firstReadAt(last.version.token) !== null
  return { kind: seen ? 'stale-read' : 'lost-write', text, object: request.name, key: `get ${last.revision}` }
}

function anomalyOf(call: Call, reported: Observation, wrong: RealTimeAnomaly): Anomaly {
  const { by } = reported
  const before: EvidenceLine = 'event' in by ? eventEvidence(by.watch, by.event) : callEvidence(by)
  const observer = 'event' in by ? by.watch.member : by.member
  const { kind, text, object } = wrong
  return {
    ...{ kind, text, object },
    atMs: call.endMs,
    members: [...new Set([call.member, observer])],
    witnesses: byTime([before, callEvidence(call)]),
  }
}
