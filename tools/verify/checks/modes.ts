import { byTime, modeText, callEvidence } from '../describe.ts'
import type { HistoryIndex } from '../history-index.ts'
import { Findings, count } from '../finding.ts'
import type { CheckReport } from '../finding.ts'
import type { Call, Mode } from '../history.ts'
import { isMissing, modeOf } from '../history.ts'

/**
 * Read modes: an exact list has the requested revision, and a not-older-than read is not older than
 * its revision. A client that passes the revision of its last write or read therefore reads its own
 * writes and never goes back in time, on every member.
 */
export function checkModes(index: HistoryIndex): CheckReport {
  const findings = new Findings()
  let examined = 0
  for (const call of index.history.calls) {
    const mode = modeOf(call.request)
    if (mode.kind !== 'exact' && mode.kind !== 'not-older-than') continue
    const wrong = judge(call, mode, index)
    if (wrong === undefined) continue
    examined++
    if (wrong === null) continue
    findings.add(`${call.begin}`, () => ({
      kind: 'wrong-mode',
      text: `a read at ${call.member}, ${modeText(mode)}, ${wrong}`,
      object: call.request.kind === 'get' ? call.request.name : null,
      atMs: call.endMs,
      members: [call.member],
      witnesses: byTime([...writerOf(call, mode, index), callEvidence(call)]),
    }))
  }
  return findings.report('modes are kept', { examined: count(examined, 'answer'), count: examined })
}

/** @returns null: correct; undefined: the answer proves nothing */
function judge(
  call: Call,
  mode: Extract<Mode, { readonly revision: number }>,
  index: HistoryIndex,
): string | null | undefined {
  const { answer, request } = call
  const { revision } = mode
  if (answer.kind === 'list') {
    const isRight = mode.kind === 'exact' ? answer.revision === revision : answer.revision >= revision
    return isRight ? null : `returned a list at revision ${answer.revision}`
  }
  if (request.kind !== 'get' || mode.kind === 'exact') return undefined
  if (answer.kind === 'object') {
    const next = index.nextChangeAfter(request.name, answer.version.revision)
    if (next === null || next.revision > revision) return null
    return `returned version ${answer.version.revision}, ${next.deleted ? 'deleted' : 'replaced'} at ${next.revision}`
  }
  if (!isMissing(call)) return undefined
  const last = index.lastChangeUpTo(request.name, revision)
  if (last === null || last.deleted) return null
  if (index.mayBeDeletedAfter(request.name, last.revision, call.end)) return null
  return `found nothing, but version ${last.revision} was written, and no deletion by then is known`
}

function writerOf({ request }: Call, mode: { readonly revision: number }, index: HistoryIndex) {
  if (request.kind !== 'get') return []
  const last = index.lastChangeUpTo(request.name, mode.revision)
  const writer = last === null ? undefined : index.writers.get(last.version.token)
  return writer === undefined ? [] : [callEvidence(writer)]
}
