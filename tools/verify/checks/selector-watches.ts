import { eventEvidence, watchEvidence, versionText, watchText } from '../describe.ts'
import type { Change, HistoryIndex } from '../history-index.ts'
import { equalVersions } from '../history-index.ts'
import type { AnomalyKind, EvidenceLine } from '../finding.ts'
import type { Version, Watch, WatchEvent } from '../history.ts'
import { sideOf } from '../sides.ts'
import type { Side } from '../sides.ts'

/** Revisions of which some watch of everything told all changes, `from` not included. */
export type CoveredRange = {
  readonly from: number
  readonly upTo: number
  /** Everything that was there at `from` is known too. */
  readonly listed: boolean
}

/** @param whole watches of everything that left nothing out */
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

/** What contradicts a watch of one side. */
export type SelectedFault = {
  readonly kind: AnomalyKind
  readonly text: string
  readonly object: string
  readonly witnesses: readonly EvidenceLine[]
}

/**
 * Filtered: a change within the selection is MODIFIED, one into it ADDED, one out of it DELETED, with the object as it last
 * belonged; what was and is outside is not told. Judged is only where it is known for certain what was there before.
 *
 * @param side what the watch selects
 * @returns what it told wrongly or left out, and how many changes were looked at
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
    const text = `${watchText(watch)} told ${event.type} of ${versionText(version)}, where nothing changed`
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

/** null: it does not concern the selection. */
function expectedEvent(change: Change, before: Change | null, side: Side): ExpectedEvent {
  const was = before !== null && !before.deleted && sideOf(before.version.token) === side
  const is = !change.deleted && sideOf(change.version.token) === side
  if (is) return { type: was ? 'MODIFIED' : 'ADDED', version: change.version }
  // As it last belonged, at the revision at which it left.
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
    const text = `${watchText(watch)} told ${event.type} of ${object} at ${change.revision}, which it does not select`
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
    const text = `${watchText(watch)} never told ${should}, which it selects, and went on`
    const behind = watch.events.find(({ revision }) => revision > change.revision)
    const witnesses = [watchEvidence(watch), ...(behind === undefined ? [] : [eventEvidence(watch, behind)])]
    return { kind: 'dropped-event', text, object, witnesses }
  }
  const { type, version } = expected
  // Of what left, whoever selects sees the content it had, which no other answer shows under this revision.
  const isSame = type === 'DELETED' ? seen.token === version.token : equalVersions(seen, version)
  if (event.type === type && isSame) return null
  const text = `${watchText(watch)} told ${event.type} of ${versionText(seen)} instead of ${should}`
  return { kind: 'wrong-event', text, object, witnesses: [watchEvidence(watch), eventEvidence(watch, event)] }
}

/** What was there before is known: nothing can have happened in between that nobody was told. */
function isCertain(change: Change, before: Change | null, ranges: readonly CoveredRange[]): boolean {
  const range = rangeAt(change.revision, ranges)
  if (range === null) return false
  return before === null ? range.listed : before.revision >= range.from
}

function rangeAt(revision: number, ranges: readonly CoveredRange[]): CoveredRange | null {
  return ranges.find(({ from, upTo }) => from < revision && revision <= upTo) ?? null
}
