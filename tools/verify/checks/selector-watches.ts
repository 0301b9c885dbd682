import { eventEvidence, watchEvidence, versionText, watchText } from '../describe.ts'
import type { Change, HistoryIndex } from '../history-index.ts'
import { equalVersions } from '../history-index.ts'
import type { AnomalyKind, EvidenceLine } from '../finding.ts'
import type { Version, Watch, WatchEvent } from '../history.ts'
import { sideOf } from '../sides.ts'
import type { Side } from '../sides.ts'

/** A range of revisions, `from` excluded, in which complete watches reported every change. */
export type CoveredRange = {
  readonly from: number
  readonly upTo: number
  /** The state at `from` is known as well. */
  readonly listed: boolean
}

/** @param complete watches of all objects that missed nothing */
export function coveredRanges(complete: readonly Watch[]): readonly CoveredRange[] {
  const each = complete.map(({ after, events, resumed }) => {
    return { from: after, upTo: Math.max(after, ...events.map((event) => event.revision)), listed: !resumed }
  })
  each.sort((a, b) => a.from - b.from || Number(b.listed) - Number(a.listed))
  const ranges: CoveredRange[] = []
  for (const one of each) {
    const last = ranges.at(-1)
    if (last === undefined || one.from > last.upTo) ranges.push(one)
    else ranges[ranges.length - 1] = { ...last, upTo: Math.max(last.upTo, one.upTo) }
  }
  return ranges
}

/** A contradiction in a watch with a selector. */
export type SelectedFault = {
  readonly kind: AnomalyKind
  readonly text: string
  readonly object: string
  readonly witnesses: readonly EvidenceLine[]
}

/**
 * Watches with a selector: a change within the selection is MODIFIED, a change into it ADDED, a
 * change out of it DELETED with the last selected content; all other changes are not reported. Only
 * changes with a known previous state are checked.
 *
 * @param side the selector of the watch
 * @returns the wrong and missing events, and the number of changes that were checked
 */
export function selectedFaults(
  watch: Watch,
  side: Side,
  known: {
    readonly index: HistoryIndex
    readonly ranges: readonly CoveredRange[]
    readonly changes: readonly Change[]
  },
): { readonly faults: readonly SelectedFault[]; readonly examined: number } {
  const seen = new Map<number, WatchEvent>()
  for (const event of watch.events) if (event.version !== null) seen.set(event.revision, event)
  const upTo = Math.max(watch.after, ...watch.events.map(({ revision }) => revision))
  const faults: SelectedFault[] = []
  let examined = 0
  for (const change of known.changes) {
    if (change.revision <= watch.after) continue
    if (change.revision > upTo) break
    const before = known.index.lastChangeUpTo(change.version.name, change.revision - 1)
    if (!isCertain(change, before, known.ranges)) continue
    examined++
    const expected = expectedEvent(change, before, side)
    const event = seen.get(change.revision)
    const fault = faultOf(watch, change, expected, event ?? null)
    if (fault !== null) faults.push(fault)
  }
  const real = new Set(known.changes.map(({ revision }) => revision))
  for (const event of seen.values()) {
    const { revision, version } = event
    if (version === null || real.has(revision) || rangeAt(revision, known.ranges) === null) continue
    const text = `${watchText(watch)} sent ${event.type} of ${versionText(version)} without a change`
    faults.push({
      kind: 'wrong-event',
      text,
      object: version.name,
      witnesses: [watchEvidence(watch), eventEvidence(watch, event)],
    })
  }
  return { faults, examined }
}

type ExpectedEvent = { readonly type: WatchEvent['type']; readonly version: Version } | null

/** null: the change is outside of the selection. */
function expectedEvent(change: Change, before: Change | null, side: Side): ExpectedEvent {
  const was = before !== null && !before.deleted && sideOf(before.version.token) === side
  const is = !change.deleted && sideOf(change.version.token) === side
  if (is) return { type: was ? 'MODIFIED' : 'ADDED', version: change.version }
  // The last selected content, at the revision at which the object left the selection.
  return was ? { type: 'DELETED', version: { ...before.version, revision: change.revision } } : null
}

function faultOf(
  watch: Watch,
  change: Change,
  expected: ExpectedEvent,
  event: WatchEvent | null,
): SelectedFault | null {
  const object = change.version.name
  if (expected === null) {
    if (event === null) return null
    const text = `${watchText(watch)} sent ${event.type} of ${object} at ${change.revision}, which it does not select`
    return {
      kind: 'wrong-event',
      text,
      object,
      witnesses: [watchEvidence(watch), eventEvidence(watch, event)],
    }
  }
  const should = `${expected.type} of ${versionText(expected.version)}`
  const seen = event?.version ?? null
  if (event === null || seen === null) {
    const text = `${watchText(watch)} never sent ${should}, which it selects, and continued`
    const later = watch.events.find(({ revision }) => revision > change.revision)
    const witnesses = [watchEvidence(watch), ...(later === undefined ? [] : [eventEvidence(watch, later)])]
    return { kind: 'dropped-event', text, object, witnesses }
  }
  const { type, version } = expected
  // The DELETED event has the last selected content. No other response returns that content under
  // this revision, so only the tokens are compared.
  const isSame = type === 'DELETED' ? seen.token === version.token : equalVersions(seen, version)
  if (event.type === type && isSame) return null
  const text = `${watchText(watch)} sent ${event.type} of ${versionText(seen)} instead of ${should}`
  return { kind: 'wrong-event', text, object, witnesses: [watchEvidence(watch), eventEvidence(watch, event)] }
}

/** Whether the previous state is known: no unobserved change is possible in between. */
function isCertain(change: Change, before: Change | null, ranges: readonly CoveredRange[]): boolean {
  const range = rangeAt(change.revision, ranges)
  if (range === null) return false
  return before === null ? range.listed : before.revision >= range.from
}

function rangeAt(revision: number, ranges: readonly CoveredRange[]): CoveredRange | null {
  return ranges.find(({ from, upTo }) => from < revision && revision <= upTo) ?? null
}
