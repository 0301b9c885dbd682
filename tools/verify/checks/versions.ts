import { byTime, callEvidence, versionText } from '../describe.ts'
import type { HistoryIndex } from '../history-index.ts'
import { equalVersions } from '../history-index.ts'
import { Findings, count } from '../finding.ts'
import type { CheckReport, EvidenceLine } from '../finding.ts'
import type { Call, Version } from '../history.ts'

/**
 * Checks that every returned version was written: a revision belongs to one version of one object,
 * a uid to one object, the call whose token the version carries wrote it, and a conditional update
 * replaced the version in its precondition. Applies to reads of every mode and to watches.
 */
export function checkVersions(index: HistoryIndex): CheckReport {
  const findings = new Findings()
  let examined = 0
  for (const { revision, one, other } of index.conflicts) {
    // If only its writer saw one of the two, that write was lost and its revision was reused for
    // the other.
    const lost = [one, other].find(({ token }) => index.firstReadAt(token) === null)
    const text = `revision ${revision} belongs to both ${versionText(one)} and ${versionText(other)}`
    findings.add(`revision ${revision}`, () => ({
      kind: lost === undefined ? 'two-versions' : 'lost-write',
      text: lost === undefined ? text : `${text}; write ${lost.token} was shown only to its writer`,
      object: one.name,
      ...shownBy(index, [one, other]),
    }))
  }
  for (const { changes } of index.objects.values()) {
    for (const { version, deleted } of changes) {
      examined++
      const writer = index.writers.get(version.token)
      if (writer !== undefined && 'name' in writer.request && writer.request.name === version.name) continue
      const what = deleted ? 'was deleted' : 'was shown'
      findings.add(`token ${version.token}`, () => ({
        kind: 'phantom',
        text: `${versionText(version)} ${what}, but was never written`,
        object: version.name,
        ...shownBy(index, [version]),
      }))
    }
  }
  checkUids(index, findings)
  for (const call of index.history.calls) checkReplaced(call, index, findings)
  return findings.report('what is shown was written', {
    examined: count(examined, 'version'),
    count: examined,
  })
}

/** Checks that a uid belongs to one object; an object that is created again has a new uid. */
function checkUids(index: HistoryIndex, findings: Findings): void {
  const owners = new Map<string, Version>()
  for (const { changes } of index.objects.values()) {
    for (const [at, { version }] of changes.entries()) {
      const owner = owners.get(version.uid)
      const before = changes[at - 1]?.version
      if (owner !== undefined && (owner.name !== version.name || before?.uid !== version.uid)) {
        findings.add(`uid ${version.uid}`, () => ({
          kind: 'two-versions',
          text: `uid ${version.uid} belongs to ${versionText(owner)} and to ${versionText(version)}`,
          object: version.name,
          ...shownBy(index, [owner, version]),
        }))
      }
      owners.set(version.uid, version)
    }
  }
}

function checkReplaced(call: Call, index: HistoryIndex, findings: Findings): void {
  const { request, answer } = call
  if (answer.kind !== 'object' || request.kind !== 'update' || request.expected === null) return
  const { expected, name } = request
  const { revision } = answer.version
  const between = index.nextChangeAfter(name, expected.revision)
  if (between === null || between.revision >= revision) return
  findings.add(`update ${revision}`, () => {
    const writer = index.writers.get(between.version.token)
    const other = writer === undefined || between.deleted ? [] : [callEvidence(writer)]
    const change = between.deleted ? 'its deletion' : versionText(between.version)
    return {
      kind: 'lost-update',
      text: `version ${revision} of ${name} replaced ${expected.revision}, but ${change} lies between`,
      object: name,
      atMs: call.endMs,
      members: [call.member],
      witnesses: byTime([...other, callEvidence(call)]),
    }
  })
}

/** Returns the first call or event that returned each version. */
function shownBy(
  index: HistoryIndex,
  versions: readonly Version[],
): {
  readonly atMs: number
  readonly members: readonly string[]
  readonly witnesses: readonly EvidenceLine[]
} {
  const { calls, watches } = index.history
  const witnesses: EvidenceLine[] = []
  const members = new Set<string>()
  for (const version of versions) {
    const call = calls.find(({ answer }) => {
      if (answer.kind === 'object') return equalVersions(answer.version, version)
      return answer.kind === 'list' && answer.versions.some((one) => equalVersions(one, version))
    })
    if (call !== undefined) {
      witnesses.push(callEvidence(call))
      members.add(call.member)
      continue
    }
    for (const watch of watches) {
      const event = watch.events.find((one) => one.version !== null && equalVersions(one.version, version))
      if (event === undefined) continue
      members.add(watch.member)
      witnesses.push({
        atMs: event.atMs,
        text: `${watch.watcher} at ${watch.member}: ${event.type} ${versionText(version)}`,
      })
      break
    }
  }
  const reported = byTime(witnesses)
  return { atMs: reported[reported.length - 1]?.atMs ?? 0, members: [...members], witnesses: reported }
}
