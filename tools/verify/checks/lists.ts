import { byTime, modeText, callEvidence, versionText } from '../describe.ts'
import type { HistoryIndex } from '../history-index.ts'
import { equalVersions } from '../history-index.ts'
import { Findings, count } from '../finding.ts'
import type { AnomalyKind, CheckReport } from '../finding.ts'
import type { Answer, Call, Version } from '../history.ts'

type Listed = Extract<Answer, { readonly kind: 'list' }>

/** The state at a revision as returned by a list, or by all pages of one list together. */
type ListedState = {
  readonly revision: number
  readonly versions: readonly Version[]
  /** The list covers names up to this one; null: all names. */
  readonly upTo: string | null
  readonly calls: readonly Call[]
}

/**
 * Lists: a list at revision r is the state at r, from any member and in any mode. The pages of one
 * list form one state without gaps and duplicates, and `remainingItemCount` is correct.
 */
export function checkLists(index: HistoryIndex): CheckReport {
  const findings = new Findings()
  const states: ListedState[] = []
  let paged = 0
  for (const calls of listsOf(index.history.calls)) {
    if (calls.length > 1) paged++
    const listed = listedStateOf(calls, findings)
    if (listed !== null) states.push(listed)
  }
  const whole = new Map<number, ListedState>()
  for (const listed of states) {
    checkState(listed, index, findings)
    if (listed.upTo !== null) continue
    const other = whole.get(listed.revision)
    if (other === undefined) whole.set(listed.revision, listed)
    else checkEqual(listed, other, findings)
  }
  return findings.report('lists are the state at their revision', {
    examined: `${count(states.length, 'list')}, ${paged.toLocaleString('en-US')} of them in pages`,
    count: states.length,
  })
}

/** Returns the answered lists, each with its pages in order. */
function listsOf(calls: readonly Call[]): readonly (readonly Call[])[] {
  const lists = new Map<string, Call[]>()
  for (const call of calls) {
    if (call.request.kind !== 'list' || call.answer.kind !== 'list') continue
    const name = `${call.client}/${call.request.list}`
    const pages = lists.get(name)
    if (pages === undefined) lists.set(name, [call])
    else pages.push(call)
  }
  return [...lists.values()]
}

/** Combines the pages of a list. @returns null when they contradict each other */
function listedStateOf(calls: readonly Call[], findings: Findings): ListedState | null {
  const answers = calls.map(({ answer }) => answer as Listed)
  const [first] = answers
  if (first === undefined) return null
  const versions = answers.flatMap((answer) => answer.versions)
  const torn = inconsistentPages(calls, answers, versions)
  if (torn !== null) {
    add(findings, 'torn-pages', { text: torn, object: null, calls })
    return null
  }
  const more = answers[answers.length - 1]?.more ?? false
  const upTo = more ? (versions[versions.length - 1]?.name ?? '') : null
  return { revision: first.revision, versions, upTo, calls }
}

function inconsistentPages(
  calls: readonly Call[],
  answers: readonly Listed[],
  versions: readonly Version[],
): string | null {
  const [first] = answers
  const other = answers.find(({ revision }) => revision !== first?.revision)
  if (other !== undefined)
    return `pages of one list are of revisions ${first?.revision} and ${other.revision}`
  const bad = versions.findIndex((version, at) => at > 0 && (versions[at - 1]?.name ?? '') >= version.name)
  if (bad !== -1)
    return `${versions[bad]?.name} comes after ${versions[bad - 1]?.name}, out of order or duplicated`
  if (answers[answers.length - 1]?.more !== false) return null
  let shown = 0
  const total = answers.reduce((sum, answer) => sum + answer.versions.length + answer.foreign, 0)
  for (const [at, { versions: own, foreign, remaining }] of answers.entries()) {
    shown += own.length + foreign
    const member = calls[at]?.member ?? ''
    // Lists have no selector, so each page after the first has an object.
    if (at > 0 && own.length + foreign === 0)
      return `${calls[at - 1]?.member} announced another page after page ${at}, but ${member} returned an empty one`
    if (remaining !== null && remaining !== total - shown)
      return `${member} reports ${remaining} remaining after page ${at + 1}, but ${total - shown} followed`
  }
  return null
}

function checkState(listed: ListedState, index: HistoryIndex, findings: Findings): void {
  const { revision, upTo, calls } = listed
  const shown = new Map(listed.versions.map((version) => [version.name, version]))
  const end = Math.max(...calls.map((call) => call.end))
  const where = `the list of ${calls[0]?.member} at revision ${revision}`
  for (const version of listed.versions) {
    const last = index.lastChangeUpTo(version.name, revision)
    if (version.revision <= revision && last !== null && last.revision === version.revision && !last.deleted)
      continue
    const instead =
      last === null ? 'nothing' : `${last.deleted ? 'its deletion at' : 'version'} ${last.revision}`
    const text = `${where} shows ${versionText(version)} instead of ${instead}`
    if (version.revision > revision) add(findings, 'wrong-list', { text, object: version.name, calls })
    else addMissed(findings, { text, object: version.name, calls }, last?.version ?? null, index)
  }
  for (const name of index.objects.keys()) {
    if (shown.has(name) || (upTo !== null && name > upTo)) continue
    if (index.mayBeAbsent(name, revision, end)) continue
    const last = index.lastChangeUpTo(name, revision)
    if (last === null) continue
    const text = `${where} lacks ${versionText(last.version)}, which was not deleted up to that revision`
    addMissed(findings, { text, object: name, calls }, last.version, index)
  }
}

type ListAnomaly = {
  readonly text: string
  readonly object: string | null
  readonly calls: readonly Call[]
  /** Key for deduplication; the text when unset. */
  readonly key?: string
}

/** @param missed the version that should have been returned */
function addMissed(findings: Findings, what: ListAnomaly, missed: Version | null, index: HistoryIndex): void {
  const writer = missed === null ? undefined : index.writers.get(missed.token)
  const isLost = missed !== null && index.firstReadAt(missed.token) === null
  add(findings, isLost ? 'lost-write' : 'wrong-list', {
    ...what,
    key: missed === null ? what.text : `${missed.name} ${missed.revision}`,
    calls: writer === undefined ? what.calls : [writer, ...what.calls],
  })
}

function checkEqual(listed: ListedState, other: ListedState, findings: Findings): void {
  const { versions, revision, calls } = listed
  const at = versions.findIndex((version, place) => {
    const there = other.versions[place]
    return there === undefined || !equalVersions(version, there)
  })
  if (at === -1 && versions.length === other.versions.length) return
  const one = versions[at === -1 ? other.versions.length : at] ?? other.versions[versions.length]
  const [here, there] = [calls[0], other.calls[0]]
  const modes = [here, there].map((call) => {
    const mode = call?.request.kind === 'list' ? modeText(call.request.mode) : ''
    return `${call?.member} (${mode})`
  })
  add(findings, 'wrong-list', {
    text: `two lists at revision ${revision}, of ${modes.join(' and ')}, differ in ${one?.name}`,
    object: one?.name ?? null,
    calls: [...other.calls, ...calls],
  })
}

function add(findings: Findings, kind: AnomalyKind, { text, object, calls, key }: ListAnomaly): void {
  findings.add(`${kind} ${key ?? text}`, () => ({
    ...{ kind, text, object },
    atMs: Math.max(...calls.map(({ endMs }) => endMs)),
    members: [...new Set(calls.map(({ member }) => member))].sort(),
    witnesses: byTime(calls.map(callEvidence)),
  }))
}
