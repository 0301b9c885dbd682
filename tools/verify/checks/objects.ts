import type { HistoryIndex } from '../history-index.ts'
import { Findings, count } from '../finding.ts'
import type { Anomaly, AnomalyKind, CheckReport } from '../finding.ts'
import { byTime, callEvidence, versionText } from '../describe.ts'
import type { Call } from '../history.ts'
import { verifyLimits } from '../limits.ts'
import { linearizable } from '../linearizability.ts'
import { registerCalls } from '../register-calls.ts'
import type { ObjectCall } from '../register-calls.ts'
import { minimizeCalls } from '../minimize-calls.ts'

/**
 * Linearizability: the writes and most recent reads of each object have one order that explains
 * every answer and respects real time. Checking each object separately is sufficient: a history is
 * linearizable if each of its objects is.
 *
 * @source Herlihy and Wing, "Linearizability", 1990 (locality); Wing and Gong, 1993; Lowe, 2017
 */
export function checkObjects(index: HistoryIndex): CheckReport {
  const findings = new Findings()
  const undecided: string[] = []
  let [objects, calls] = [0, 0]
  for (const object of registerCalls(index)) {
    objects++
    calls += object.calls.length
    const verdict = linearizable(object.calls, verifyLimits.searchStepsMax)
    if (verdict.kind === 'undecided') undecided.push(object.name)
    if (verdict.kind === 'not-linearizable')
      findings.add(object.name, () => anomalyOf(object.name, object.calls, index))
  }
  const steps = verifyLimits.searchStepsMax.toLocaleString('en-US')
  return findings.report('objects are linearizable', {
    examined: `${count(objects, 'object')}, ${count(calls, 'answer')}`,
    count: calls,
    note:
      undecided.length === 0
        ? ''
        : `no order was found or excluded in ${steps} steps for ${undecided.slice(0, 5).join(', ')}`,
  })
}

function anomalyOf(name: string, all: readonly ObjectCall[], index: HistoryIndex): Anomaly {
  const given = minimizeCalls(all)
  const ended = given.filter(({ end }) => end !== Infinity)
  const last = ended.reduce((latest, one) => (one.end > latest.end ? one : latest))
  const calls = [...new Set(given.map(({ call }) => call))]
  const { kind, text } = anomalyKindOf(name, calls, last, index)
  return {
    ...{ kind, text, object: name, atMs: last.call.endMs },
    members: [...new Set(calls.map(({ member }) => member))].sort(),
    witnesses: byTime(calls.map(callEvidence)),
  }
}

/** Classifies a history that is not linearizable. */
function anomalyKindOf(
  name: string,
  calls: readonly Call[],
  last: ObjectCall,
  index: HistoryIndex,
): { readonly kind: AnomalyKind; readonly text: string } {
  if (calls.some((call) => replacesSameVersion(last.call, call)))
    return { kind: 'lost-update', text: `${name}: two conditional writes replaced one version` }
  const lost = calls.find((call) => isLost(call, last.call, index))
  if (lost?.answer.kind === 'object') {
    const { version } = lost.answer
    return {
      kind: 'lost-write',
      text: `${versionText(version)} was acknowledged by ${lost.member}, but never read`,
    }
  }
  if (lost !== undefined) {
    const text = `${lost.member} acknowledged the deletion of ${name}, but no watch reported it`
    return { kind: 'lost-write', text }
  }
  const { request, member } = last.call
  if (request.kind === 'get' || request.kind === 'list') {
    const shown = stateOf(name, last.call)
    return { kind: 'stale-read', text: `${member} showed ${name} as ${shown} when that had been replaced` }
  }
  return { kind: 'not-linearizable', text: `no order of these calls on ${name} explains their answers` }
}

/** Returns whether both calls succeeded with the same version as their precondition. */
function replacesSameVersion(one: Call, other: Call): boolean {
  const [here, there] = [one, other].map(({ request, answer }) => {
    const isDone = answer.kind === 'object' || answer.kind === 'deleted'
    return isDone && 'expected' in request ? (request.expected?.revision ?? null) : null
  })
  return one !== other && here !== null && here === there
}

/**
 * Returns whether the call was acknowledged before the unexplained call ended, and no client read
 * its write, or no watch reported its deletion.
 */
function isLost({ request, answer, end }: Call, bad: Call, index: HistoryIndex): boolean {
  if (end >= bad.end) return false
  if (answer.kind === 'object' && 'token' in request) return index.firstReadAt(request.token) === null
  if (answer.kind !== 'deleted' || request.kind !== 'delete') return false
  const reported = index.objects.get(request.name)?.changes.some(({ deleted }) => deleted) ?? false
  return !reported && index.history.watches.length > 0
}

function stateOf(name: string, { answer }: Call): string {
  if (answer.kind === 'object') return `version ${answer.version.revision}`
  if (answer.kind !== 'list') return 'absent'
  const version = answer.versions.find((one) => one.name === name)
  return version === undefined ? 'absent' : `version ${version.revision}`
}
