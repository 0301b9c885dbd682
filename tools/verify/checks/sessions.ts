import { byTime, callEvidence } from '../describe.ts'
import type { HistoryIndex } from '../history-index.ts'
import { Findings, count } from '../finding.ts'
import type { CheckReport } from '../finding.ts'
import type { Call } from '../history.ts'
import { modeOf } from '../history.ts'

/**
 * Sessions: on one connection, reads in the modes `any` and `bounded` never go back in time,
 * because one process serves the connection and its state only advances. Reads with a
 * resourceVersion above 0 are excluded: a server may serve them from another source.
 *
 * @param balanced an endpoint may be several servers, so nothing is guaranteed
 */
export function checkSessions(
  index: HistoryIndex,
  { balanced }: { readonly balanced: boolean },
): CheckReport {
  const check = 'reads on one connection never go back'
  const findings = new Findings()
  if (balanced) {
    const examined = 'endpoints may be load balancers'
    return { ...findings.report(check, { examined, count: 0 }), verdict: 'not-applicable' }
  }
  const floors = new Map<string, { readonly revision: number; readonly call: Call }>()
  let examined = 0
  for (const call of index.history.calls) {
    const { client, connection, request, answer, member } = call
    const isLater = request.kind === 'list' && request.page > 0
    if ((request.kind !== 'get' && request.kind !== 'list') || isLater) continue
    const { kind: mode } = modeOf(request)
    if (mode !== 'any' && mode !== 'bounded') continue
    const session = `${client}/${connection}`
    const floor = floors.get(session)
    const point = pointOf(call, floor?.revision ?? 0, index)
    if (point === null) continue
    examined++
    if (floor !== undefined && point === 'none') {
      const shown = answer.kind === 'object' ? `version ${answer.version.revision}` : 'an older list'
      findings.add(`${call.begin}`, () => ({
        kind: 'reads-go-back',
        text: `${member} showed ${client} ${shown} after revision ${floor.revision}, on one connection`,
        object: request.kind === 'get' ? request.name : null,
        atMs: call.endMs,
        members: [member],
        witnesses: byTime([callEvidence(floor.call), callEvidence(call)]),
      }))
    } else if (point !== 'none' && point >= (floor?.revision ?? 0))
      floors.set(session, { revision: point, call })
  }
  return findings.report(check, { examined: count(examined, 'read'), count: examined })
}

/**
 * Returns the first revision from `floor` on at which the answer is correct.
 *
 * @returns 'none': the answer is correct at none of them; null: the answer proves nothing
 */
function pointOf({ request, answer }: Call, floor: number, index: HistoryIndex): number | 'none' | null {
  if (answer.kind === 'list') return answer.revision >= floor ? answer.revision : 'none'
  if (answer.kind !== 'object' || request.kind !== 'get') return null
  const point = Math.max(floor, answer.version.revision)
  const next = index.nextChangeAfter(request.name, answer.version.revision)
  return next === null || next.revision > point ? point : 'none'
}
