import { byTime, callEvidence, eventEvidence, watchEvidence, versionText, watchText } from '../describe.ts'
import type { Change, HistoryIndex } from '../history-index.ts'
import { Findings, count } from '../finding.ts'
import type { AnomalyKind, CheckReport, EvidenceLine } from '../finding.ts'
import type { Watch, WatchEvent } from '../history.ts'
import { WatchState } from './watch-state.ts'
import { selectedFaults, coveredRanges } from './selector-watches.ts'

/**
 * Watches: ordered (ascending revisions), unique (nothing twice), atomic (each revision once and
 * complete), reliable (no missing change up to the last event), resumable (also after a disconnect,
 * on another member), bookmarkable (a bookmark follows everything it covers), filtered (objects
 * that enter or leave a selection are reported as such), and with the correct type for each event.
 */
export function checkWatches(index: HistoryIndex): CheckReport {
  const { history } = index
  const findings = new Findings()
  const changes = [...index.objects.values()].flatMap((trail) => trail.changes)
  changes.sort((a, b) => a.revision - b.revision)
  const state = new WatchState(index)
  const complete: Watch[] = []
  let events = 0
  let resumed = 0
  for (const watch of history.watches) {
    events += watch.events.length
    if (watch.resumed) resumed++
    checkOrder(watch, findings)
    if (watch.side !== null) continue
    const isComplete = checkReliable(watch, changes, index, findings)
    if (isComplete) complete.push(watch)
    state.check(watch, isComplete, (event, text) =>
      add(findings, 'wrong-event', {
        ...{ text, watch, object: event.version?.name ?? null },
        witnesses: [watchEvidence(watch), eventEvidence(watch, event)],
      }),
    )
  }
  const selected = checkSelected(index, changes, complete, findings)
  const watches = `${count(history.watches.length, 'watch', 'watches')}, ${count(resumed, 'resume')}`
  return findings.report('watches send every change once, in order', {
    examined: `${count(events, 'event')}, ${watches}, ${count(selected, 'change')} checked through a selector`,
    count: events,
    note: noteOf(index),
  })
}

/** @param complete watches that missed nothing @returns the number of checked changes */
function checkSelected(
  index: HistoryIndex,
  changes: readonly Change[],
  complete: readonly Watch[],
  findings: Findings,
): number {
  const known = { index, changes, ranges: coveredRanges(complete) }
  let looked = 0
  for (const watch of index.history.watches) {
    if (watch.side === null) continue
    const { faults, examined } = selectedFaults(watch, watch.side, known)
    looked += examined
    for (const { kind, text, object, witnesses } of faults)
      add(findings, kind, { text, watch, object, witnesses })
  }
  return looked
}

function checkOrder(watch: Watch, findings: Findings): void {
  let last: WatchEvent | null = null
  const seen = new Set<number>()
  for (const event of watch.events) {
    const { revision, type } = event
    const before = last?.revision ?? watch.after
    const isBookmark = type === 'BOOKMARK'
    if (isBookmark ? revision < before : revision <= before) {
      const kind = seen.has(revision) && !isBookmark ? 'repeated-event' : 'event-order'
      const text = `${watchText(watch)} sent ${type} of revision ${revision} after ${before}`
      const earlier = last === null ? watchEvidence(watch) : eventEvidence(watch, last)
      const witnesses = [earlier, eventEvidence(watch, event)]
      add(findings, kind, { text, watch, object: event.version?.name ?? null, witnesses })
    }
    if (!isBookmark) seen.add(revision)
    if (last === null || revision >= last.revision) last = event
  }
}

/** An event, and the highest bookmark before it. */
type SeenEvent = { readonly event: WatchEvent; readonly marked: WatchEvent | null }

/** @returns false when a change is missing */
function checkReliable(
  watch: Watch,
  changes: readonly Change[],
  index: HistoryIndex,
  findings: Findings,
): boolean {
  const seen = new Map<number, SeenEvent>()
  let upTo = watch.after
  let marked: WatchEvent | null = null
  for (const event of watch.events) {
    if (event.version !== null && !seen.has(event.revision)) seen.set(event.revision, { event, marked })
    if (event.type === 'BOOKMARK' && event.revision > (marked?.revision ?? 0)) marked = event
    upTo = Math.max(upTo, event.revision)
  }
  let isComplete = true
  for (let at = indexAfter(changes, watch.after); at < changes.length; at++) {
    const change = changes[at] as Change
    if (change.revision > upTo) break
    const known = seen.get(change.revision)
    if (known === undefined) {
      isComplete = false
      addDropped(watch, change, index, findings)
      continue
    }
    const early = known.marked
    if (early === null || early.revision < change.revision) continue
    const text = `${watchText(watch)} sent a bookmark of revision ${early.revision} before ${change.revision}`
    const witnesses = [eventEvidence(watch, early), eventEvidence(watch, known.event)]
    add(findings, 'false-bookmark', { text, watch, object: change.version.name, witnesses })
  }
  return isComplete
}

function addDropped(watch: Watch, change: Change, index: HistoryIndex, findings: Findings): void {
  const { version, revision, deleted } = change
  const later = watch.events.find((event) => event.revision > revision)
  const before = watch.events.findLast((event) => event.revision < revision)
  const writer = deleted ? undefined : index.writers.get(version.token)
  const isLost = !deleted && index.firstReadAt(version.token) === null
  const how = watch.resumed ? ' after it was resumed' : ''
  const what = deleted ? `the deletion of ${version.name} at ${revision}` : versionText(version)
  const witnesses: EvidenceLine[] = [
    before === undefined ? watchEvidence(watch) : eventEvidence(watch, before),
  ]
  if (writer !== undefined) witnesses.push(callEvidence(writer))
  if (later !== undefined) witnesses.push(eventEvidence(watch, later))
  // If no client at all read the change, the write was lost, not the event.
  const text = isLost
    ? `${what} was acknowledged by ${writer?.member}; ${watchText(watch)} continued to ${later?.revision} without it`
    : `${watchText(watch)} never sent ${what}${how}; it continued to ${later?.revision}`
  const kind = isLost ? 'lost-write' : 'dropped-event'
  const key = isLost ? `${kind} ${revision}` : `${kind} ${revision} ${watch.id}`
  findings.add(key, () => ({ kind, text, object: version.name, ...seenAt(watch, witnesses) }))
}

/** Returns why the last events of some watches could not be checked; empty: all were. */
function noteOf({ history }: HistoryIndex): string {
  const { lastRevision, watches } = history
  if (lastRevision === null) return 'the recording is incomplete, so the last events are not checked'
  const reached = new Map<string, number>()
  for (const { watcher, events, after, side } of watches) {
    // The last change may be outside of the selection.
    if (side !== null) continue
    const last = events.reduce((most, { revision }) => Math.max(most, revision), after)
    reached.set(watcher, Math.max(reached.get(watcher) ?? 0, last))
  }
  const behind = [...reached].filter(([, revision]) => revision < lastRevision)
  if (behind.length === 0) return ''
  const words = behind.map(([watcher, revision]) => `${watcher} at ${revision}`)
  return `at the end, some watches had not reached revision ${lastRevision}: ${words.join(', ')}`
}

type WatchAnomaly = {
  readonly text: string
  readonly watch: Watch
  readonly object: string | null
  readonly witnesses: readonly EvidenceLine[]
}

function add(findings: Findings, kind: AnomalyKind, { text, watch, object, witnesses }: WatchAnomaly): void {
  findings.add(`${kind} ${text}`, () => ({ kind, text, object, ...seenAt(watch, witnesses) }))
}

function seenAt(watch: Watch, witnesses: readonly EvidenceLine[]) {
  const seen = byTime(witnesses)
  return { atMs: seen[seen.length - 1]?.atMs ?? 0, members: [watch.member], witnesses: seen }
}

function indexAfter(changes: readonly Change[], revision: number): number {
  const at = changes.findIndex((change) => change.revision > revision)
  return at === -1 ? changes.length : at
}
